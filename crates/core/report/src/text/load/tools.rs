//! Summaries as ab and JMeter print them.

use super::super::{DASH, WITHHELD};
use super::{is_withheld, milliseconds, per, percentiles};
use crate::outcome::LoadReport;
use model::{Direction, PerDirection};
use std::fmt::Write;

pub(super) fn ab(report: &LoadReport, out: &mut String) {
    let spread = &report.spread;
    let seconds = report.elapsed.as_secs_f64();
    let mean = spread.mean.map(|mean| mean.as_secs_f64() * 1e3);
    let rows = [
        ("Target:", report.target.clone()),
        ("Concurrency Level:", report.clients.to_string()),
        ("Time taken for tests:", format!("{seconds:.3} seconds")),
        ("Complete requests:", report.begun().to_string()),
        ("Failed requests:", report.failed.to_string()),
        (
            "Total transferred:",
            format!("{} bytes", report.payload_bytes[Direction::ServerToClient]),
        ),
        (
            "Requests per second:",
            format!("{:.2} [#/sec] (mean)", report.per_second),
        ),
        (
            "Time per request:",
            format!(
                "{} [ms] (mean)",
                mean.map_or_else(|| DASH.to_owned(), |mean| format!("{mean:.3}"))
            ),
        ),
        (
            "Time per request:",
            format!(
                "{} [ms] (mean, across all concurrent requests)",
                mean.map_or_else(
                    || DASH.to_owned(),
                    |_| format!("{:.3}", per(1e3, report.per_second))
                )
            ),
        ),
        (
            "Transfer rate:",
            format!(
                "{:.2} [Kbytes/sec] received",
                per(
                    report.payload_bytes[Direction::ServerToClient] as f64 / KILOBYTE,
                    seconds
                )
            ),
        ),
    ];
    for (name, value) in rows {
        let _ = writeln!(out, "{name:<24}{value}");
    }
}

pub(super) fn ab_percentiles(report: &LoadReport, out: &mut String) {
    let spread = &report.spread;
    out.push_str("\nPercentage of the requests served within a certain time (ms)\n");
    for (name, value) in percentiles(spread) {
        let _ = writeln!(out, "{name:>5}  {:>9}", milliseconds(value));
    }
    if is_withheld(spread) {
        let _ = writeln!(out, "  {WITHHELD}");
    }
}

pub(super) fn jmeter(report: &LoadReport, out: &mut String) {
    let spread = &report.spread;
    let seconds = report.elapsed.as_secs_f64();
    let kilobytes = |direction| {
        let bytes = counted_bytes(report).filter(|_| seconds > 0.0);
        bytes.map_or_else(
            || DASH.to_owned(),
            |bytes| format!("{:.2}", bytes[direction] as f64 / KILOBYTE / seconds),
        )
    };
    let known = |is_known: bool, text: String| if is_known { text } else { DASH.to_owned() };
    let rows = [
        ("Samples", report.begun().to_string()),
        ("Average", format!("{} ms", milliseconds(spread.mean))),
        ("Median", format!("{} ms", milliseconds(spread.p50))),
        ("90% Line", format!("{} ms", milliseconds(spread.p90))),
        ("95% Line", format!("{} ms", milliseconds(spread.p95))),
        ("99% Line", format!("{} ms", milliseconds(spread.p99))),
        ("Min", format!("{} ms", milliseconds(spread.min))),
        ("Max", format!("{} ms", milliseconds(spread.max))),
        (
            "Error %",
            known(report.begun() > 0, format!("{:.2}%", report.failed_percent())),
        ),
        (
            "Throughput",
            known(seconds > 0.0, throughput(per(report.begun() as f64, seconds))),
        ),
        ("Received KB/sec", kilobytes(Direction::ServerToClient)),
        ("Sent KB/sec", kilobytes(Direction::ClientToServer)),
    ];
    for (name, value) in rows {
        let _ = writeln!(out, "{name:<16}{value:>16}");
    }
    if is_withheld(spread) {
        let _ = writeln!(out, "{WITHHELD}");
    }
}

/// Payload bytes each way. `None` if they were not counted, as for a driver's connections.
fn counted_bytes(report: &LoadReport) -> Option<PerDirection<u64>> {
    (report.payload_bytes != PerDirection::default()).then_some(report.payload_bytes)
}

/// Per minute below one a second, as in JMeter.
fn throughput(per_second: f64) -> String {
    if per_second < 1.0 {
        format!("{:.1}/min", per_second * 60.0)
    } else {
        format!("{per_second:.1}/sec")
    }
}

/// As in ab and JMeter.
const KILOBYTE: f64 = 1024.0;
