//! Warnings, connections and conditions of the run.

use super::markup::{DASH, cell, count, counted, cut, section, small_print, time_or_dash};
use crate::outcome::ReadOutcome;
use maud::{Markup, html};
use model::{ByteCount, Conditions, ConnectionOutcome, Warning};
use std::cmp::Reverse;

pub fn warnings(warnings: &[Warning]) -> Markup {
    let heading = format!(
        "{} about these figures",
        counted(warnings.len() as u64, "warning")
    );
    html! {
        @if !warnings.is_empty() {
            section.warnings aria-labelledby="h-warnings" {
                h2 #h-warnings { (heading) }
                ul {
                    @for warning in warnings.iter().take(SHOWN_WARNINGS) {
                        li { (cut(&warning.text, MAX_WARNING_LEN)) }
                    }
                }
                @if warnings.len() > SHOWN_WARNINGS {
                    (small_print(format!(
                        "And {} more: the view and --json have all.",
                        warnings.len() - SHOWN_WARNINGS
                    )))
                }
            }
        }
    }
}

pub fn conditions_of_run(conditions: &Conditions) -> Markup {
    let seed = conditions.seed.map(|seed| seed.to_string());
    let rows = [
        ("longwire", Some(conditions.version.as_str())),
        ("command line", Some(conditions.command_line.as_str())),
        ("observation point", Some(conditions.observation_point.as_str())),
        ("clock", Some(conditions.clock.as_str())),
        ("emulated link", conditions.link.as_deref()),
        ("seed", seed.as_deref()),
        ("calibration", conditions.calibration.as_deref()),
        ("host", conditions.host.as_deref()),
        ("kernel", conditions.kernel.as_deref()),
    ];
    let known = rows
        .into_iter()
        .filter_map(|(name, text)| Some((name, text.filter(|text| !text.is_empty())?)));
    let content = html! {
        dl.conditions {
            @for (name, text) in known {
                div { dt { (name) } dd { (cut(text, MAX_CONDITION_LEN)) } }
            }
        }
        (small_print(
            "Statements are shown without their literals. Self-contained: this file makes no network requests. \
             Definitions and caveats of all figures: docs/definitions.md and docs/report.md of longwire."
        ))
    };
    section("conditions", "Conditions", content)
}

pub fn connections(outcome: &ReadOutcome) -> Markup {
    if outcome.connections.is_empty() {
        return Markup::default();
    }
    let mut connections: Vec<&ConnectionOutcome> = outcome.connections.iter().collect();
    connections.sort_by_key(|connection| (Reverse(connection.turns), connection.id));
    let seen = outcome.summary.connections.max(connections.len() as u64);
    let shown = connections.len().min(SHOWN_CONNECTIONS) as u64;
    let left_out = match seen > shown {
        true => format!("The {shown} with most round trips of {}. ", count(seen)),
        false => String::new(),
    };
    let content = html! {
        table.stack {
            thead { tr {
                th scope="col" { "client → server" }
                th scope="col" { "protocol" }
                @for heading in ["round trips", "rtt", "exchanges", "payload", "retransmitted"] {
                    th.n scope="col" { (heading) }
                }
            } }
            tbody { @for connection in connections.iter().take(SHOWN_CONNECTIONS) { (connection_row(connection)) } }
        }
        (small_print(format!(
            "{left_out}The round-trip time is the shortest one seen: the distance, without queues. A dash: not known from the capture."
        )))
    };
    section("connections", "Connections by round trips", content)
}

fn connection_row(connection: &ConnectionOutcome) -> Markup {
    let totals = &connection.totals;
    let [to_server, to_client] = totals.payload_bytes.into_array();
    html! {
        tr {
            th scope="row" { (connection.client.to_string()) " → " (connection.server.to_string()) }
            td data-label="protocol" {
                (connection.decoding.protocol.name())
                @if connection.decoding.encrypted { ", encrypted" }
            }
            (cell("trips", count(connection.turns)))
            (cell("rtt", time_or_dash(connection.rtt)))
            (cell("exchanges", count(connection.exchanges)))
            (cell("payload", ByteCount::from_bytes(to_server.saturating_add(to_client)).to_string()))
            (cell("retransmitted", totals.retransmitted_packets.map_or_else(|| DASH.to_owned(), count)))
        }
    }
}

const SHOWN_WARNINGS: usize = 12;
const MAX_WARNING_LEN: usize = 600;
const MAX_CONDITION_LEN: usize = 600;
const SHOWN_CONNECTIONS: usize = 8;
