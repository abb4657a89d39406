//! Outcome of a load in the words of pgbench, ab or JMeter.
//!
//! The words are those of these tools ("latency" too). Longwire's own lines follow: percentiles,
//! round trips, bytes and processor time per operation.

use super::{DASH, WITHHELD, counted};
use crate::outcome::{LoadInterval, LoadReport, LoadWork};
use model::{ByteCount, Direction, Distribution, PerDirection, format_duration};
use std::fmt::Write;
use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadStyle {
    Pgbench,
    Ab,
    Jmeter,
}

impl Default for LoadWork {
    fn default() -> Self {
        Self::Http { keep_alive: true }
    }
}

impl LoadInterval {
    pub fn per_second(&self) -> f64 {
        per(self.succeeded as f64, self.interval.as_secs_f64())
    }
}

impl LoadReport {
    fn begun(&self) -> u64 {
        self.succeeded + self.failed
    }

    /// Per operation, including failed ones.
    fn each(&self, sum: u64) -> f64 {
        per(sum as f64, self.begun() as f64)
    }

    fn failed_percent(&self) -> f64 {
        100.0 * self.each(self.failed)
    }
}

/// A line of progress in pgbench's words, without a line feed.
pub fn load_progress_line(interval: &LoadInterval) -> String {
    let mut line = format!(
        "progress: {:.1} s, {:.1} tps, lat {} ms stddev {}, {} failed",
        interval.elapsed.as_secs_f64(),
        interval.per_second(),
        milliseconds(interval.mean),
        milliseconds(interval.deviation),
        interval.failed,
    );
    if let Some(lag) = interval.lag {
        let _ = write!(line, ", lag {} ms", milliseconds(Some(lag)));
    }
    line
}

pub fn load_view(report: &LoadReport, style: LoadStyle) -> String {
    let mut out = String::new();
    match style {
        LoadStyle::Pgbench => pgbench(report, &mut out),
        LoadStyle::Ab => ab(report, &mut out),
        LoadStyle::Jmeter => jmeter(report, &mut out),
    }
    open_loop(report, &mut out);
    if style != LoadStyle::Jmeter {
        of_each(report, &mut out);
    }
    scripts(report, &mut out);
    statements(report, &mut out);
    failures(report, &mut out);
    out
}

fn pgbench(report: &LoadReport, out: &mut String) {
    work_lines(report, out);
    line(out, "number of clients", &report.clients.to_string());
    line(out, "number of threads", &report.threads.to_string());
    line(out, "duration", &format!("{:.2} s", report.elapsed.as_secs_f64()));
    line(
        out,
        "number of transactions actually processed",
        &report.succeeded.to_string(),
    );
    line(
        out,
        "number of failed transactions",
        &format!("{} ({:.3}%)", report.failed, report.failed_percent()),
    );
    let spread = &report.spread;
    let _ = writeln!(out, "latency average = {} ms", milliseconds(spread.mean));
    if report.begun.is_none() {
        let _ = writeln!(out, "latency stddev = {} ms", milliseconds(report.deviation));
    }
    percentile_line("latency percentiles:", spread, out);
    rate_lines(report, out);
}

fn work_lines(report: &LoadReport, out: &mut String) {
    match &report.work {
        LoadWork::Sql {
            scripts, scale, mode, ..
        } => {
            line(out, "transaction type", scripts);
            if let Some(scale) = scale {
                line(out, "scaling factor", scale);
            }
            line(out, "query mode", mode);
        }
        LoadWork::Http { .. } => line(out, "transaction type", &report.target),
    }
}

fn rate_lines(report: &LoadReport, out: &mut String) {
    let reconnects = match report.work {
        LoadWork::Sql { reconnect, .. } => reconnect,
        LoadWork::Http { keep_alive } => !keep_alive,
    };
    if reconnects {
        let _ = writeln!(
            out,
            "tps = {:.6} (including reconnection times)",
            report.per_second
        );
        return;
    }
    let _ = writeln!(
        out,
        "initial connection time = {} ms",
        milliseconds(Some(report.connecting))
    );
    let _ = writeln!(
        out,
        "tps = {:.6} (without initial connection time)",
        report.per_second
    );
    let all = (report.elapsed + report.connecting).as_secs_f64();
    let _ = writeln!(
        out,
        "tps = {:.6} (with initial connection time)",
        per(report.succeeded as f64, all)
    );
}

fn ab(report: &LoadReport, out: &mut String) {
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
    out.push_str("\nPercentage of the requests served within a certain time (ms)\n");
    for (name, value) in percentiles(spread) {
        let _ = writeln!(out, "{name:>5}  {:>9}", milliseconds(value));
    }
    if is_withheld(spread) {
        let _ = writeln!(out, "  {WITHHELD}");
    }
    out.push('\n');
}

fn jmeter(report: &LoadReport, out: &mut String) {
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

fn open_loop(report: &LoadReport, out: &mut String) {
    let Some(asked) = report.asked_per_second else {
        return;
    };
    let (lag, begun) = (report.lag.unwrap_or_default(), report.begun.unwrap_or_default());
    let _ = writeln!(
        out,
        "open loop: {asked:.1}/s requested; times above count from each scheduled start; {} did not start before the end",
        report.not_begun,
    );
    let _ = writeln!(
        out,
        "begun late: average {} ms, max {} ms",
        milliseconds(lag.mean),
        milliseconds(lag.max),
    );
    let _ = writeln!(
        out,
        "from when each began: average {} ms, stddev {} ms",
        milliseconds(begun.mean),
        milliseconds(report.deviation),
    );
}

fn of_each(report: &LoadReport, out: &mut String) {
    if report.begun() == 0 {
        return;
    }
    let what = match report.work {
        LoadWork::Sql { .. } => "transaction",
        LoadWork::Http { .. } => "request",
    };
    if report.turns > 0 {
        let _ = writeln!(out, "round trips per {what} = {:.2}", report.each(report.turns));
        let _ = writeln!(
            out,
            "payload per {what} = {} sent, {} received",
            bytes(report.each(report.payload_bytes[Direction::ClientToServer])),
            bytes(report.each(report.payload_bytes[Direction::ServerToClient])),
        );
    }
    let [user, system] = report.processor.map(|time| time.div_f64(report.begun() as f64));
    if !(user + system).is_zero() {
        let _ = writeln!(
            out,
            "processor time of longwire per {what} = {} (program {}, kernel {})",
            format_duration(user + system),
            format_duration(user),
            format_duration(system),
        );
    }
}

fn scripts(report: &LoadReport, out: &mut String) {
    let weights: u64 = report.scripts.iter().map(|script| u64::from(script.weight)).sum();
    for (number, script) in report.scripts.iter().enumerate() {
        let spread = &script.spread;
        let _ = writeln!(
            out,
            "SQL script {}: {}\n - weight: {} (targets {:.1}% of total)\n - {} transactions ({:.1}% of total)",
            number + 1,
            script.name,
            script.weight,
            per(100.0 * f64::from(script.weight), weights as f64),
            spread.count,
            per(100.0 * spread.count as f64, report.succeeded as f64),
        );
        if spread.count == 0 {
            continue;
        }
        let _ = writeln!(out, " - latency average = {} ms", milliseconds(spread.mean));
        percentile_line(" - latency percentiles:", spread, out);
    }
}

fn statements(report: &LoadReport, out: &mut String) {
    if report.statements.is_empty() {
        return;
    }
    out.push_str("statements: mean time in ms, round trips, errors\n");
    for statement in &report.statements {
        let _ = writeln!(
            out,
            "  {:>9}  {:>5.2}  {:>5}  {}",
            milliseconds(statement.spread.mean),
            per(statement.turns as f64, statement.calls as f64),
            statement.errors,
            super::escape::printable(&statement.fingerprint),
        );
    }
}

fn failures(report: &LoadReport, out: &mut String) {
    for failure in &report.failures {
        let _ = writeln!(
            out,
            "failed {}: {}",
            counted(failure.count, "time"),
            super::escape::printable(&failure.text)
        );
    }
}

fn line(out: &mut String, name: &str, value: &str) {
    let _ = writeln!(out, "{name}: {}", super::escape::printable(value));
}

fn percentile_line(name: &str, spread: &Distribution, out: &mut String) {
    let shown: Vec<String> = percentiles(spread)
        .into_iter()
        .map(|(name, value)| format!("{name} {}", milliseconds(value)))
        .collect();
    let withheld = if is_withheld(spread) {
        format!("  ({})", WITHHELD)
    } else {
        String::new()
    };
    let _ = writeln!(out, "{name} {} ms{withheld}", shown.join(", "));
}

fn percentiles(spread: &Distribution) -> [(&'static str, Option<Duration>); 6] {
    [
        ("min", spread.min),
        ("50%", spread.p50),
        ("90%", spread.p90),
        ("95%", spread.p95),
        ("99%", spread.p99),
        ("max", spread.max),
    ]
}

fn is_withheld(spread: &Distribution) -> bool {
    spread.count > 0 && [spread.p90, spread.p95, spread.p99].contains(&None)
}

fn milliseconds(span: Option<Duration>) -> String {
    span.map_or_else(
        || DASH.to_owned(),
        |span| format!("{:.3}", span.as_secs_f64() * 1e3),
    )
}

fn bytes(count: f64) -> String {
    ByteCount::from_bytes(count.round() as u64).to_string()
}

fn per(sum: f64, count: f64) -> f64 {
    if count > 0.0 { sum / count } else { 0.0 }
}

/// As in ab and JMeter.
const KILOBYTE: f64 = 1024.0;
