//! Outcome of a load in the words of pgbench, ab or JMeter.
//!
//! The words are those of these tools ("latency" too). Longwire's own lines follow: percentiles,
//! round trips, bytes and processor time per operation.

mod several;
mod tools;

pub use several::load_table;

use super::escape::{columns, cut};
use super::paragraph::wrapped;
use super::prediction::number;
use super::screen::{PAGE, Screen};
use super::style::{Extent, Ink, Style};
use super::{DASH, WITHHELD, counted};
use crate::outcome::{LoadInterval, LoadReport, LoadWork};
use model::{ByteCount, Direction, Distribution, format_duration};
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

/// The answer, the figures in the words of a tool, then longwire's own.
pub fn load_view(report: &LoadReport, tool: LoadStyle, style: &Style) -> String {
    let mut screen = Screen::new(style);
    screen.put(&wrapped(&answer(report), "", Ink::Heading, style));
    screen.put("\n");
    let lines = |write: fn(&LoadReport, &mut String)| {
        let mut text = String::new();
        write(report, &mut text);
        text.lines()
            .map(|line| wrapped_line(line, style))
            .collect::<String>()
    };
    screen.put(&lines(match tool {
        LoadStyle::Pgbench => pgbench,
        LoadStyle::Ab => tools::ab,
        LoadStyle::Jmeter => tools::jmeter,
    }));
    screen.keep(report.failures.len().min(1) * 2);
    if tool == LoadStyle::Ab {
        screen.section("percentiles", &lines(tools::ab_percentiles));
    }
    screen.section("open loop", &lines(open_loop));
    screen.keep(0);
    screen.lines("all failures", &lines(failures));
    if tool != LoadStyle::Jmeter {
        screen.section("round trips and processor time", &lines(of_each));
    }
    screen.section("scripts", &lines(scripts));
    let mut text = String::new();
    statements(report, &mut text);
    let room = style.table_columns();
    let cut_lines = text.lines().map(|line| format!("{}\n", cut(line, room)));
    screen.lines("all statements", &cut_lines.collect::<String>());
    screen.finish(PAGE)
}

/// A line that is too long is wrapped; others keep their columns.
fn wrapped_line(line: &str, style: &Style) -> String {
    match columns(line) <= style.columns() || style.extent == Extent::All {
        true => format!("{line}\n"),
        false => wrapped(line, "", Ink::Plain, style),
    }
}

fn answer(report: &LoadReport) -> String {
    let (one, trips) = match report.work {
        LoadWork::Sql { .. } if report.turns > 0 => (
            "transaction",
            format!(", {:.1} round trips", report.each(report.turns)),
        ),
        LoadWork::Sql { .. } => ("transaction", String::new()),
        LoadWork::Http { .. } => ("request", String::new()),
    };
    let failed = match report.failed {
        0 => String::new(),
        failed => format!("; {failed} of {} failed", report.begun()),
    };
    let [requested, start] = match report.asked_per_second {
        None => Default::default(),
        Some(asked) => [
            format!(" of {} requested", number(asked)),
            " from its scheduled start".to_owned(),
        ],
    };
    let p99 = report
        .spread
        .p99
        .map(|span| format!(", p99 {}", format_duration(span)));
    format!(
        "{} {one}s a second{requested} with {}; a {one}{start}: median {}{}{trips}{failed}.",
        number(report.per_second),
        counted(report.clients.into(), "client"),
        super::duration_or_dash(report.spread.p50),
        p99.unwrap_or_default(),
    )
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
