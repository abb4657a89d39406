//! Transactions that stay open between replies, and the effect of distance on them.

use super::markup::{DASH, count, counted, cut, per_one, time, time_or_dash};
use super::old::{Escaped, share, small_print, statement};
use crate::outcome::ReadOutcome;
use crate::ranges::server_share;
use model::{HeldPrediction, HeldTransactions};
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

pub fn section(outcome: &ReadOutcome, out: &mut String) {
    if outcome.held.is_empty() {
        return;
    }
    let links = links(&outcome.held_predictions);
    out.push_str(
        "<section aria-labelledby=\"h-held\">\n<h2 id=\"h-held\">Transactions held open</h2>\n\
         <table class=\"stack\">\n<thead><tr><th scope=\"col\">transaction</th>",
    );
    let mut headings = ["count", "median", "longest", "rows held", "round trips inside"]
        .map(str::to_owned)
        .to_vec();
    headings.extend(links.iter().map(|(rtt, _)| format!("at {}", time(*rtt))));
    headings.extend(["network", "server", "client"].map(str::to_owned));
    for heading in headings {
        let _ = write!(out, "<th scope=\"col\" class=\"n\">{heading}</th>");
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for one in outcome.held.iter().take(SHOWN) {
        row(one, &outcome.held_predictions, &links, out);
    }
    out.push_str("</tbody></table>\n");
    let more = match outcome.held.len().saturating_sub(SHOWN) {
        0 => String::new(),
        left_out => format!(
            "And {}; --json lists all. ",
            counted(left_out as u64, "more name")
        ),
    };
    small_print(
        &format!(
            "{more}Measured at the server, from the request that opens a transaction to the reply that ends it. Rows are held from the \
             first statement that writes or locks. Elsewhere: the predicted median with one client; waits of others for the rows are not \
             in it."
        ),
        out,
    );
    out.push_str("</section>\n");
}

fn row(one: &HeldTransactions, predictions: &[HeldPrediction], links: &[Link], out: &mut String) {
    out.push_str("<tr><th scope=\"row\">");
    statement(&one.name, out);
    if one.name != one.operation_name {
        let name = cut(&one.operation_name, MAX_NAME_LEN);
        let _ = write!(out, " <span class=\"kind\">in {}</span>", Escaped(&name));
    }
    out.push_str("</th>");
    let mut cell = |label: &str, figure: &str| {
        let _ = write!(out, "<td class=\"n\" data-label=\"{label}\">{figure}</td>");
    };
    cell("count", &count(one.count));
    cell("median", &time(one.median));
    cell("longest", &time_or_dash(one.spread.max));
    cell("rows held", &time_or_dash(one.rows_held));
    cell("round trips inside", &per_one(one.turns, one.count));
    for (rtt, link) in links {
        let there = predictions.iter().find(|prediction| {
            prediction.name == one.name
                && prediction.operation_name == one.operation_name
                && prediction.link == *link
        });
        let figure = there.map_or_else(
            || DASH.to_owned(),
            |there| format!("<b>{}</b>", time(there.median)),
        );
        cell(&format!("at {}", time(*rtt)), &figure);
    }
    let parts = &one.attribution;
    cell("network", &share(parts.network(), parts.total()));
    cell("server", &server_share(parts, share));
    cell("client", &share(parts.client, parts.total()));
    out.push_str("</tr>\n");
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
