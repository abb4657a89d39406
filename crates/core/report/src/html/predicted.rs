//! Cost of distance as sliders, figures and a curve, and as a table that needs no script.

use super::grid::{GridRow, View};
use super::markup::{
    cell, count, counted, cut, number, share, small_print, table_head, time, time_or_dash,
    turns as turns_text,
};
use super::{Grid, Page, attribution, curve};
use crate::ranges::median_or_bounds;
use crate::text::bound_words;
use maud::{Markup, html};
use model::{BitRate, LinkRates, OrderKind, Prediction};
use std::fmt::Write;
use std::time::Duration;

pub fn section(page: &Page<'_>, view: Option<&View>) -> Markup {
    if view.is_none() && page.outcome.predictions.is_empty() {
        return Markup::default();
    }
    html! {
        section #prediction aria-labelledby="h-distance" {
            h2 #h-distance { "Cost of distance" }
            @if let Some(view) = view {
                (introduction(page.grid, view))
                (explorer(view))
                (by_round_trip(view))
            }
            (asked(&page.outcome.predictions, view))
            (small_print(small(page.grid)))
        }
    }
}

fn explorer(view: &View) -> Markup {
    let row = &view.rows[0];
    html! {
        div.explorer {
            div.controls { (sliders(view)) (readout(view, row)) }
            figure {
                (curve::both_sizes(view, row))
                figcaption.small { (caption(view)) }
            }
        }
    }
}

/// One figure if both directions are equal.
pub fn rate_words(rates: LinkRates) -> String {
    let words = |rate: Option<BitRate>| rate.map_or_else(|| "unlimited".to_owned(), |rate| rate.to_string());
    match rates.into_array() {
        [to_server, to_client] if to_server == to_client => words(to_client),
        [to_server, to_client] => format!("{} / {}", words(to_server), words(to_client)),
    }
}

fn introduction(grid: Option<&Grid>, view: &View) -> Markup {
    let row = &view.rows[0];
    let first = row.cells.first();
    let (turns, slope) = first.map_or((0.0, 0.0), |cell| (cell.turns, cell.slope));
    let name = cut(&row.name, MAX_NAME_LEN);
    let at_once = match first.and_then(|cell| cell.order).map(|order| order.kind) {
        Some(OrderKind::AtOnce) => "Some of these pass at once, on several connections. ",
        Some(OrderKind::Open) => {
            "Whether some of these pass at once, on several connections, is open: low is with all that may, high with none. "
        }
        Some(OrderKind::InSequence) | None => "",
    };
    html! {
        p {
            @if first.is_some_and(|cell| cell.has_unlike_turns() && !cell.has_slope()) {
                "Operations of the name " code { (name) }
                " are unlike, so no single figure says how much a millisecond of round-trip time adds. "
            } @else if turns > 0.0 {
                "Each millisecond of round-trip time adds about " b { (turns_text(slope)) " ms" } " to " code { (name) }
                ", which has " (turns_text(turns)) " round trips. "
            } @else {
                "The most time-consuming operation waits for no round trip on the connections that move. "
            }
            (at_once)
            @if let Some(grid) = grid.filter(|grid| !grid.moved.is_empty()) {
                "Moved to the other link: " (cut(&grid.moved, MAX_NAME_LEN)) "."
            }
        }
    }
}

fn sliders(view: &View) -> Markup {
    html! {
        form.sliders.js aria-label="the other link" {
            @if view.rows.len() > 1 {
                label for="s-operation" { "operation" }
                select #s-operation {
                    @for (index, row) in view.rows.iter().enumerate() {
                        option value=(index) { (cut(&row.name, MAX_OPTION_LEN)) }
                    }
                }
            }
            (slider("rtt", "round-trip time"))
            @if view.rates.len() > 1 { (slider("rate", "rate, each way")) }
            @if view.clients.len() > 1 { (slider("clients", "clients at once")) }
            p #presets.presets {}
        }
    }
}

fn slider(id: &str, name: &str) -> Markup {
    html! {
        div.slider {
            label for={ "s-" (id) } { (name) }
            output id={ "v-" (id) } for={ "s-" (id) } aria-live="off" {}
            input type="range" id={ "s-" (id) } autocomplete="off";
        }
    }
}

fn readout(view: &View, row: &GridRow) -> Markup {
    let cell = view.cell(row, view.start.rtt, view.start.rate, view.start.clients);
    let bounds = cell.bounds().map_or_else(
        || "none: operations are unlike".to_owned(),
        |[low, high]| format!("{} to {}", time(low), time(high)),
    );
    let rows = [
        ("o-bounds", "in 9 of 10 runs", bounds),
        ("o-per-second", "per second", number(cell.per_second)),
        ("o-turns", "round trips", turns_text(cell.turns)),
        ("o-bound-by", "bound by", bound_words(cell.bound_by).to_owned()),
    ];
    let whole = cell.attribution.total();
    html! {
        div.readout {
            p.big { output #o-duration for="s-rtt s-rate s-clients s-operation" { (median_or_bounds(cell)) } }
            p.at {
                "predicted median at " span #o-link { (link_words(cell)) }
                span #o-times { (cell.bounded().map_or_else(String::new, |there| times(row.here, there))) }
            }
            dl { @for (id, name, text) in rows { div { dt { (name) } dd id=(id) { (text) } } } }
            svg #o-bar.bar viewBox="0 0 1000 10" preserveAspectRatio="none" role="img"
                aria-label="where the predicted time goes" { (attribution::rectangles(&cell.attribution)) }
            ul #o-parts.parts {
                @for (class, name, part) in attribution::parts(&cell.attribution) {
                    li hidden[part.is_zero()] {
                        i class={ "swatch s-" (class) } {}
                        b { (name) } " " span { (share(part, whole)) }
                    }
                }
            }
        }
    }
}

fn link_words(cell: &Prediction) -> String {
    let clients = if cell.clients == 1 {
        String::new()
    } else {
        format!(", {}", counted(cell.clients.into(), "client"))
    };
    format!("{}, {}{clients}", time(cell.rtt), rate_words(cell.rate))
}

fn times(here: Option<Duration>, there: Duration) -> String {
    match here {
        Some(here) if !here.is_zero() => {
            format!(
                ", {} times the {} measured",
                factor(there.as_secs_f64() / here.as_secs_f64()),
                time(here)
            )
        }
        _ => String::new(),
    }
}

/// Prints the unit once if both have the same.
fn range(low: Duration, high: Duration) -> String {
    let (low, high) = (time(low), time(high));
    match (low.split_once(' '), high.split_once(' ')) {
        (Some((number, unit)), Some((_, other))) if unit == other => format!("{number} – {high}"),
        _ => format!("{low} – {high}"),
    }
}

/// A factor with three digits.
fn factor(value: f64) -> String {
    match value {
        value if value < 9.995 => format!("{value:.2}"),
        value if value < 99.95 => format!("{value:.1}"),
        value => count(value.round() as u64),
    }
}

fn caption(view: &View) -> String {
    let mut text =
        "Line: predicted median; both axes are logarithmic. Band: between its bounds low and high."
            .to_owned();
    if view.rows.iter().any(|row| row.removed > 0.0) {
        text.push_str(" Dashed: without the round trips that the findings would remove.");
    }
    if view.measured_rtt.is_some() {
        text.push_str(" Hollow dot: as measured, where the operations come from.");
    }
    if view.rows.iter().any(|row| !row.points.is_empty()) {
        text.push_str(" Filled dots: measured on such a link.");
    }
    text
}

/// Whether the table by round-trip time already contains this prediction.
fn is_shown(view: &View, asked: &Prediction) -> bool {
    let columns = shown_rtts(view);
    view.rows.iter().any(|row| {
        columns.iter().any(|place| {
            let cell = view.cell(row, *place, view.start.rate, view.start.clients);
            let same_link = (cell.rtt, cell.rate, cell.clients) == (asked.rtt, asked.rate, asked.clients);
            same_link && cell.operation_name == asked.operation_name && cell.operations == asked.operations
        })
    })
}

/// Indices of the usual round-trip times, or of the first ones.
fn shown_rtts(view: &View) -> Vec<usize> {
    let asked_for = |place: &usize| SHOWN_RTTS.contains(&view.rtts[*place]);
    let shown: Vec<usize> = (0..view.rtts.len()).filter(asked_for).collect();
    if shown.len() >= 2 {
        shown
    } else {
        (0..view.rtts.len().min(SHOWN_RTTS.len())).collect()
    }
}

/// Each operation name at the usual round-trip times, at the rate shown first.
fn by_round_trip(view: &View) -> Markup {
    let shown = shown_rtts(view);
    let rate = rate_words(view.rates[view.start.rate]);
    let clients = counted(view.clients[view.start.clients].into(), "client");
    let rtts = shown.iter().map(|place| time(view.rtts[*place]));
    let headings = ["round trips", "replayed"]
        .map(str::to_owned)
        .into_iter()
        .chain(rtts);
    let at = |row, place| view.cell(row, place, view.start.rate, view.start.clients);
    html! {
        table.stack {
            caption { "Predicted median by round-trip time, with low and high; rate " (rate) ", " (clients) }
            (table_head("operation", headings))
            tbody {
                @for row in &view.rows {
                    tr {
                        th scope="row" { (cut(&row.name, MAX_NAME_LEN)) }
                        (cell("trips", turns_text(at(row, 0).turns)))
                        (cell("replayed", count(at(row, 0).operations)))
                        @for place in &shown { (bounded_cell(at(row, *place))) }
                    }
                }
            }
        }
    }
}

fn bounded_cell(prediction: &Prediction) -> Markup {
    let bounds = prediction.bounds().map(|[low, high]| range(low, high));
    html! {
        td.n data-label=(time(prediction.rtt)) {
            (time_or_dash(prediction.bounded()))
            small { (bounds.unwrap_or_default()) }
        }
    }
}

/// Requested links with bounds. Measured ones have their own table.
fn asked(predictions: &[Prediction], view: Option<&View>) -> Markup {
    let rows: Vec<&Prediction> = predictions
        .iter()
        .filter(|prediction| {
            prediction.measured.is_none() && !view.is_some_and(|view| is_shown(view, prediction))
        })
        .collect();
    if rows.is_empty() {
        return Markup::default();
    }
    html! {
        table.stack {
            caption { "Requested links" }
            thead { tr {
                th scope="col" { "operation" }
                @for heading in ["rtt", "rate", "clients", "median", "low", "high", "per second"] {
                    th.n scope="col" { (heading) }
                }
                th scope="col" { "bound by" }
            } }
            tbody { @for prediction in rows.iter().take(SHOWN_ASKED) { (asked_row(prediction)) } }
        }
        @if rows.len() > SHOWN_ASKED {
            (small_print(format!(
                "And {}; --all lists all.",
                counted((rows.len() - SHOWN_ASKED) as u64, "more prediction")
            )))
        }
    }
}

fn asked_row(prediction: &Prediction) -> Markup {
    html! {
        tr {
            th scope="row" { (cut(&prediction.operation_name, MAX_NAME_LEN)) }
            (cell("rtt", time(prediction.rtt)))
            (cell("rate", rate_words(prediction.rate)))
            (cell("clients", count(prediction.clients.into())))
            td.n data-label="median" { b { (time_or_dash(prediction.bounded())) } }
            (cell("low", time_or_dash(prediction.bounds().map(|[low, _]| low))))
            (cell("high", time_or_dash(prediction.bounds().map(|[_, high]| high))))
            (cell("per second", number(prediction.per_second)))
            td data-label="bound by" { (bound_words(prediction.bound_by)) }
        }
    }
}

fn small(grid: Option<&Grid>) -> String {
    let mut text = String::new();
    if let Some(grid) = grid {
        let replayed = grid.replayed;
        if replayed > 0 {
            let _ = write!(
                text,
                "{} of {} operations of these names were replayed for the curve and the sliders",
                count(replayed),
                count(grid.seen)
            );
            if replayed < grid.seen {
                text.push_str(", taken evenly over the run");
            }
            text.push_str(". ");
        }
        if grid.names_left_out > 0 {
            let _ = write!(
                text,
                "{} are not in it. ",
                counted(grid.names_left_out, "operation name with less time")
            );
        }
        if !grid.link.is_empty() {
            let _ = write!(text, "The link has {} besides. ", grid.link);
        }
    }
    text.push_str(
        "Client and server times stay as measured, the application behaves the same, and nothing else uses the link. Between the \
         links that were replayed the sliders interpolate: in the round-trip time linearly, in the rate by the time a byte takes. Low and high are \
         meant to hold the median of 9 in 10 runs with as many operations; single operations vary more. Network here means the moved connections' link and what did not move.",
    );
    text
}

const SHOWN_RTTS: [Duration; 4] = {
    let [next_region, next_continent, far] = model::DEFAULT_RTTS;
    [Duration::ZERO, next_region, next_continent, far]
};
const SHOWN_ASKED: usize = 24;
const MAX_NAME_LEN: usize = 120;
const MAX_OPTION_LEN: usize = 60;
