//! Dependencies and times of one operation, step by step.

mod moved;
mod rows;

use super::lanes::{Lanes, Strip, nanos};
use super::markup::{DASH, count, counted, cut, time};
use super::old::{Escaped, small_print};
use super::scale::{tick_text, ticks};
use super::{Page, operations};
use model::{Operation, OperationStep};
use rows::{Waited, WaterfallRow};
use std::fmt::Write;
use std::time::Duration;

/// Writes nothing without an example that has steps.
pub fn section(page: &Page<'_>, out: &mut String) {
    let Some(operation) = page.example.filter(|operation| !operation.steps.is_empty()) else {
        return;
    };
    let lanes = Lanes::new(operation, &page.outcome.connections);
    let rows = rows::waterfall_rows(operation, SHOWN);
    let shown: usize = rows.iter().map(|row| row.steps.len()).sum();
    out.push_str("<section aria-labelledby=\"h-one\">\n<h2 id=\"h-one\">One operation, step by step</h2>\n");
    introduction(page, operation, out);
    out.push_str("<div class=\"whole\">");
    super::old::bar(&operation.attribution, out);
    super::old::labels(
        &operation.attribution,
        1,
        operations::client_word(operation.kind),
        out,
    );
    out.push_str("</div>\n");
    if lanes.count() > 1 || shown < operation.steps.len() {
        lanes.draw(operation, out);
    }
    moved::choice(page, operation, out);
    waterfall(operation, &rows, &lanes, out);
    moved::data(page, operation, &rows, out);
    notes(operation, shown, out);
    out.push_str("</section>\n");
}

fn introduction(page: &Page<'_>, operation: &Operation, out: &mut String) {
    let group = page
        .outcome
        .operations
        .iter()
        .find(|group| group.name == operation.name && group.kind == operation.kind);
    let which = match group {
        Some(group) if group.count > 1 => {
            format!(
                "the one of {} whose duration is nearest to their median",
                count(group.count)
            )
        }
        _ => "the only one of its name".to_owned(),
    };
    let _ = writeln!(
        out,
        "<p><code>{}</code>: {which}. {} with {} in {}, on {}.</p>",
        Escaped(&cut(&operation.name, MAX_NAME_LEN)),
        time(operation.duration),
        counted(u64::from(operation.turns), "round trip"),
        counted(operation.steps.len() as u64, "exchange"),
        counted(u64::from(operation.connections), "connection"),
    );
}

fn waterfall(operation: &Operation, rows: &[WaterfallRow<'_>], lanes: &Lanes, out: &mut String) {
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
    out.push_str("<div class=\"waterfall\">\n<div class=\"ticks\" id=\"ticks\" aria-hidden=\"true\">");
    let ticks = ticks(drawing.end as f64, 4.0);
    for tick in &ticks {
        let left = tick / drawing.end as f64 * 100.0;
        let _ = write!(out, "<span style=\"left:{left:.2}%\">{}</span>", tick_text(*tick));
    }
    let runs = if rows.iter().any(|row| row.turns > 1) {
        " runs"
    } else {
        ""
    };
    let _ = writeln!(
        out,
        "</div>\n<ol class=\"steps{runs}\" aria-label=\"steps in the order of their begin\">\n"
    );
    for row in rows {
        label(row, lanes, out);
    }
    let _ = writeln!(
        out,
        "</ol>\n<svg class=\"plot\" id=\"plot\" viewBox=\"0 0 {WIDTH} {height}\" preserveAspectRatio=\"none\" role=\"img\" \
         aria-label=\"Waterfall of {}: when each was on its way, at the server, or waited for\">",
        counted(shown as u64, "step")
    );
    for tick in &ticks {
        let _ = write!(
            out,
            "<path class=\"rule\" d=\"M{:.1} 0V{height}\"/>",
            tick / drawing.end as f64 * WIDTH
        );
    }
    for (index, row) in rows.iter().enumerate() {
        drawing.waits(index, row, out);
        drawing.bar(index, row, out);
    }
    out.push_str("</svg>\n</div>\n");
}

fn label(row: &WaterfallRow<'_>, lanes: &Lanes, out: &mut String) {
    let numbers = match row.turns {
        0 => "·".to_owned(),
        1 => row.first_turn.to_string(),
        turns => format!("{}–{}", row.first_turn, row.first_turn + turns - 1),
    };
    let lane = lanes.lane_of(&row.steps[0]);
    let tag = match lanes.count() {
        1 => String::new(),
        _ => format!(
            "<i class=\"tag\" title=\"{}\">{}</i>",
            Escaped(lanes.name(lane)),
            lane + 1
        ),
    };
    let times = match row.steps.len() {
        1 => String::new(),
        steps => format!("<b class=\"times\">{} ×</b>", steps / row.period),
    };
    let error = match &row.steps[0].exchange.error {
        Some(error) => format!("<b class=\"bad\">error {}</b> ", Escaped(error)),
        None => String::new(),
    };
    let statements: Vec<String> = row.steps[..row.period].iter().map(what).collect();
    let _ = writeln!(
        out,
        "<li><span class=\"turn\">{numbers}</span>{tag}{times}{error}<code>{}</code><span class=\"took\">{}</span></li>",
        Escaped(&cut(&statements.join("; "), MAX_LABEL_LEN)),
        time(Duration::from_nanos(row.to - row.from))
    );
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
    fn waits(&self, index: usize, row: &WaterfallRow<'_>, out: &mut String) {
        let middle = |row: usize| row * ROW + ROW / 2;
        if let Some(Waited { row: before, at }) = row.after {
            let (x, to) = (self.x(at), self.x(row.from));
            let (top, here) = (middle(before), middle(index));
            let _ = write!(
                out,
                "<path class=\"wait\" d=\"M{x:.1} {top}V{here}\"/><path class=\"client\" d=\"M{x:.1} {here}H{to:.1}\"/>"
            );
        }
        if let Some(Waited { row: calls, at }) = row.reply_after {
            let x = self.x(at);
            let _ = write!(
                out,
                "<path class=\"wait\" d=\"M{x:.1} {}V{}\"/>",
                middle(calls),
                middle(index)
            );
        }
    }

    fn bar(&self, index: usize, row: &WaterfallRow<'_>, out: &mut String) {
        let top = index * ROW + (ROW - BAR) / 2;
        // A transparent rectangle over the row, so that hovering anywhere shows the tooltip.
        let _ = write!(
            out,
            "<g><title>{}</title><rect class=\"row\" y=\"{}\" width=\"{WIDTH}\" height=\"{ROW}\"/>",
            Escaped(&tooltip(row)),
            index * ROW
        );
        if row.steps.len() == 1 {
            for piece in &row.pieces {
                let from = self.x(piece.from);
                rectangle(piece.kind.class(), [from, self.x(piece.to) - from], top, out);
            }
        } else {
            let (from, to, middle) = (self.x(row.from), self.x(row.to), top + BAR / 2);
            let _ = write!(out, "<path class=\"client\" d=\"M{from:.1} {middle}H{to:.1}\"/>");
            let mut strip = Strip::new(self.end);
            row.pieces.iter().for_each(|piece| strip.cover(*piece));
            strip.draw(WIDTH, top, BAR, out);
        }
        if row.pieces.is_empty() {
            rectangle("trip", [self.x(row.from), MIN_WIDTH], top, out);
        }
        out.push_str("</g>\n");
    }
}

/// From a position, with a width.
fn rectangle(class: &str, [from, width]: [f64; 2], top: usize, out: &mut String) {
    let width = width.max(MIN_WIDTH);
    let _ = write!(
        out,
        "<rect class=\"p-{class}\" x=\"{from:.1}\" y=\"{top}\" width=\"{width:.1}\" height=\"{BAR}\"/>"
    );
}

fn tooltip(row: &WaterfallRow<'_>) -> String {
    let step = &row.steps[0];
    let exchange = &step.exchange;
    let turns = match row.turns {
        0 => "no turn of its own".to_owned(),
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

fn notes(operation: &Operation, shown: usize, out: &mut String) {
    out.push_str(
        "<ul class=\"parts key\"><li><i class=\"swatch s-trip\"></i><b>on its way</b></li><li><i class=\"swatch s-server\"></i><b>server</b></li>\
         <li><i class=\"swatch s-client\"></i><b>client, before the next request</b></li>\
         <li><i class=\"swatch s-waiting\"></i><b>waiting for calls of its own, or behind another reply</b></li>\
         <li><i class=\"swatch s-unknown\"></i><b>unknown</b></li></ul>\n",
    );
    let mut text = String::new();
    if shown < operation.steps.len() {
        let _ = write!(
            text,
            "The first {} of {} steps are listed, and bars that last longer end at the edge; the lanes above show all. ",
            count(shown as u64),
            count(operation.steps.len() as u64)
        );
    }
    if operation.continues {
        text.push_str("This operation was too long to hold: only its first part is shown. ");
    }
    text.push_str(
        "Numbers are round trips; a dot is a step that cost none of its own. A loop of up to four statements, one after another, is one line. A thin line leads down to a step from the step it waited for. Dependencies are read from times: two steps that happened to follow each other look dependent. Ends are as the client \
         saw them: half a round trip is added to the times of the observation point. Very short stretches are drawn wider than they were.",
    );
    small_print(&text, out);
}

const SHOWN: usize = 100;
const ROW: usize = 24;
const BAR: usize = 10;
const WIDTH: f64 = 1000.0;
/// Minimum width of a visible bar.
const MIN_WIDTH: f64 = 1.0;
const MAX_NAME_LEN: usize = 160;
const MAX_LABEL_LEN: usize = 160;
