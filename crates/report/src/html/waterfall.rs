//! One operation, step by step: who waited for whom.

use super::lanes::{Lanes, Timed, nanos, timed};
use super::markup::{DASH, Escaped, count, counted, cut, small_print, time};
use super::scale::{tick_text, ticks};
use super::{Page, attribution};
use model::{Operation, OperationStep};
use std::fmt::Write;
use std::time::Duration;

/// The section; nothing without an example, or for one without steps.
pub fn section(page: &Page<'_>, out: &mut String) {
    let Some(operation) = page.example.filter(|operation| !operation.steps.is_empty()) else {
        return;
    };
    let lanes = Lanes::new(operation, &page.outcome.connections);
    let shown = &operation.steps[..operation.steps.len().min(SHOWN)];
    out.push_str("<section aria-labelledby=\"h-one\">\n<h2 id=\"h-one\">One operation, step by step</h2>\n");
    introduction(page, operation, out);
    out.push_str("<div class=\"whole\">");
    attribution::bar(&operation.attribution, out);
    attribution::labels(&operation.attribution, 1, out);
    out.push_str("</div>\n");
    if lanes.count() > 1 || shown.len() < operation.steps.len() {
        lanes.draw(operation, out);
    }
    rows(operation, shown, &lanes, out);
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
        Escaped(&cut(&operation.name, LONGEST_NAME)),
        time(operation.duration),
        counted(u64::from(operation.turns), "turn"),
        counted(operation.steps.len() as u64, "exchange"),
        counted(u64::from(operation.connections), "connection"),
    );
}

fn rows(operation: &Operation, shown: &[OperationStep], lanes: &Lanes, out: &mut String) {
    let times: Vec<Timed> = shown.iter().map(|step| timed(operation, step)).collect();
    // A cut waterfall ends with its last step, so that its bars have the whole width.
    let end = if shown.len() < operation.steps.len() {
        times.iter().map(|timed| timed.to).max().unwrap_or_default()
    } else {
        nanos(operation.duration)
    };
    let end = end.max(1);
    out.push_str("<div class=\"waterfall\" role=\"group\" aria-label=\"steps in the order of their begin\">\n<div class=\"ticks\" aria-hidden=\"true\">");
    for tick in ticks(end as f64, 4.0) {
        let _ = write!(
            out,
            "<span style=\"left:{:.2}%\">{}</span>",
            tick / end as f64 * 100.0,
            tick_text(tick)
        );
    }
    out.push_str("</div>\n<ol class=\"steps\">\n");
    let mut turns = 0;
    for (step, timed) in shown.iter().zip(&times) {
        label(step, timed, &mut turns, lanes, out);
    }
    out.push_str("</ol>\n");
    let height = shown.len() * ROW;
    let _ = writeln!(
        out,
        "<svg class=\"plot\" viewBox=\"0 0 {WIDTH} {height}\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"Waterfall of {}\">",
        counted(shown.len() as u64, "step")
    );
    for tick in ticks(end as f64, 4.0) {
        let x = tick / end as f64 * WIDTH;
        let _ = write!(out, "<path class=\"rule\" d=\"M{x:.1} 0V{height}\"/>");
    }
    let drawing = Drawing {
        end: end as f64,
        times: &times,
        height,
    };
    let mut turns = 0;
    for (index, step) in shown.iter().enumerate() {
        turns += step.exchange.turns;
        drawing.dependency(index, step, out);
        drawing.bar(index, step, turns, out);
    }
    out.push_str("</svg>\n</div>\n");
}

fn label(step: &OperationStep, timed: &Timed, turns: &mut u32, lanes: &Lanes, out: &mut String) {
    let first = *turns + 1;
    *turns += step.exchange.turns;
    let numbers = match step.exchange.turns {
        0 => "·".to_owned(),
        1 => first.to_string(),
        _ => format!("{first}–{turns}"),
    };
    let tag = if lanes.count() > 1 {
        let lane = lanes.of(step);
        format!(
            "<i class=\"tag\" title=\"{}\">{}</i>",
            Escaped(lanes.name(lane)),
            lane + 1
        )
    } else {
        String::new()
    };
    let _ = writeln!(
        out,
        "<li><span class=\"turn\">{numbers}</span>{tag}<code>{}</code><span class=\"took\">{}</span></li>",
        Escaped(&what(step)),
        time(Duration::from_nanos(timed.to - timed.from))
    );
}

/// What a step did: its statement, else its phase.
fn what(step: &OperationStep) -> String {
    let exchange = &step.exchange;
    match &exchange.fingerprint {
        Some(fingerprint) => cut(fingerprint, LONGEST_LABEL),
        None if exchange.is_handshake() => "TCP handshake".to_owned(),
        None => format!("({})", exchange.phase.name()),
    }
}

/// The drawing beside the labels.
struct Drawing<'a> {
    end: f64,
    times: &'a [Timed],
    height: usize,
}

impl Drawing<'_> {
    fn x(&self, at: u64) -> f64 {
        (at as f64 / self.end * WIDTH).min(WIDTH)
    }

    /// From the end (or request) of what a step waited for, down to its own begin: along it, client time.
    fn dependency(&self, index: usize, step: &OperationStep, out: &mut String) {
        let middle = |row: usize| row * ROW + ROW / 2;
        if let Some(after) = step
            .after
            .map(|after| after as usize)
            .filter(|after| *after < index)
        {
            let before = &self.times[after];
            let same_lane =
                step.after_start && before.arrived != before.to && self.times[index].from < before.arrived;
            let from = match (step.after_start, same_lane) {
                (false, _) => before.to,
                (true, true) => before.sent,
                (true, false) => before.arrived,
            };
            let (x, to) = (self.x(from), self.x(self.times[index].from));
            let _ = write!(
                out,
                "<path class=\"wait\" d=\"M{x:.1} {}V{}\"/><path class=\"client\" d=\"M{x:.1} {}H{to:.1}\"/>",
                middle(after),
                middle(index),
                middle(index)
            );
        }
        if let Some(calls) = step
            .reply_after
            .map(|calls| calls as usize)
            .filter(|calls| *calls > index)
        {
            let (x, bottom) = match self.times.get(calls) {
                Some(last) => (self.x(last.to), middle(calls)),
                None => return,
            };
            let _ = write!(
                out,
                "<path class=\"wait\" d=\"M{x:.1} {}V{}\"/>",
                bottom.min(self.height),
                middle(index)
            );
        }
    }

    fn bar(&self, index: usize, step: &OperationStep, turns: u32, out: &mut String) {
        let timed = &self.times[index];
        let _ = write!(
            out,
            "<g><title>{}</title>",
            Escaped(&self.tooltip(index, step, turns))
        );
        let top = index * ROW + (ROW - BAR) / 2;
        // A transparent rectangle over the whole row, so that pointing at it shows the words.
        let _ = write!(
            out,
            "<rect class=\"row\" y=\"{}\" width=\"{WIDTH}\" height=\"{ROW}\"/>",
            index * ROW
        );
        if timed.pieces.is_empty() {
            let _ = write!(
                out,
                "<rect class=\"p-trip\" x=\"{:.1}\" y=\"{top}\" width=\"1.5\" height=\"{BAR}\"/>",
                self.x(timed.from)
            );
        }
        for piece in &timed.pieces {
            let (from, to) = (self.x(piece.from), self.x(piece.to));
            let _ = write!(
                out,
                "<rect class=\"p-{}\" x=\"{from:.1}\" y=\"{top}\" width=\"{:.1}\" height=\"{BAR}\"/>",
                piece.kind.class(),
                (to - from).max(0.8)
            );
        }
        out.push_str("</g>\n");
    }

    fn tooltip(&self, index: usize, step: &OperationStep, turns: u32) -> String {
        let timed = &self.times[index];
        let exchange = &step.exchange;
        let turn = match exchange.turns {
            0 => "no turn of its own".to_owned(),
            1 => format!("turn {turns}"),
            more => format!("turns {} to {turns}", turns - more + 1),
        };
        let after = match step.after {
            Some(after) if step.after_start => format!("began after the request of step {}", after + 1),
            Some(after) => format!("began after step {}", after + 1),
            None => "began with the operation".to_owned(),
        };
        let error = exchange
            .error
            .as_ref()
            .map_or_else(String::new, |error| format!("\nerror {error}"));
        format!(
            "step {}, {turn}: {}\n{after}, client time before it {}\nat {}, took {}, server {}\n{} of request, {} of reply, rows {}{error}",
            index + 1,
            what(step),
            time(step.client_before),
            time(Duration::from_nanos(timed.from)),
            time(Duration::from_nanos(timed.to - timed.from)),
            time(exchange.server()),
            counted(exchange.request_bytes, "byte"),
            counted(exchange.reply_bytes, "byte"),
            exchange.rows.map_or_else(|| DASH.to_owned(), count),
        )
    }
}

fn notes(operation: &Operation, shown: &[OperationStep], out: &mut String) {
    out.push_str(
        "<ul class=\"parts key\"><li><i class=\"swatch s-trip\"></i><b>on its way</b></li><li><i class=\"swatch s-server\"></i><b>server</b></li>\
         <li><i class=\"swatch s-client\"></i><b>client, before the next request</b></li>\
         <li><i class=\"swatch s-waiting\"></i><b>waiting for calls of its own, or behind another reply</b></li>\
         <li><i class=\"swatch s-unknown\"></i><b>unknown</b></li></ul>\n",
    );
    let mut text = String::new();
    if shown.len() < operation.steps.len() {
        let _ = write!(
            text,
            "The first {} of {} exchanges are listed; the lanes above show all. ",
            count(shown.len() as u64),
            count(operation.steps.len() as u64)
        );
    }
    if operation.continues {
        text.push_str("This operation was too long to hold: what is shown is its first part. ");
    }
    text.push_str(
        "Numbers are turns; a dot is an exchange that cost none of its own. A thin line leads from what a step waited for down to the step. \
         What waited for what is told by time: two steps that followed each other without need look dependent. Ends are as the client \
         saw them: half a round trip is added to the times of the observation point. Very short stretches are drawn wider than they were.",
    );
    small_print(&text, out);
}

const SHOWN: usize = 120;
const ROW: usize = 24;
const BAR: usize = 10;
const WIDTH: f64 = 1000.0;
const LONGEST_NAME: usize = 160;
const LONGEST_LABEL: usize = 160;
