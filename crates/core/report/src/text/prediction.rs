//! Predictions printed as tables.

use super::escape::{cut, explain_flag, printable};
use super::explain::largest_margin;
use super::paragraph::paragraph;
use super::style::{Ink, Style};
use super::table::Table;
use super::{DASH, WITHHELD, counted, duration_or_dash};
use crate::ranges::median_or_bounds;
use model::{BitRate, BoundBy, LinkRates, OrderKind, PerDirection, Prediction, format_duration};
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

/// The view of `predict`: each operation name on each link with bounds, and the cost of a
/// millisecond.
pub fn prediction_view(predictions: &[Prediction], unmoved: &[Arc<str>], style: &Style) -> String {
    let Some(first) = predictions.first() else {
        return match unmoved {
            [] => "No operation was seen, so there is nothing to predict.\n".to_owned(),
            unmoved => unmoved_line(unmoved, style),
        };
    };
    let optional = Optional {
        rate: predictions.iter().any(|prediction| prediction.rate != first.rate),
        impairments: predictions
            .iter()
            .any(|prediction| impairments(&prediction.link) != impairments(&first.link)),
        clients: predictions
            .iter()
            .any(|prediction| prediction.clients != first.clients),
        measured: predictions.iter().any(|prediction| prediction.measured.is_some()),
    };
    let mut table = Table::new(headings(optional));
    let names = names(predictions);
    let each = predictions.len().div_ceil(names.len());
    let shown = &names[..names.len().min(style.rows(SHOWN_ROWS / each).max(1))];
    for prediction in of_names(predictions, shown) {
        table.row(cells(prediction, optional));
    }
    let mut out = String::new();
    paragraph(
        cost_line(predictions).trim_end(),
        "",
        Ink::Heading,
        style,
        &mut out,
    );
    let heading = style.paint(Ink::Heading, &heading(first, optional));
    let _ = writeln!(out, "{}{heading}", if out.is_empty() { "" } else { "\n" });
    table.render(style, &mut out);
    let left_out = names.len() - shown.len();
    if left_out > 0 {
        let more = counted(left_out as u64, "more operation name");
        let _ = writeln!(
            out,
            "  {}",
            style.paint(Ink::Faint, &format!("and {more}: --all lists all"))
        );
    }
    if table.has_dash_below(style, |heading| PERCENTILES.contains(&heading)) {
        let _ = writeln!(out, "  {}", style.paint(Ink::Faint, WITHHELD));
    }
    let notes = [
        unlike_lines(predictions, shown),
        wide_lines(predictions, shown),
        warming_up_lines(predictions, shown),
        order_lines(predictions, shown),
        workers_line(predictions),
    ];
    if notes.iter().any(|notes| !notes.is_empty()) {
        out.push('\n');
    }
    for note in notes.iter().flat_map(|notes| notes.lines()) {
        paragraph(note, "  ", Ink::Faint, style, &mut out);
    }
    out.push_str(&unmoved_line(unmoved, style));
    out
}

/// Names without prediction, because none of their connections moves.
pub(super) fn unmoved_line(names: &[Arc<str>], style: &Style) -> String {
    let shown: Vec<String> = names
        .iter()
        .take(style.rows(SHOWN_UNMOVED))
        .map(|name| cut(&printable(name), MAX_NAME_LEN).into_owned())
        .collect();
    let more = match names.len() - shown.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let mut out = String::new();
    if !shown.is_empty() {
        let text = format!(
            "Not predicted, because no connection of theirs moves: {}{more}; --on names those that do.",
            shown.join(", ")
        );
        paragraph(&text, "  ", Ink::Faint, style, &mut out);
    }
    out
}

/// Requests that the server works on at once, if that limits the clients.
fn workers_line(predictions: &[Prediction]) -> String {
    let workers = predictions.iter().find_map(|prediction| prediction.workers);
    workers.map_or_else(String::new, |workers| {
        format!(
            "The server works on {} at once, the others wait, in the measurement and there: --workers. The clients ask for all pages as they were mixed.\n",
            counted(workers.into(), "request")
        )
    })
}

/// Assumed cores of clients and servers, for a line below [`prediction_view`]. `None` means as many
/// as needed.
pub fn cores_line(cores: [Option<u32>; 2]) -> String {
    let [clients, servers] = cores.map(|cores| match cores {
        Some(cores) => counted(cores.into(), "core"),
        None => "as many cores as they need".to_owned(),
    });
    format!(
        "All clients together are taken to have {clients}, all servers {servers}: --client-cores, --server-cores.\n"
    )
}

/// One row per operation name, one column per link.
pub(super) fn price_table(predictions: &[Prediction], style: &Style) -> Table {
    let mut links: Vec<(Duration, LinkRates)> = Vec::new();
    for prediction in predictions {
        let link = (prediction.rtt, prediction.rate);
        if !links.contains(&link) {
            links.push(link);
        }
    }
    let mut headings = vec!["median at an rtt of".to_owned()];
    headings.extend(links.iter().map(|link| link_text(*link)));
    headings.extend(["trips", "bound by"].map(str::to_owned));
    let mut table = Table::new(headings);
    for name in names(predictions).iter().take(style.rows(SHOWN_PRICES)) {
        let of_name = || {
            predictions
                .iter()
                .filter(|prediction| prediction.operation_name == *name)
        };
        let mut cells = vec![name.to_string()];
        for link in &links {
            let there = of_name().find(|prediction| (prediction.rtt, prediction.rate) == *link);
            cells.push(there.map_or_else(|| DASH.to_owned(), median_or_bounds));
        }
        if let Some(last) = of_name().next_back() {
            cells.extend([number(last.turns), bound_words(last.bound_by).to_owned()]);
        }
        table.row(cells);
    }
    table
}

/// Columns are omitted if all figures are equal and none was measured.
#[derive(Clone, Copy)]
struct Optional {
    rate: bool,
    impairments: bool,
    clients: bool,
    measured: bool,
}

/// Values that all predictions share.
fn heading(first: &Prediction, optional: Optional) -> String {
    let mut heading = "Operations on other links".to_owned();
    if !optional.rate && first.rate != PerDirection::default() {
        let _ = write!(heading, " of {}", rate_text(first.rate));
    }
    let impairments = impairments(&first.link);
    if !optional.impairments && !impairments.is_empty() {
        let _ = write!(heading, ", {}", super::escape::printable(&impairments));
    }
    if !optional.clients && first.clients != 1 {
        let _ = write!(heading, " with {}", counted(first.clients.into(), "client"));
    }
    heading.push_str(" (low, high: 90 % interval of the median)");
    heading
}

fn headings(optional: Optional) -> Vec<&'static str> {
    let mut headings = vec!["operation", "rtt"];
    headings.extend(optional.rate.then_some("rate"));
    headings.extend(optional.impairments.then_some("and"));
    headings.extend(optional.clients.then_some("clients"));
    headings.extend(match optional.measured {
        true => &["predicted", "measured", "error"][..],
        false => &["median"],
    });
    headings.extend(["low", "high", "bound by", "trips", "per second"]);
    headings.extend(PERCENTILES);
    headings.push("count");
    headings
}

fn cells(prediction: &Prediction, optional: Optional) -> Vec<String> {
    let mut cells = vec![
        prediction.operation_name.to_string(),
        format_duration(prediction.rtt),
    ];
    cells.extend(optional.rate.then(|| rate_text(prediction.rate)));
    cells.extend(optional.impairments.then(|| impairments(&prediction.link)));
    cells.extend(optional.clients.then(|| prediction.clients.to_string()));
    cells.push(duration_or_dash(prediction.bounded()));
    if optional.measured {
        cells.push(
            prediction
                .measured
                .as_ref()
                .map(|measured| format_duration(measured.duration))
                .unwrap_or_default(),
        );
        cells.push(prediction.error().map(error_text).unwrap_or_default());
    }
    cells.extend([
        duration_or_dash(prediction.bounds().map(|[low, _]| low)),
        duration_or_dash(prediction.bounds().map(|[_, high]| high)),
        bound_words(prediction.bound_by).to_owned(),
        number(prediction.turns),
        prediction
            .bounded()
            .map_or_else(|| DASH.to_owned(), |_| number(prediction.per_second)),
        duration_or_dash(prediction.spread.p90),
        duration_or_dash(prediction.spread.p95),
        duration_or_dash(prediction.spread.p99),
        prediction.operations.to_string(),
    ]);
    cells
}

/// Cost of one more millisecond for the operation with the steepest slope.
pub(super) fn cost_line(predictions: &[Prediction]) -> String {
    let dearest = predictions
        .iter()
        .filter(|prediction| prediction.has_slope())
        .max_by(|a, b| a.slope.total_cmp(&b.slope));
    match dearest {
        Some(prediction) if prediction.turns > 0.0 => {
            let why = why_so_much(prediction).map_or_else(String::new, |why| format!(": {why}"));
            format!(
                "Each millisecond of round-trip time adds about {:.1} ms to {}{why}.\n",
                prediction.slope,
                cut(&printable(&prediction.operation_name), MAX_NAME_LEN),
            )
        }
        _ if !predictions.iter().all(Prediction::has_slope) => String::new(),
        _ => "No operation waits for a round trip on the moved connections: distance costs them nothing.\n"
            .to_owned(),
    }
}

/// Explains the slope by round trips, some of them perhaps in parallel, or of transfers. Uses one
/// typical operation, because the slope is the median's and operations of a name may differ. `None`
/// if the slope is below the round trips although these wait for each other.
fn why_so_much(prediction: &Prediction) -> Option<String> {
    let typical = prediction.examples.map(|examples| examples.typical.turns as f64);
    let turns = typical.unwrap_or(prediction.turns);
    let order = prediction.order.map(|order| order.kind);
    match prediction.slope / turns.max(f64::MIN_POSITIVE) {
        share if share < 1.0 - SAME => match order? {
            OrderKind::AtOnce => Some(format!("some of its {turns:.1} round trips run in parallel")),
            OrderKind::Open => Some(format!("of its {turns:.1} round trips some may pass at once")),
            OrderKind::InSequence => None,
        },
        share if share > 1.0 + SAME => Some(format!(
            "it waits for {turns:.1} round trips, and for round trips of transfers"
        )),
        _ => Some(format!("it waits for {turns:.1} round trips")),
    }
}

/// One line per name without bounds.
pub(super) fn unlike_lines(predictions: &[Prediction], names: &[Arc<str>]) -> String {
    let mut out = String::new();
    for name in names {
        let unbounded = of_names(predictions, std::slice::from_ref(name)).find(|one| one.bounds().is_none());
        if let Some(one) = unbounded {
            let _ = writeln!(
                out,
                "{}: {} are unlike{}, so no median is predicted; --operations groups otherwise, more of them narrow bounds.",
                printable(name),
                counted(one.operations, "operation"),
                how_unlike(one)
            );
        }
    }
    out
}

/// One line per name without a median.
fn wide_lines(predictions: &[Prediction], names: &[Arc<str>]) -> String {
    let mut out = String::new();
    for name in names {
        let wide = of_names(predictions, std::slice::from_ref(name))
            .find(|one| one.bounds().is_some() && one.bounded().is_none());
        if let Some(one) = wide {
            let largest = largest_margin(one)
                .map_or_else(String::new, |words| format!(" Its largest part is for {words}."));
            let _ = writeln!(
                out,
                "{}: no median is predicted, as the interval is wider than a factor of three.{largest} All parts: {}",
                printable(name),
                explain_flag(name),
            );
        }
    }
    out
}

/// One line per name with operations that were slower than later ones.
fn warming_up_lines(predictions: &[Prediction], names: &[Arc<str>]) -> String {
    let mut out = String::new();
    for name in names {
        let first = of_names(predictions, std::slice::from_ref(name)).find(|one| one.warming_up > 0);
        if let Some(one) = first {
            let _ = writeln!(
                out,
                "{}: the first {} of {} were slower than the rest, and are left out.",
                printable(name),
                one.warming_up,
                one.warming_up + one.operations
            );
        }
    }
    out
}

/// Says whether they differ in round trips or only in durations.
fn how_unlike(prediction: &Prediction) -> String {
    if let Some(examples) = prediction.examples.filter(|_| prediction.has_unlike_turns()) {
        let (typical, longest) = (examples.typical.turns, examples.longest.turns);
        let (typical, longest) = (counted(typical, "round trip"), counted(longest, "round trip"));
        return format!(" (typical {typical}, longest {longest})");
    }
    let durations = prediction.spread.min.zip(prediction.spread.max);
    durations.map_or(String::new(), |(min, max)| {
        format!(" (from {} to {})", format_duration(min), format_duration(max))
    })
}

/// The known order of exchanges on several connections, one line per name.
pub(super) fn order_lines(predictions: &[Prediction], names: &[Arc<str>]) -> String {
    let mut out = String::new();
    for name in names {
        let first = of_names(predictions, std::slice::from_ref(name)).next();
        let Some((prediction, order)) = first.and_then(|first| Some((first, first.order?))) else {
            continue;
        };
        let name = super::escape::printable(&prediction.operation_name);
        let (seen, of) = (order.at_once, counted(order.looked_at, "operation"));
        let _ = match order.kind {
            OrderKind::InSequence => Ok(()),
            OrderKind::AtOnce => writeln!(
                out,
                "{name} sends requests on several connections at once (seen in {seen} of {of}); they are predicted so."
            ),
            OrderKind::Open => writeln!(
                out,
                "{name} may send requests on several connections at once (seen in {seen} of {of}). Low has all of these at once, high all \
                 one after another."
            ),
        };
    }
    out
}

/// In the order of their first prediction.
pub(super) fn names(predictions: &[Prediction]) -> Vec<Arc<str>> {
    let mut names: Vec<Arc<str>> = Vec::new();
    for prediction in predictions {
        if !names.contains(&prediction.operation_name) {
            names.push(Arc::clone(&prediction.operation_name));
        }
    }
    names
}

fn of_names<'a>(
    predictions: &'a [Prediction],
    names: &'a [Arc<str>],
) -> impl Iterator<Item = &'a Prediction> {
    names.iter().flat_map(move |name| {
        predictions
            .iter()
            .filter(move |prediction| prediction.operation_name == *name)
    })
}

pub(super) fn link_text((rtt, rate): (Duration, LinkRates)) -> String {
    if rate == LinkRates::default() {
        return format_duration(rtt);
    }
    format!("{}, {}", format_duration(rtt), rate_text(rate))
}

/// One rate if both directions are equal, else client-to-server and server-to-client.
fn rate_text(rate: LinkRates) -> String {
    let text = |rate: Option<BitRate>| rate.map_or_else(|| "unlimited".to_owned(), |rate| rate.to_string());
    match rate.into_array() {
        [up, down] if up == down => text(up),
        [up, down] => format!("{} / {}", text(up), text(down)),
    }
}

/// Impairments other than round-trip time and rate, from the link's text form.
fn impairments(link: &str) -> String {
    let others = link
        .split_whitespace()
        .filter(|setting| !setting.starts_with("rtt=") && !setting.starts_with("rate="));
    others.collect::<Vec<_>>().join(" ")
}

pub(crate) fn bound_words(bound: BoundBy) -> &'static str {
    match bound {
        BoundBy::RoundTrips => "round trips",
        BoundBy::Rate => "rate",
        BoundBy::Window => "window",
        BoundBy::DelayedAcks => "delayed ACKs",
        BoundBy::Server => "server",
        BoundBy::Client => "client",
        BoundBy::Unexplained => "unexplained wait",
    }
}

/// A share with sign: `+0.8 %` means that the prediction is too long.
pub(super) fn error_text(share: f64) -> String {
    match share * 100.0 {
        percent if !percent.is_finite() => "?".to_owned(),
        percent if percent.abs() < 100.0 => format!("{percent:+.1} %"),
        percent => format!("{percent:+.0} %"),
    }
}

/// One decimal, three below 1; `?` if not a number.
pub(super) fn number(value: f64) -> String {
    match value {
        value if !value.is_finite() => "?".to_owned(),
        value if value > 0.0 && value < 1.0 => format!("{value:.3}"),
        value if value < 10_000.0 => format!("{value:.1}"),
        value => format!("{value:.0}"),
    }
}

/// Maximum difference between slope and round trips, as a share, to call them equal.
const SAME: f64 = 0.05;
const SHOWN_UNMOVED: usize = 3;
/// In columns, within a sentence.
const MAX_NAME_LEN: usize = 40;
const PERCENTILES: [&str; 3] = ["p90", "p95", "p99"];
const SHOWN_ROWS: usize = 9;
const SHOWN_PRICES: usize = 3;
