//! Transactions that stay open between replies, and the effect of distance on them.

use super::markup::{
    self, DASH, cell, count, counted, cut, per_one, share, small_print, statement, table_head, time,
    time_or_dash,
};
use crate::outcome::ReadOutcome;
use crate::ranges::server_share;
use maud::{Markup, html};
use model::{HeldPrediction, HeldTransactions};
use std::sync::Arc;
use std::time::Duration;

pub fn section(outcome: &ReadOutcome) -> Markup {
    if outcome.held.is_empty() {
        return Markup::default();
    }
    let links = links(&outcome.held_predictions);
    let mut headings = ["count", "median", "longest", "rows held", "round trips inside"]
        .map(str::to_owned)
        .to_vec();
    headings.extend(links.iter().map(|(rtt, _)| format!("at {}", time(*rtt))));
    headings.extend(["network", "server", "client"].map(str::to_owned));
    let more = match outcome.held.len().saturating_sub(SHOWN) {
        0 => String::new(),
        left_out => format!(
            "And {}; --json lists all. ",
            counted(left_out as u64, "more name")
        ),
    };
    let content = html! {
        table.stack {
            (table_head("transaction", headings))
            tbody {
                @for one in outcome.held.iter().take(SHOWN) { (row(one, &outcome.held_predictions, &links)) }
            }
        }
        (small_print(format!(
            "{more}Measured at the server, from the request that opens a transaction to the reply that ends it. Rows are held from the \
             first statement that writes or locks. Elsewhere: the predicted median with one client; waits of others for the rows are not \
             in it."
        )))
    };
    markup::section("held", "Transactions held open", content)
}

fn row(one: &HeldTransactions, predictions: &[HeldPrediction], links: &[Link]) -> Markup {
    let parts = &one.attribution;
    let there = |link: &Arc<str>| {
        predictions.iter().find(|prediction| {
            prediction.name == one.name
                && prediction.operation_name == one.operation_name
                && prediction.link == *link
        })
    };
    html! {
        tr {
            th scope="row" {
                (statement(&one.name))
                @if one.name != one.operation_name {
                    " " span.kind { "in " (cut(&one.operation_name, MAX_NAME_LEN)) }
                }
            }
            (cell("count", count(one.count)))
            (cell("median", time(one.median)))
            (cell("longest", time_or_dash(one.spread.max)))
            (cell("rows held", time_or_dash(one.rows_held)))
            (cell("round trips inside", per_one(one.turns, one.count)))
            @for (rtt, link) in links {
                td.n data-label={ "at " (time(*rtt)) } {
                    @match there(link) {
                        Some(there) => b { (time(there.median)) },
                        None => (DASH),
                    }
                }
            }
            (cell("network", share(parts.network(), parts.total())))
            (cell("server", server_share(parts, share)))
            (cell("client", share(parts.client, parts.total())))
        }
    }
}

type Link = (Duration, Arc<str>);

/// The first [`MAX_LINKS`] links with a round-trip time above zero.
fn links(predictions: &[HeldPrediction]) -> Vec<Link> {
    let mut links: Vec<Link> = Vec::new();
    for prediction in predictions.iter().filter(|prediction| !prediction.rtt.is_zero()) {
        let link = (prediction.rtt, Arc::clone(&prediction.link));
        if links.len() < MAX_LINKS && !links.contains(&link) {
            links.push(link);
        }
    }
    links
}

const SHOWN: usize = 12;
const MAX_LINKS: usize = 4;
const MAX_NAME_LEN: usize = 120;
