//! Cost of distance as sliders, figures and a curve, and as a table that needs no script.

use super::grid::{GridRow, View};
use super::markup::{count, counted, cut, number, time, turns as turns_text};
use super::old::{Escaped, share, small_print};
use super::{Grid, Page, attribution, curve};
use crate::text::bound_words;
use model::{BitRate, LinkRates, OrderKind, Prediction};
use std::fmt::Write;
use std::time::Duration;

pub fn section(page: &Page<'_>, view: Option<&View>, out: &mut String) {
    if view.is_none() && page.outcome.predictions.is_empty() {
        return;
    }
    out.push_str("<section id=\"prediction\" aria-labelledby=\"h-distance\">\n<h2 id=\"h-distance\">Cost of distance</h2>\n");
    if let Some(view) = view {
        out.push_str(&introduction(page.grid, view));
        let row = &view.rows[0];
        out.push_str("<div class=\"explorer\">\n<div class=\"controls\">\n");
        sliders(view, out);
        readout(view, row, out);
        out.push_str("</div>\n<figure>\n");
        curve::both_sizes(view, row, out);
        out.push_str("<figcaption class=\"small\">");
        out.push_str(&caption(view));
        out.push_str("</figcaption>\n</figure>\n</div>\n");
        by_round_trip(view, out);
    }
    asked(&page.outcome.predictions, view, out);
    small_print(&small(page.grid), out);
    out.push_str("</section>\n");
}

/// One figure if both directions are equal.
pub fn rate_words(rates: LinkRates) -> String {
    let words = |rate: Option<BitRate>| rate.map_or_else(|| "unlimited".to_owned(), |rate| rate.to_string());
    match rates.into_array() {
        [to_server, to_client] if to_server == to_client => words(to_client),
        [to_server, to_client] => format!("{} / {}", words(to_server), words(to_client)),
    }
}

fn introduction(grid: Option<&Grid>, view: &View) -> String {
    let row = &view.rows[0];
    let (turns, slope) = row
        .cells
        .first()
        .map_or((0.0, 0.0), |cell| (cell.turns, cell.slope));
    let mut text = String::from("<p>");
    if row
        .cells
        .first()
        .is_some_and(|cell| cell.has_unlike_turns() && !cell.has_slope())
    {
        let _ = write!(
            text,
            "Operations of the name <code>{}</code> are unlike, so no single figure says how much a millisecond of round-trip time adds. ",
            Escaped(&cut(&row.name, MAX_NAME_LEN)),
        );
    } else if turns > 0.0 {
        let _ = write!(
            text,
            "Each millisecond of round-trip time adds about <b>{} ms</b> to <code>{}</code>, which has {} round trips. ",
            turns_text(slope),
            Escaped(&cut(&row.name, MAX_NAME_LEN)),
            turns_text(turns)
        );
    } else {
        text.push_str("The most time-consuming operation waits for no turn on the connections that move. ");
    }
    match row.cells.first().and_then(|cell| cell.order).map(|order| order.kind) {
        Some(OrderKind::AtOnce) => text.push_str("Some of these pass at once, on several connections. "),
        Some(OrderKind::Open) => text.push_str(
            "Whether some of these pass at once, on several connections, is open: low is with all that may, high with none. ",
        ),
        Some(OrderKind::InSequence) | None => {}
    }
    if let Some(grid) = grid.filter(|grid| !grid.moved.is_empty()) {
        let _ = write!(
            text,
            "Moved to the other link: {}.",
            Escaped(&cut(&grid.moved, MAX_NAME_LEN))
        );
    }
    text.push_str("</p>\n");
    text
}

fn sliders(view: &View, out: &mut String) {
    out.push_str("<form class=\"sliders js\" aria-label=\"the other link\">\n");
    if view.rows.len() > 1 {
        out.push_str("<label for=\"s-operation\">operation</label>\n<select id=\"s-operation\">");
        for (index, row) in view.rows.iter().enumerate() {
            let _ = write!(
                out,
                "<option value=\"{index}\">{}</option>",
                Escaped(&cut(&row.name, MAX_OPTION_LEN))
            );
        }
        out.push_str("</select>\n");
    }
    slider("rtt", "round-trip time", out);
    if view.rates.len() > 1 {
        slider("rate", "rate, each way", out);
    }
    if view.clients.len() > 1 {
        slider("clients", "clients at once", out);
    }
    out.push_str("<p class=\"presets\" id=\"presets\"></p>\n</form>\n");
}

fn slider(id: &str, name: &str, out: &mut String) {
    let _ = writeln!(
        out,
        "<div class=\"slider\"><label for=\"s-{id}\">{name}</label><output id=\"v-{id}\" for=\"s-{id}\" aria-live=\"off\"></output>\
         <input type=\"range\" id=\"s-{id}\" autocomplete=\"off\"></div>"
    );
}

fn readout(view: &View, row: &GridRow, out: &mut String) {
    let cell = view.cell(row, view.start.rtt, view.start.rate, view.start.clients);
    let _ = write!(
        out,
        "<div class=\"readout\">\n<p class=\"big\"><output id=\"o-duration\" for=\"s-rtt s-rate s-clients s-operation\">{}</output></p>\n\
         <p class=\"at\">predicted median at <span id=\"o-link\">{}</span><span id=\"o-times\">{}</span></p>\n",
        time(cell.duration),
        link_words(cell),
        times(row.here, cell.duration)
    );
    out.push_str("<dl>");
    let rows = [
        (
            "o-bounds",
            "in 9 of 10 runs",
            cell.bounds().map_or_else(
                || "none: operations are unlike".to_owned(),
                |[low, high]| format!("{} to {}", time(low), time(high)),
            ),
        ),
        ("o-per-second", "per second", number(cell.per_second)),
        ("o-turns", "turns", turns_text(cell.turns)),
        ("o-bound-by", "bound by", bound_words(cell.bound_by).to_owned()),
    ];
    for (id, name, text) in rows {
        let _ = write!(out, "<div><dt>{name}</dt><dd id=\"{id}\">{text}</dd></div>");
    }
    out.push_str("</dl>\n<svg id=\"o-bar\" class=\"bar\" viewBox=\"0 0 1000 10\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"where the predicted time goes\">");
    out.push_str(&attribution::rectangles(&cell.attribution).0);
    out.push_str("</svg>\n<ul class=\"parts\" id=\"o-parts\">");
    for (class, name, part) in attribution::parts(&cell.attribution) {
        let hidden = if part.is_zero() { " hidden" } else { "" };
        let _ = write!(
            out,
            "<li{hidden}><i class=\"swatch s-{class}\"></i><b>{name}</b> <span>{}</span></li>",
            share(part, cell.attribution.total())
        );
    }
    out.push_str("</ul>\n</div>\n");
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
        text.push_str(" Dashed: without the turns that the findings would remove.");
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
fn by_round_trip(view: &View, out: &mut String) {
    let shown = shown_rtts(view);
    let rate = rate_words(view.rates[view.start.rate]);
    let clients = counted(view.clients[view.start.clients].into(), "client");
    let _ = write!(
        out,
        "<table class=\"stack\">\n<caption>Predicted median by round-trip time, with low and high; rate {rate}, {clients}</caption>\n<thead><tr><th scope=\"col\">operation</th>\
         <th scope=\"col\" class=\"n\">round trips</th><th scope=\"col\" class=\"n\">replayed</th>"
    );
    for place in &shown {
        let _ = write!(
            out,
            "<th scope=\"col\" class=\"n\">{}</th>",
            time(view.rtts[*place])
        );
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for row in &view.rows {
        let first = view.cell(row, 0, view.start.rate, view.start.clients);
        let _ = write!(
            out,
            "<tr><th scope=\"row\">{}</th><td class=\"n\" data-label=\"trips\">{}</td><td class=\"n\" data-label=\"replayed\">{}</td>",
            Escaped(&cut(&row.name, MAX_NAME_LEN)),
            turns_text(first.turns),
            count(first.operations)
        );
        for place in &shown {
            let cell = view.cell(row, *place, view.start.rate, view.start.clients);
            let _ = write!(
                out,
                "<td class=\"n\" data-label=\"{}\">{}<small>{}</small></td>",
                time(cell.rtt),
                time_or_dash(cell.bounded()),
                cell.bounds()
                    .map_or_else(String::new, |[low, high]| range(low, high))
            );
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table>\n");
}

/// A dash for a prediction without bounds.
fn time_or_dash(figure: Option<Duration>) -> String {
    figure.map_or_else(|| "-".to_owned(), time)
}

/// Requested links with bounds. Measured ones have their own table.
fn asked(predictions: &[Prediction], view: Option<&View>, out: &mut String) {
    let rows: Vec<&Prediction> = predictions
        .iter()
        .filter(|prediction| {
            prediction.measured.is_none() && !view.is_some_and(|view| is_shown(view, prediction))
        })
        .collect();
    if rows.is_empty() {
        return;
    }
    out.push_str(
        "<table class=\"stack\">\n<caption>Requested links</caption>\n<thead><tr><th scope=\"col\">operation</th><th scope=\"col\" class=\"n\">rtt</th>\
         <th scope=\"col\" class=\"n\">rate</th><th scope=\"col\" class=\"n\">clients</th><th scope=\"col\" class=\"n\">median</th>\
         <th scope=\"col\" class=\"n\">low</th><th scope=\"col\" class=\"n\">high</th><th scope=\"col\" class=\"n\">per second</th>\
         <th scope=\"col\">bound by</th></tr></thead>\n<tbody>\n",
    );
    for cell in rows.iter().take(SHOWN_ASKED) {
        let _ = writeln!(
            out,
            "<tr><th scope=\"row\">{}</th><td class=\"n\" data-label=\"rtt\">{}</td><td class=\"n\" data-label=\"rate\">{}</td>\
             <td class=\"n\" data-label=\"clients\">{}</td><td class=\"n\" data-label=\"median\"><b>{}</b></td><td class=\"n\" data-label=\"low\">{}</td>\
             <td class=\"n\" data-label=\"high\">{}</td><td class=\"n\" data-label=\"per second\">{}</td><td data-label=\"bound by\">{}</td></tr>",
            Escaped(&cut(&cell.operation_name, MAX_NAME_LEN)),
            time(cell.rtt),
            rate_words(cell.rate),
            count(cell.clients.into()),
            time_or_dash(cell.bounded()),
            time_or_dash(cell.bounds().map(|[low, _]| low)),
            time_or_dash(cell.bounds().map(|[_, high]| high)),
            number(cell.per_second),
            bound_words(cell.bound_by)
        );
    }
    out.push_str("</tbody></table>\n");
    if rows.len() > SHOWN_ASKED {
        let more = rows.len() - SHOWN_ASKED;
        small_print(
            &format!(
                "And {}; --all lists all.",
                counted(more as u64, "more prediction")
            ),
            out,
        );
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
            let _ = write!(text, "The link has {} besides. ", Escaped(&grid.link));
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
