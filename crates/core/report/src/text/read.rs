//! The view of `read` and `watch`.

mod screen;

pub(super) use screen::warnings;

use super::answer::answer;
use super::escape::{cut_front, printable};
use super::findings::findings_section;
use super::held::held_section;
use super::paragraph::paragraph;
use super::prediction::{price_table, unmoved_line};
use super::style::{Extent, Ink, Style};
use super::table::Table;
use super::{DASH, WITHHELD, counted, duration_or_dash};
use crate::outcome::ReadOutcome;
use crate::ranges::{duration_range, each, is_wide, server_share, share_range};
use model::{
    ByteCount, Conditions, ConnectionOutcome, HostProcess, OperationGroup, PerSide, RecognisedStatement,
    Share, StatementOutcome, Summary, TextSource, Warning, format_duration,
};
use std::cmp::Reverse;
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

/// One screen with the most important, or everything: predictions, findings, attribution,
/// operations, statements, connections and warnings; the last line sums up.
pub fn read_view(outcome: &ReadOutcome, style: &Style) -> String {
    let summary = &outcome.summary;
    if summary.connections == 0 {
        let mut out = summary_line(summary);
        paragraph(NOTHING_SEEN, "", Ink::Faint, style, &mut out);
        warnings_section(&outcome.warnings, style, &mut out);
        return out;
    }
    match style.extent {
        Extent::First => screen::screen(outcome, style),
        Extent::All => everything(outcome, style),
    }
}

fn everything(outcome: &ReadOutcome, style: &Style) -> String {
    let summary = &outcome.summary;
    let mut out = String::new();
    if let Some(answer) = answer(outcome) {
        paragraph(&answer, "", Ink::Heading, style, &mut out);
        out.push('\n');
    }
    out.push_str(&seen_lines(&outcome.conditions, summary, style));
    let prices = price_table(&outcome.predictions, style);
    section(&prices, style, &mut out);
    if !outcome.predictions.is_empty() {
        out.push_str(&unmoved_line(&outcome.unmoved, style));
    }
    findings_section(outcome, style, &mut out);
    time_section(summary, style, &mut out);
    let operations = operations_table(&outcome.operations);
    let statements = statements_table(&outcome.statements);
    section(&operations, style, &mut out);
    section(&statements, style, &mut out);
    recognised_line(&outcome.recognised, style, &mut out);
    if operations.has_dash(style) || statements.has_dash(style) {
        let _ = writeln!(out, "  {}", style.paint(Ink::Faint, WITHHELD));
    }
    section(&connections_table(&outcome.connections), style, &mut out);
    unlisted_line(outcome, style, &mut out);
    held_section(&outcome.held, &outcome.held_predictions, style, &mut out);
    warnings_section(&outcome.warnings, style, &mut out);
    let _ = write!(out, "\n{}", summary_line(summary));
    out
}

const NOTHING_SEEN: &str = "Capture on the application's host, on all interfaces, while it works with its database: tcpdump -i any -s 0 -w FILE 'tcp port 5432'.";

/// Also printed on Ctrl-C.
pub fn summary_line(summary: &Summary) -> String {
    if summary.connections == 0 {
        return "No TCP connection was seen.\n".to_owned();
    }
    let counts = format!(
        "{}, {}",
        counted(summary.connections, "connection"),
        counted(summary.turns, "round trip")
    );
    let Some(mean) = mean(summary.attribution.total(), summary.operations) else {
        return format!("{counts}; no operation was seen, so there is no time to report.\n");
    };
    let server = server_share(&summary.attribution, share);
    let share = |part| share(part, summary.attribution.total());
    let pooler = match summary.attribution.pooler {
        Duration::ZERO => String::new(),
        pooler => format!("pooler {}, ", share(pooler)),
    };
    format!(
        "{counts}; {} of {} on average: network {}, server {}, {pooler}client {}.\n",
        counted(summary.operations, "operation"),
        format_duration(mean),
        share(summary.attribution.network()),
        server,
        share(summary.attribution.client),
    )
}

fn seen_lines(conditions: &Conditions, summary: &Summary, style: &Style) -> String {
    let [to_server, to_client] = summary.payload_bytes.map(ByteCount::from_bytes).into_array();
    let packets = summary
        .packets
        .map_or_else(String::new, |packets| format!(", {}", counted(packets, "packet")));
    let seen = format!(
        "{}, {}, {}",
        counted(summary.connections, "connection"),
        counted(summary.exchanges, "exchange"),
        counted(summary.turns, "round trip"),
    );
    let room = style.columns().saturating_sub(seen.len() + 2).max(MIN_NAME_WIDTH);
    let place = match conditions.observation_point.as_str() {
        "" => String::new(),
        place => format!("{}: ", cut_front(&printable(place), room)),
    };
    format!(
        "{place}{seen}\n{} in {}; payload {to_server} to servers, {to_client} to clients{packets}\n",
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
        ("pooler", parts.pooler, Ink::Server),
        ("distance", parts.round_trip, Ink::Network),
        ("transfer", parts.transfer, Ink::Network),
        ("recovery", parts.recovery, Ink::Network),
        ("unknown", parts.unknown, Ink::Faint),
    ];
    let [times, shares] = time_cells(summary, "server", parts.server).map(|cell| cell.len());
    let (times, shares) = (times.max(8), shares.max(5));
    let room = style.columns().saturating_sub(BAR_INDENT + times + shares);
    let room = room.min(MAX_BAR_WIDTH);
    for (name, part, ink) in rows {
        if matches!(name, "unknown" | "pooler") && part.is_zero() {
            continue;
        }
        let length = Share::from_parts(part, parts.total()).map_or(0.0, Share::as_fraction) * room as f64;
        let bar = match length.round() as usize {
            0 => String::new(),
            length => style.paint(ink, &"#".repeat(length)),
        };
        let [time, share] = time_cells(summary, name, part);
        let row = format!("  {name:11}  {time:>times$}  {share:>shares$}  {bar}");
        let _ = writeln!(out, "{}", row.trim_end());
    }
    let _ = writeln!(
        out,
        "  network (distance, transfer, recovery) {}; setup (connect, tls, login) {} of all",
        share(parts.network(), parts.total()),
        share(summary.setup, parts.total())
    );
    if is_wide(parts.server, parts.server_margin) {
        paragraph(RANGE, "  ", Ink::Faint, style, out);
    }
}

/// The mean of one part of the time, and its share.
fn time_cells(summary: &Summary, name: &str, part: Duration) -> [String; 2] {
    let parts = &summary.attribution;
    let mean = mean(part, summary.operations).unwrap_or_default();
    match name {
        "server" => [
            duration_range(mean, each(parts.server_margin, summary.operations)),
            server_share(parts, share),
        ],
        _ => [format_duration(mean), share(part, parts.total())],
    }
}

fn operations_table(groups: &[OperationGroup]) -> Table {
    let mut groups: Vec<&OperationGroup> = groups.iter().collect();
    groups.sort_by_key(|group| Reverse(group.attribution.total()));
    let with_unknown = groups.iter().any(|group| !group.attribution.unknown.is_zero());
    let with_pooler = groups.iter().any(|group| !group.attribution.pooler.is_zero());
    let mut headings = vec!["operations by time", "count", "trips", "p50", "p99"];
    headings.extend(["network", "server"]);
    headings.extend(with_pooler.then_some("pooler"));
    headings.push("client");
    headings.extend(with_unknown.then_some("unknown"));
    headings.extend(["setup", "kind"]);
    let mut table = Table::new(headings);
    for group in groups {
        let parts = &group.attribution;
        let server = server_share(parts, share);
        let share = |part| share(part, parts.total());
        let mut cells = vec![
            group.name.to_string(),
            group.count.to_string(),
            per_one(group.turns, group.count),
            duration_or_dash(group.spread.p50),
            duration_or_dash(group.spread.p99),
            share(parts.network()),
            server,
        ];
        cells.extend(with_pooler.then(|| share(parts.pooler)));
        cells.push(share(parts.client));
        cells.extend(with_unknown.then(|| share(parts.unknown)));
        cells.extend([share(group.setup), group.kind.name().to_owned()]);
        table.row(cells);
    }
    table
}

fn statements_table(statements: &[StatementOutcome]) -> Table {
    let mut statements: Vec<&StatementOutcome> = statements.iter().collect();
    statements.sort_by_key(|statement| Reverse((statement.turns, statement.total)));
    let with_errors = statements.iter().any(|statement| statement.errors > 0);
    let with_fetches = statements.iter().any(|statement| statement.fetches > 0);
    let mut headings = vec!["statements by round trips", "trips", "calls"];
    headings.extend(with_fetches.then_some("fetches"));
    headings.extend(with_errors.then_some("errors"));
    headings.extend(["time", "network", "server", "p50", "p99", "rows", "bytes"]);
    let mut table = Table::new(headings);
    for statement in statements {
        let bytes = statement.request_bytes.saturating_add(statement.reply_bytes);
        let mut cells = vec![
            super::shown_statement(&statement.fingerprint).to_owned(),
            statement.turns.to_string(),
            statement.calls.to_string(),
        ];
        cells.extend(with_fetches.then(|| fetches(statement)));
        cells.extend(with_errors.then(|| statement.errors.to_string()));
        cells.extend([
            format_duration(statement.total),
            share(statement.network, statement.total),
            share_range(statement.server, statement.server_margin, statement.total, share),
            duration_or_dash(statement.spread.p50),
            duration_or_dash(statement.spread.p99),
            or_untold(statement.rows),
            ByteCount::from_bytes(bytes).to_string(),
        ]);
        table.row(cells);
    }
    table
}

/// Source of the texts of statements that were prepared before the capture.
fn recognised_line(recognised: &[RecognisedStatement], style: &Style, out: &mut String) {
    for (source, known_from) in [
        (
            TextSource::SameConnection,
            "their connection prepared the same name again, with the same number of parameters and columns",
        ),
        (
            TextSource::AnotherConnection,
            "another connection prepared the same name, which no driver counts up, with the same number of parameters and columns",
        ),
    ] {
        let count = recognised.iter().filter(|found| found.source == source).count();
        if count > 0 {
            let statements = counted(count as u64, "statement");
            let text = format!("{statements} prepared before the capture: text known because {known_from}");
            paragraph(&text, "  ", Ink::Faint, style, out);
        }
    }
}

/// Number of fetches, and the maximum rows of the last one.
fn fetches(statement: &StatementOutcome) -> String {
    let count = statement.fetches;
    match (statement.fetch_rows, statement.fetch_bytes) {
        _ if count == 0 => count.to_string(),
        (Some(rows), _) => format!("{count} of {rows} rows"),
        (None, Some(bytes)) => format!("{count} of {bytes} B"),
        (None, None) => count.to_string(),
    }
}

fn connections_table(connections: &[ConnectionOutcome]) -> Table {
    let mut connections: Vec<&ConnectionOutcome> = connections.iter().collect();
    connections.sort_by_key(|connection| (Reverse(connection.turns), connection.id));
    let with_programs = connections
        .iter()
        .any(|connection| connection.processes != PerSide::default());
    let mut headings = vec!["connections by round trips"];
    headings.extend(with_programs.then_some("programs"));
    headings.extend([
        "protocol",
        "trips",
        "rtt",
        "exchanges",
        "payload",
        "packets",
        "retransmitted",
    ]);
    let mut table = Table::new(headings);
    for connection in connections {
        let totals = &connection.totals;
        let payload = totals
            .payload_bytes
            .iter()
            .fold(0, |sum: u64, bytes| sum.saturating_add(*bytes));
        let mut cells = vec![format!("{} -> {}", connection.client, connection.server)];
        cells.extend(with_programs.then(|| programs(&connection.processes)));
        cells.extend([
            protocol_cell(connection),
            connection.turns.to_string(),
            connection.rtt.map_or_else(|| UNTOLD.to_owned(), format_duration),
            connection.exchanges.to_string(),
            ByteCount::from_bytes(payload).to_string(),
            or_untold(
                totals
                    .packets
                    .map(|packets| packets.into_iter().fold(0, u64::saturating_add)),
            ),
            or_untold(totals.retransmitted_packets),
        ]);
        table.row(cells);
    }
    table
}

/// Memory holds those with most round trips.
fn unlisted_line(outcome: &ReadOutcome, style: &Style, out: &mut String) {
    let listed = outcome.connections.len() as u64;
    let others = outcome.summary.connections.saturating_sub(listed);
    if others > 0 {
        let text = format!("and {} with fewer round trips", counted(others, "connection"));
        paragraph(&text, "  ", Ink::Faint, style, out);
    }
}

/// Programs of both sides of a connection, client first, as far as known.
pub fn programs(processes: &PerSide<Option<Arc<HostProcess>>>) -> String {
    let texts = processes.each_ref().map(|process| match process {
        Some(process) => format!("{} {}", process.name, process.number),
        None => UNTOLD.to_owned(),
    });
    let [client, server] = texts.into_array();
    format!("{client} -> {server}")
}

/// The protocol, and the reason if it is not decoded.
fn protocol_cell(connection: &ConnectionOutcome) -> String {
    let decoding = &connection.decoding;
    let name = decoding.protocol.name();
    match (&decoding.opaque, decoding.encrypted) {
        (Some(_), true) if decoding.protocol != model::Protocol::Tls => format!("{name}, encrypted"),
        (Some(_), false) if decoding.protocol != model::Protocol::Unknown => format!("{name}, opaque"),
        _ => name.to_owned(),
    }
}

/// A table with an empty line before it, unless it has no row.
fn section(table: &Table, style: &Style, out: &mut String) {
    if table.len() > 0 {
        out.push('\n');
        table.render(style, out);
    }
}

fn warnings_section(warnings: &[Warning], style: &Style, out: &mut String) {
    if !warnings.is_empty() {
        out.push('\n');
    }
    for warning in warnings {
        let text = format!("warning: {}", warning.text);
        paragraph(&text, "", Ink::Warning, style, out);
    }
}

fn or_untold(count: Option<u64>) -> String {
    count.map_or_else(|| UNTOLD.to_owned(), |count| count.to_string())
}

/// `None` if `count` is zero.
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

pub(super) fn share(part: Duration, whole: Duration) -> String {
    match Share::from_parts(part, whole) {
        None => UNTOLD.to_owned(),
        Some(share) if !part.is_zero() && share.as_fraction() < 0.005 => "<1 %".to_owned(),
        Some(share) => share.to_string(),
    }
}

/// Shown if the protocol or observation point does not provide a figure. A dash means withheld.
const UNTOLD: &str = "?";
/// Below the parts, if the server's is a range.
const RANGE: &str = "server: a range, because round-trip times vary; the rest of it is network (transfer)";
/// Columns in front of a bar, without its figures.
const BAR_INDENT: usize = 19;
const MAX_BAR_WIDTH: usize = 60;
/// In columns, for the name of the source.
const MIN_NAME_WIDTH: usize = 24;
