//! Attribution of operations by name.

use super::attribution::{bar, labels};
use super::markup::{self, cell, count, counted, cut, per_one, share, small_print, time, time_or_dash};
use crate::outcome::ReadOutcome;
use crate::ranges::server_share;
use maud::{Markup, html};
use model::{OperationGroup, OperationKind};
use std::cmp::Reverse;
use std::time::Duration;

pub fn section(outcome: &ReadOutcome) -> Markup {
    let summary = &outcome.summary;
    let whole = summary.attribution.total();
    if summary.operations == 0 || whole.is_zero() {
        return Markup::default();
    }
    let client = client_of_all(&outcome.operations);
    let content = html! {
        p {
            (counted(summary.operations, "operation")) " took " (time(whole))
            " in all. Each instant is counted once, for the part that the operation was waiting for."
        }
        div.whole { (bar(&summary.attribution)) (labels(&summary.attribution, summary.operations, client)) }
        (groups(&outcome.operations))
        (small_print(format!(
            "The time next to each share is the mean of one operation. Network is distance, transfer and recovery together; {} of all was \
             setup (connect, tls, login). Client is everything that was neither network nor server, including parts that longwire did not \
             see. For an http operation it is the application: the web server between its calls. Server includes its network stack and \
             any proxy behind the observation point. Percentiles with too few operations are withheld (p99 needs 1,000).",
            share(summary.setup, whole)
        )))
    };
    markup::section("time", "Where the time went", content)
}

fn groups(groups: &[OperationGroup]) -> Markup {
    let mut sorted: Vec<&OperationGroup> = groups.iter().collect();
    sorted.sort_by_key(|group| Reverse(group.attribution.total()));
    let all: Duration = sorted.iter().map(|group| group.attribution.total()).sum();
    let more = sorted.len().saturating_sub(SHOWN) as u64;
    html! {
        table.stack.barred {
            thead { tr {
                th scope="col" { "operation" }
                @for heading in ["count", "round trips", "median", "p99", "of all time"] {
                    th.n scope="col" { (heading) }
                }
                th.n scope="col" { i.swatch.s-client {} "client" }
                th.n scope="col" { i.swatch.s-server {} "server" }
                th.n scope="col" { i.swatch.s-trip {} "network" }
            } }
            @for group in sorted.iter().take(SHOWN) { (rows(group, all)) }
        }
        @if more > 0 {
            (small_print(format!(
                "And {} with less time; --all lists all.",
                counted(more, "more operation name")
            )))
        }
    }
}

/// The client of an operation's exchanges. For an HTTP request that is the web server: its
/// computing between calls is the application's time, not the browser's.
pub fn client_word(kind: OperationKind) -> &'static str {
    match kind {
        OperationKind::Http => "application",
        OperationKind::Transaction
        | OperationKind::Connection
        | OperationKind::Request
        | OperationKind::Burst
        | OperationKind::Marked
        | OperationKind::Whole => "client",
    }
}

/// The application's name only if no operation has another client.
fn client_of_all(groups: &[OperationGroup]) -> &'static str {
    let mut words = groups.iter().map(|group| client_word(group.kind));
    let first = words.next().unwrap_or("client");
    if words.all(|word| word == first) {
        first
    } else {
        "client"
    }
}

fn rows(group: &OperationGroup, all: Duration) -> Markup {
    let parts = &group.attribution;
    let whole = parts.total();
    let client = client_word(group.kind);
    html! {
        tbody {
            tr {
                th scope="row" { (cut(&group.name, MAX_NAME_LEN)) " " span.kind { (group.kind.name()) } }
                (cell("count", count(group.count)))
                (cell("trips", per_one(group.turns, group.count)))
                (cell("median", time_or_dash(group.spread.p50)))
                (cell("p99", time_or_dash(group.spread.p99)))
                (cell("of all time", share(whole, all)))
                td.n data-label="client" {
                    (share(parts.client, whole))
                    @if client != "client" { small { (client) } }
                }
                (cell("server", server_share(parts, share)))
                (cell("network", share(parts.network(), whole)))
            }
            tr.bars { td colspan="9" { (bar(parts)) } }
        }
    }
}

const SHOWN: usize = 12;
const MAX_NAME_LEN: usize = 200;
