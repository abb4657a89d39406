//! The view of `read` and `watch`.

use super::escape::printable;
use super::prediction::price_table;
use super::style::{Ink, Style};
use super::table::Table;
use super::{DASH, ReadOutcome, WITHHELD, counted, duration_or_dash};
use model::{
    ByteCount, ConnectionOutcome, OperationGroup, Share, StatementOutcome, Summary, Warning, format_duration,
};
use std::cmp::Reverse;
use std::fmt::Write;
use std::time::Duration;

/// What was seen, where the time went, which operations, statements and connections it went to, what it would be
/// elsewhere, what is missing; the last line sums it up. At most about 40 lines, each within the style's width
/// except warnings, which are never cut.
pub fn read_view(outcome: &ReadOutcome, style: &Style) -> String {
    let mut out = seen_line(&outcome.summary);
    time_section(&outcome.summary, style, &mut out);
    let operations = operations_table(&outcome.operations);
    let statements = statements_table(&outcome.statements);
    section(
        "Operations, those that took most time first",
        &operations,
        outcome.operations.len(),
        style,
        &mut out,
    );
    section(
        "Statements by turns (server and network: sums; p50, p99: one exchange)",
        &statements,
        outcome.statements.len(),
        style,
        &mut out,
    );
    if operations.has_dash() || statements.has_dash() {
        let _ = writeln!(out, "  {}", style.paint(Ink::Faint, WITHHELD));
    }
    let seen = usize::try_from(outcome.summary.connections).unwrap_or(usize::MAX);
    section(
        "Connections by turns",
        &connections_table(&outcome.connections),
        seen.max(outcome.connections.len()),
        style,
        &mut out,
    );
    if !outcome.predictions.is_empty() {
        let prices = price_table(&outcome.predictions);
        section(
            "What distance would make of them (median)",
            &prices,
            prices.len(),
            style,
            &mut out,
        );
    }
    warnings_section(&outcome.warnings, style, &mut out);
    let _ = write!(out, "\n{}", summary_line(&outcome.summary));
    out
}

/// One line that sums up a run: also what Ctrl-C ends with.
pub fn summary_line(summary: &Summary) -> String {
    let counts = format!(
        "{}, {}",
        counted(summary.connections, "connection"),
        counted(summary.turns, "turn")
    );
    let Some(mean) = mean(summary.attribution.total(), summary.operations) else {
        return format!("{counts}; no operation was seen, so there is no time to tell of.\n");
    };
    let share = |part| share(part, summary.attribution.total());
    format!(
        "{counts}; {} of {} on average: network {}, server {}, client {}.\n",
        counted(summary.operations, "operation"),
        format_duration(mean),
        share(summary.attribution.network()),
        share(summary.attribution.server),
        share(summary.attribution.client),
    )
}

fn seen_line(summary: &Summary) -> String {
    let [to_server, to_client] = summary.payload_bytes.map(ByteCount::from_bytes);
    let packets = summary
        .packets
        .map_or_else(String::new, |packets| format!(", {}", counted(packets, "packet")));
    format!(
        "{}, {}, {}, {} in {}; payload {to_server} to servers, {to_client} to clients{packets}\n",
        counted(summary.connections, "connection"),
        counted(summary.exchanges, "exchange"),
        counted(summary.turns, "turn"),
        counted(summary.statements, "statement text"),
        format_duration(summary.duration),
    )
}

fn time_section(summary: &Summary, style: &Style, out: &mut String) {
    let parts = &summary.attribution;
    let Some(whole) = mean(parts.total(), summary.operations) else {
        return;
    };
    let spread = &summary.spread;
    let heading = format!(
        "Where the time of {} went (mean {}, p50 {}, p99 {})",
        counted(summary.operations, "operation"),
        format_duration(whole),
        duration_or_dash(spread.p50),
        duration_or_dash(spread.p99),
    );
    let _ = writeln!(out, "\n{}", style.paint(Ink::Heading, &heading));
    let rows = [
        ("client", parts.client, Ink::Client),
        ("server", parts.server, Ink::Server),
        ("round trips", parts.round_trip, Ink::Network),
        ("transfer", parts.transfer, Ink::Network),
        ("recovery", parts.recovery, Ink::Network),
        ("unknown", parts.unknown, Ink::Faint),
    ];
    let room = style.columns().saturating_sub(BAR_INDENT).min(LONGEST_BAR);
    for (name, part, ink) in rows {
        let length = Share::of(part, parts.total()).map_or(0.0, Share::as_fraction) * room as f64;
        let bar = style.paint(ink, &"#".repeat(length.round() as usize));
        let each = mean(part, summary.operations).unwrap_or_default();
        let row = format!(
            "  {name:11}  {:>8}  {:>5}  {bar}",
            format_duration(each),
            share(part, parts.total())
        );
        let _ = writeln!(out, "{}", row.trim_end());
    }
    let _ = writeln!(
        out,
        "  network (round trips, transfer, recovery) {}; setup (connect, tls, login) {} of all",
        share(parts.network(), parts.total()),
        share(summary.setup, parts.total())
    );
}

fn operations_table(groups: &[OperationGroup]) -> Table {
    let mut groups: Vec<&OperationGroup> = groups.iter().collect();
    groups.sort_by_key(|group| Reverse(group.attribution.total()));
    let mut table = Table::new([
        "operation",
        "count",
        "turns",
        "p50",
        "p99",
        "network",
        "server",
        "client",
        "setup",
        "unknown",
        "kind",
    ]);
    for group in groups.into_iter().take(SHOWN_ROWS) {
        let parts = &group.attribution;
        let share = |part| share(part, parts.total());
        table.row([
            group.name.to_string(),
            group.count.to_string(),
            per_one(group.turns, group.count),
            duration_or_dash(group.spread.p50),
            duration_or_dash(group.spread.p99),
            share(parts.network()),
            share(parts.server),
            share(parts.client),
            share(group.setup),
            share(parts.unknown),
            group.kind.name().to_owned(),
        ]);
    }
    table
}

fn statements_table(statements: &[StatementOutcome]) -> Table {
    let mut statements: Vec<&StatementOutcome> = statements.iter().collect();
    statements.sort_by_key(|statement| Reverse((statement.turns, statement.total)));
    let mut table = Table::new([
        "statement",
        "turns",
        "calls",
        "network",
        "server",
        "p50",
        "p99",
        "rows",
        "bytes",
        "errors",
    ]);
    for statement in statements.into_iter().take(SHOWN_ROWS) {
        let bytes = statement.request_bytes.saturating_add(statement.reply_bytes);
        table.row([
            statement.fingerprint.to_string(),
            statement.turns.to_string(),
            statement.calls.to_string(),
            format_duration(statement.network),
            format_duration(statement.server),
            duration_or_dash(statement.spread.p50),
            duration_or_dash(statement.spread.p99),
            statement
                .rows
                .map_or_else(|| UNTOLD.to_owned(), |rows| rows.to_string()),
            ByteCount::from_bytes(bytes).to_string(),
            statement.errors.to_string(),
        ]);
    }
    table
}

fn connections_table(connections: &[ConnectionOutcome]) -> Table {
    let mut connections: Vec<&ConnectionOutcome> = connections.iter().collect();
    connections.sort_by_key(|connection| (Reverse(connection.turns), connection.id));
    let mut table = Table::new([
        "connection",
        "protocol",
        "turns",
        "rtt",
        "exchanges",
        "payload",
        "packets",
        "retransmitted",
    ]);
    for connection in connections.into_iter().take(SHOWN_CONNECTIONS) {
        let totals = &connection.totals;
        let payload = totals
            .payload_bytes
            .iter()
            .fold(0, |sum: u64, bytes| sum.saturating_add(*bytes));
        let or_untold =
            |count: Option<u64>| count.map_or_else(|| UNTOLD.to_owned(), |count| count.to_string());
        table.row([
            format!("{} -> {}", connection.client, connection.server),
            protocol_cell(connection),
            connection.turns.to_string(),
            connection.rtt.map_or_else(|| UNTOLD.to_owned(), format_duration),
            connection.exchanges.to_string(),
            ByteCount::from_bytes(payload).to_string(),
            or_untold(
                totals
                    .packets
                    .map(|[client, server]| client.saturating_add(server)),
            ),
            or_untold(totals.retransmitted_packets),
        ]);
    }
    table
}

/// The protocol, and why it is not decoded.
fn protocol_cell(connection: &ConnectionOutcome) -> String {
    let decoding = &connection.decoding;
    let name = decoding.protocol.name();
    match (&decoding.opaque, decoding.encrypted) {
        (Some(_), true) if decoding.protocol != model::Protocol::Tls => format!("{name}, encrypted"),
        (Some(_), false) if decoding.protocol != model::Protocol::Unknown => format!("{name}, opaque"),
        _ => name.to_owned(),
    }
}

/// A heading, a table, and how many of `all` it leaves out. Nothing for an empty table.
fn section(heading: &str, table: &Table, all: usize, style: &Style, out: &mut String) {
    if table.len() == 0 {
        return;
    }
    let _ = writeln!(out, "\n{}", style.paint(Ink::Heading, heading));
    table.render(style, out);
    let left_out = all.saturating_sub(table.len());
    if left_out > 0 {
        let _ = writeln!(
            out,
            "  {}",
            style.paint(Ink::Faint, &format!("and {left_out} more: --json lists all"))
        );
    }
}

fn warnings_section(warnings: &[Warning], style: &Style, out: &mut String) {
    if !warnings.is_empty() {
        out.push('\n');
    }
    for warning in warnings.iter().take(SHOWN_WARNINGS) {
        let _ = writeln!(
            out,
            "{} {}",
            style.paint(Ink::Warning, "warning:"),
            printable(&warning.text)
        );
    }
    let left_out = warnings.len().saturating_sub(SHOWN_WARNINGS);
    if left_out > 0 {
        let _ = writeln!(
            out,
            "and {}: --json lists all",
            counted(left_out as u64, "more warning")
        );
    }
}

/// `sum` shared evenly by `count`; absent for none.
fn mean(sum: Duration, count: u64) -> Option<Duration> {
    let mean = sum.as_nanos().checked_div(u128::from(count))?;
    Some(Duration::from_nanos(u64::try_from(mean).unwrap_or(u64::MAX)))
}

fn per_one(sum: u64, count: u64) -> String {
    match count {
        0 => DASH.to_owned(),
        _ => format!("{:.1}", sum as f64 / count as f64),
    }
}

fn share(part: Duration, whole: Duration) -> String {
    Share::of(part, whole).map_or_else(|| UNTOLD.to_owned(), |share| share.to_string())
}

/// Shown where a protocol or an observation point does not tell a figure; a dash is for withheld percentiles.
const UNTOLD: &str = "?";
/// Columns in front of a bar.
const BAR_INDENT: usize = 32;
const LONGEST_BAR: usize = 60;
const SHOWN_ROWS: usize = 5;
const SHOWN_CONNECTIONS: usize = 3;
const SHOWN_WARNINGS: usize = 4;
