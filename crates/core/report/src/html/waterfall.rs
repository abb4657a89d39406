//! Dependencies and times of one operation, step by step.

mod moved;
mod rows;

use super::lanes::{Lanes, Strip, nanos};
use super::markup::{self, DASH, count, counted, cut, px, time, time_or_dash};
use super::scale::{axis_title, tick_text, ticks};
use super::{Page, attribution, header, operations};
use crate::text::answer;
use maud::{Markup, html};
use model::{Operation, OperationStep};
use rows::{Waited, WaterfallRow};
use std::time::Duration;

/// Empty without an example that has steps.
pub fn section(page: &Page<'_>) -> Markup {
    let Some(operation) = page.example.filter(|operation| !operation.steps.is_empty()) else {
        return Markup::default();
    };
    let lanes = Lanes::new(operation, &page.outcome.connections);
    let rows = rows::waterfall_rows(operation, SHOWN);
    let shown: usize = rows.iter().map(|row| row.steps.len()).sum();
    let client = operations::client_word(operation.kind);
    let content = html! {
        p { code { (cut(&operation.name, MAX_NAME_LEN)) } }
        (key_figures(page, operation, client))
        div.whole {
            (attribution::bar(&operation.attribution))
            (attribution::labels(&operation.attribution, 1, client))
        }
        @if lanes.count() > 1 || shown < operation.steps.len() { (lanes.draw(operation)) }
        (moved::choice(page, operation))
        (waterfall(operation, &rows, &lanes))
        (moved::data(page, operation, &rows))
        (notes(operation, shown))
    };
    markup::section("one", "One operation, step by step", content)
}

fn key_figures(page: &Page<'_>, operation: &Operation, client: &str) -> Markup {
    let mut groups = page.outcome.operations.iter();
    let group = groups.find(|group| group.name == operation.name && group.kind == operation.kind);
    let which = match group {
        Some(group) if group.count > 1 => {
            format!("the one of {} nearest to their median", count(group.count))
        }
        _ => "the only one of its name".to_owned(),
    };
    let saved = group.and_then(|group| answer::saved(page.outcome, group));
    header::tiles([
        ("response time", time(operation.duration), which),
        (
            "round trips",
            count(u64::from(operation.turns)),
            format!(
                "in {}, on {}",
                counted(operation.steps.len() as u64, "exchange"),
                counted(u64::from(operation.connections), "connection")
            ),
        ),
        header::network_tile(&operation.attribution, client),
        (
            "findings would save",
            time_or_dash(saved.map(|saved| saved.saves)),
            match saved {
                Some(saved) => format!("of {} predicted at {}", time(saved.predicted), time(saved.rtt)),
                None => "no finding with a price".to_owned(),
            },
        ),
    ])
}

fn waterfall(operation: &Operation, rows: &[WaterfallRow<'_>], lanes: &Lanes) -> Markup {
    let shown: usize = rows.iter().map(|row| row.steps.len()).sum();
    // A cut waterfall ends with its last row, so that bars use the full width. Longer bars are cut
    // there.
    let end = if shown < operation.steps.len() {
        rows.last().map_or(0, |row| row.to)
    } else {
        nanos(operation.duration)
    };
    let drawing = Drawing { end: end.max(1) };
    let height = rows.len() * ROW;
    let ticks = ticks(drawing.end as f64, 4.0);
    let left = |tick: f64| format!("left:{:.2}%", tick / drawing.end as f64 * 100.0);
    let steps = counted(shown as u64, "step");
    html! {
        div.waterfall {
            span.axis { "round trip, statement, duration" }
            span #since.axis { (axis_title("time since the operation began", &ticks)) }
            div #ticks.ticks aria-hidden="true" {
                @for tick in &ticks { span style=(left(*tick)) { (tick_text(*tick)) } }
            }
            ol.steps.runs[rows.iter().any(|row| row.turns > 1)] aria-label="steps in the order of their begin" {
                @for row in rows { (label(row, lanes)) }
            }
            svg #plot.plot viewBox={ "0 0 " (WIDTH.to_string()) " " (height) } preserveAspectRatio="none" role="img"
                aria-label={ "Waterfall of " (steps) ": when each was on its way, at the server, or waited for" } {
                @for tick in &ticks {
                    path.rule d={ "M" (px(tick / drawing.end as f64 * WIDTH)) " 0V" (height) } {}
                }
                @for (index, row) in rows.iter().enumerate() {
                    (drawing.waits(index, row))
                    (drawing.bar(index, row))
                }
            }
        }
    }
}

fn label(row: &WaterfallRow<'_>, lanes: &Lanes) -> Markup {
    let numbers = match row.turns {
        0 => "·".to_owned(),
        1 => row.first_turn.to_string(),
        turns => format!("{}–{}", row.first_turn, row.first_turn + turns - 1),
    };
    let lane = lanes.lane_of(&row.steps[0]);
    let statements: Vec<String> = row.steps[..row.period].iter().map(what).collect();
    html! {
        li {
            span.turn { (numbers) }
            @if lanes.count() != 1 { i.tag title=(lanes.name(lane)) { (lane + 1) } }
            @if row.steps.len() != 1 { b.times { (row.steps.len() / row.period) " ×" } }
            @if let Some(error) = &row.steps[0].exchange.error { b.bad { "error " (error) } " " }
            code { (cut(&statements.join("; "), MAX_LABEL_LEN)) }
            span.took { (time(Duration::from_nanos(row.to - row.from))) }
        }
    }
}

fn what(step: &OperationStep) -> String {
    let exchange = &step.exchange;
    match &exchange.fingerprint {
        Some(fingerprint) => cut(fingerprint, MAX_LABEL_LEN),
        None if exchange.is_handshake() => "TCP handshake".to_owned(),
        None => format!("({})", exchange.phase.name()),
    }
}

#[derive(Clone, Copy)]
struct Drawing {
    /// The whole width in nanoseconds.
    end: u64,
}

impl Drawing {
    fn x(&self, at: u64) -> f64 {
        (at as f64 / self.end as f64 * WIDTH).min(WIDTH)
    }

    /// Draws lines from the row that a request waited for, and from the calls that its reply waited
    /// for. Client time is drawn before the bar.
    fn waits(&self, index: usize, row: &WaterfallRow<'_>) -> Markup {
        let middle = |row: usize| row * ROW + ROW / 2;
        let here = middle(index);
        html! {
            @if let Some(Waited { row: before, at }) = row.after {
                path.wait d={ "M" (px(self.x(at))) " " (middle(before)) "V" (here) } {}
                path.client d={ "M" (px(self.x(at))) " " (here) "H" (px(self.x(row.from))) } {}
            }
            @if let Some(Waited { row: calls, at }) = row.reply_after {
                path.wait d={ "M" (px(self.x(at))) " " (middle(calls)) "V" (here) } {}
            }
        }
    }

    fn bar(&self, index: usize, row: &WaterfallRow<'_>) -> Markup {
        let top = index * ROW + (ROW - BAR) / 2;
        let from = self.x(row.from);
        html! {
            g {
                title { (tooltip(row)) }
                // Transparent, over the row, so that hovering anywhere shows the tooltip.
                rect.row y=(index * ROW) width=(WIDTH.to_string()) height=(ROW) {}
                @if row.steps.len() == 1 {
                    @for piece in &row.pieces {
                        @let from = self.x(piece.from);
                        (rectangle(piece.kind.class(), [from, self.x(piece.to) - from], top))
                    }
                } @else {
                    path.client d={ "M" (px(from)) " " (top + BAR / 2) "H" (px(self.x(row.to))) } {}
                    (self.strip(row).draw(WIDTH, top, BAR))
                }
                @if row.pieces.is_empty() { (rectangle("trip", [from, MIN_WIDTH], top)) }
            }
        }
    }

    fn strip(&self, row: &WaterfallRow<'_>) -> Strip {
        let mut strip = Strip::new(self.end);
        row.pieces.iter().for_each(|piece| strip.cover(*piece));
        strip
    }
}

/// From a position, with a width.
fn rectangle(class: &str, [from, width]: [f64; 2], top: usize) -> Markup {
    let width = width.max(MIN_WIDTH);
    html! { rect class={ "p-" (class) } x=(px(from)) y=(top) width=(px(width)) height=(BAR) {} }
}

fn tooltip(row: &WaterfallRow<'_>) -> String {
    let step = &row.steps[0];
    let exchange = &step.exchange;
    let turns = match row.turns {
        0 => "no round trip of its own".to_owned(),
        1 => format!("round trip {}", row.first_turn),
        turns => format!("round trips {} to {}", row.first_turn, row.first_turn + turns - 1),
    };
    let steps = match row.steps.len() {
        1 => format!("step {}", row.first + 1),
        more => format!("steps {} to {}", row.first + 1, row.first + more),
    };
    let after = match step.after {
        Some(after) if step.after_start => format!("after the request of step {}", after + 1),
        Some(after) => format!("after step {}", after + 1),
        None => "with the operation".to_owned(),
    };
    let sum = |of: fn(&OperationStep) -> u64| row.steps.iter().map(of).fold(0, u64::saturating_add);
    let server: Duration = row.steps.iter().map(|step| step.exchange.server()).sum();
    let rows = row
        .steps
        .iter()
        .map(|step| step.exchange.rows)
        .sum::<Option<u64>>();
    let error = exchange
        .error
        .as_ref()
        .map_or_else(String::new, |error| format!("\nerror {error}"));
    format!(
        "{steps}, {turns}: {}\nbegan {after}, client time before it {}\nat {}, took {}, server {}\n{} of request, {} of reply, rows {}{error}",
        what(step),
        time(step.client_before),
        time(Duration::from_nanos(row.from)),
        time(Duration::from_nanos(row.to - row.from)),
        time(server),
        counted(sum(|step| step.exchange.request_bytes), "byte"),
        counted(sum(|step| step.exchange.reply_bytes), "byte"),
        rows.map_or_else(|| DASH.to_owned(), count),
    )
}

fn notes(operation: &Operation, shown: usize) -> Markup {
    let key = [
        ("trip", "on its way"),
        ("server", "server"),
        ("client", "client, before the next request"),
        ("waiting", "waiting for calls of its own, or behind another reply"),
        ("unknown", "unknown"),
    ];
    html! {
        ul.parts.key {
            @for (class, name) in key { li { i class={ "swatch s-" (class) } {} b { (name) } } }
        }
        p.small {
            @if shown < operation.steps.len() {
                "The first " (count(shown as u64)) " of " (count(operation.steps.len() as u64))
                " steps are listed, and bars that last longer end at the edge; the lanes above show all. "
            }
            @if operation.continues { "This operation was too long to hold: only its first part is shown. " }
            (NOTE)
        }
    }
}

const NOTE: &str = "Numbers are round trips; a dot is a step that cost none of its own. A loop of up to four statements, one after \
                    another, is one line. A thin line leads down to a step from the step it waited for. Dependencies are read from \
                    times: two steps that happened to follow each other look dependent. Ends are as the client saw them: half a round \
                    trip is added to the times of the observation point. Very short stretches are drawn wider than they were.";
const SHOWN: usize = 100;
const ROW: usize = 24;
const BAR: usize = 10;
const WIDTH: f64 = 1000.0;
/// Minimum width of a visible bar.
const MIN_WIDTH: f64 = 1.0;
const MAX_NAME_LEN: usize = 160;
const MAX_LABEL_LEN: usize = 160;
