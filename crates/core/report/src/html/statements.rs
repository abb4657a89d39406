//! Statements with most round trips.

use super::markup::{
    self, DASH, cell, count, counted, px, share, small_print, statement, table_head, time, time_or_dash,
};
use crate::ranges::share_range;
use maud::{Markup, html};
use model::{ByteCount, StatementOutcome};
use std::cmp::Reverse;

pub fn section(statements: &[StatementOutcome]) -> Markup {
    let mut sorted: Vec<&StatementOutcome> = statements.iter().collect();
    sorted.sort_by_key(|statement| Reverse((statement.turns, statement.total)));
    let Some(most) = sorted.first().map(|statement| statement.turns) else {
        return Markup::default();
    };
    let more = match sorted.len().saturating_sub(SHOWN) as u64 {
        0 => String::new(),
        left_out => format!(
            "And {} with fewer round trips; --all lists all. ",
            counted(left_out, "more statement")
        ),
    };
    let content = html! {
        p { "A round trip is one wait for the server, which distance lengthens by the round-trip time." }
        table.stack.barred {
            (table_head("statement", HEADINGS))
            @for statement in sorted.iter().take(SHOWN) { (rows(statement, most)) }
        }
        (small_print(format!(
            "{more}The line under a statement is as long as its share of the most frequent one's round trips. Literals are replaced by ?. A \
             batch sent without waiting is one round trip for all its statements and is listed with its first. Time is the sum of the \
             client's waits; statements that ran side by side count twice."
        )))
    };
    markup::section("statements", "Statements by round trips", content)
}

fn rows(outcome: &StatementOutcome, most: u64) -> Markup {
    let bytes = outcome.request_bytes.saturating_add(outcome.reply_bytes);
    let server = share_range(outcome.server, outcome.server_margin, outcome.total, share);
    html! {
        tbody {
            tr {
                th scope="row" {
                    (statement(&outcome.fingerprint))
                    @if outcome.errors > 0 { " " span.kind.bad { (counted(outcome.errors, "error")) } }
                }
                td.n data-label="trips" { b { (count(outcome.turns)) } }
                (cell("calls", count(outcome.calls)))
                (cell("time", time(outcome.total)))
                (cell("network", share(outcome.network, outcome.total)))
                (cell("server", server))
                (cell("median", time_or_dash(outcome.spread.p50)))
                (cell("rows", outcome.rows.map_or_else(|| DASH.to_owned(), count)))
                (cell("payload", ByteCount::from_bytes(bytes).to_string()))
            }
            tr.bars { td colspan="9" {
                svg.bar.thin viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true" {
                    rect.p-trip width=(px(outcome.turns as f64 / most.max(1) as f64 * 1000.0)) height="10" {}
                }
            } }
        }
    }
}

const HEADINGS: [&str; 8] = [
    "round trips",
    "calls",
    "time",
    "network",
    "server",
    "median",
    "rows",
    "payload",
];
const SHOWN: usize = 20;
