//! Statements with most round trips.

use super::markup::{DASH, count, counted, time, time_or_dash};
use super::old::{share, small_print, statement};
use crate::ranges::share_range;
use model::{ByteCount, StatementOutcome};
use std::cmp::Reverse;
use std::fmt::Write;

pub fn section(statements: &[StatementOutcome], out: &mut String) {
    if statements.is_empty() {
        return;
    }
    let mut sorted: Vec<&StatementOutcome> = statements.iter().collect();
    sorted.sort_by_key(|statement| Reverse((statement.turns, statement.total)));
    let most = sorted.first().map_or(0, |statement| statement.turns);
    out.push_str(
        "<section aria-labelledby=\"h-statements\">\n<h2 id=\"h-statements\">Statements by round trips</h2>\n\
         <p>A round trip is one wait for the server, which distance lengthens by the round-trip time.</p>\n<table class=\"stack barred\">\n\
         <thead><tr><th scope=\"col\">statement</th><th scope=\"col\" class=\"n\">round trips</th><th scope=\"col\" class=\"n\">calls</th>\
         <th scope=\"col\" class=\"n\">time</th><th scope=\"col\" class=\"n\">network</th><th scope=\"col\" class=\"n\">server</th>\
         <th scope=\"col\" class=\"n\">median</th><th scope=\"col\" class=\"n\">rows</th><th scope=\"col\" class=\"n\">payload</th>\
         </tr></thead>\n",
    );
    for statement in sorted.iter().take(SHOWN) {
        row(statement, most, out);
    }
    out.push_str("</table>\n");
    let left_out = sorted.len().saturating_sub(SHOWN) as u64;
    let more = if left_out > 0 {
        format!(
            "And {} with fewer round trips; --all lists all. ",
            counted(left_out, "more statement")
        )
    } else {
        String::new()
    };
    small_print(
        &format!(
            "{more}The line under a statement is as long as its share of the most frequent one's round trips. Literals are replaced by ?. A \
             batch sent without waiting is one round trip for all its statements and is listed with its first. Time is the sum of the \
             client's waits; statements that ran side by side count twice."
        ),
        out,
    );
    out.push_str("</section>\n");
}

fn row(outcome: &StatementOutcome, most: u64, out: &mut String) {
    let bytes = outcome.request_bytes.saturating_add(outcome.reply_bytes);
    out.push_str("<tbody><tr><th scope=\"row\">");
    statement(&outcome.fingerprint, out);
    if outcome.errors > 0 {
        let _ = write!(
            out,
            " <span class=\"kind bad\">{}</span>",
            counted(outcome.errors, "error")
        );
    }
    let _ = write!(
        out,
        "</th><td class=\"n\" data-label=\"trips\"><b>{}</b></td><td class=\"n\" data-label=\"calls\">{}</td>\
         <td class=\"n\" data-label=\"time\">{}</td><td class=\"n\" data-label=\"network\">{}</td>\
         <td class=\"n\" data-label=\"server\">{}</td><td class=\"n\" data-label=\"median\">{}</td>\
         <td class=\"n\" data-label=\"rows\">{}</td><td class=\"n\" data-label=\"payload\">{}</td></tr>\n\
         <tr class=\"bars\"><td colspan=\"9\"><svg class=\"bar thin\" viewBox=\"0 0 1000 10\" preserveAspectRatio=\"none\" \
         aria-hidden=\"true\"><rect class=\"p-trip\" width=\"{:.1}\" height=\"10\"/></svg></td></tr></tbody>\n",
        count(outcome.turns),
        count(outcome.calls),
        time(outcome.total),
        share(outcome.network, outcome.total),
        share_range(outcome.server, outcome.server_margin, outcome.total, share),
        time_or_dash(outcome.spread.p50),
        outcome.rows.map_or_else(|| DASH.to_owned(), count),
        ByteCount::from_bytes(bytes),
        outcome.turns as f64 / most.max(1) as f64 * 1000.0,
    );
}

const SHOWN: usize = 20;
