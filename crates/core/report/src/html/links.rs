//! Emulated links, requested and realised.

use super::markup::{self, DASH, cell, count, cut, small_print, time, time_or_dash};
use super::predicted::rate_words;
use maud::{Markup, html};
use model::{Direction, LinkDirectionOutcome, LinkOutcome, PerDirection};
use std::time::Duration;

pub fn section(links: &[LinkOutcome]) -> Markup {
    if links.is_empty() {
        return Markup::default();
    }
    let more = match links.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!("And {more} more. "),
    };
    let content = html! {
        table.stack {
            thead { tr {
                th scope="col" { "link" }
                @for heading in ["rtt requested", "error, median", "error, p99", "floor"] {
                    th.n scope="col" { (heading) }
                }
                th scope="col" { "direction" }
                @for heading in ["rate requested", "realised", "packets", "dropped"] {
                    th.n scope="col" { (heading) }
                }
            } }
            @for link in links.iter().take(SHOWN) { (rows(link)) }
        }
        (small_print(format!(
            "{more}Error: how much longer a round trip over the link took than requested, from packets that waited for their time. Floor: \
             this machine's own addition to a round trip through a link without delay. Smaller differences cannot be measured. A dash: \
             too few packets, or no limit to reach. Dropped: by a full queue, by the requested random loss, during the requested outage."
        )))
    };
    markup::section("links", "Emulated links, requested and delivered", content)
}

fn rows(link: &LinkOutcome) -> Markup {
    let figures = [
        ("rtt requested", time(link.rtt)),
        ("error, median", signed(link.rtt_error_p50_ns)),
        ("error, p99", signed(link.rtt_error_p99_ns)),
        ("floor", time_or_dash(link.floor)),
    ];
    html! {
        tbody {
            tr {
                th scope="row" rowspan="2" {
                    (cut(&link.name, MAX_NAME_LEN)) " " code { (cut(&link.asked, MAX_NAME_LEN)) }
                }
                @for (label, figure) in figures { td.n rowspan="2" data-label=(label) { (figure) } }
                (direction("to server", &link.directions[Direction::ClientToServer]))
            }
            tr { (direction("to client", &link.directions[Direction::ServerToClient])) }
        }
    }
}

fn direction(name: &str, direction: &LinkDirectionOutcome) -> Markup {
    let dropped = [
        (direction.dropped_by_queue, "queue"),
        (direction.dropped_by_loss, "loss"),
        (direction.dropped_by_outage, "outage"),
    ];
    let causes: Vec<String> = dropped
        .iter()
        .filter(|(packets, _)| *packets > 0)
        .map(|(packets, cause)| format!("{} {cause}", count(*packets)))
        .collect();
    let dropped = match causes.is_empty() {
        true => "0".to_owned(),
        false => causes.join(", "),
    };
    let realised = direction.realised_rate.map(|rate| rate.to_string());
    html! {
        td.way data-label="direction" { (name) }
        (cell("rate requested", rate_words(PerDirection::splat(direction.rate))))
        (cell("realised", realised.unwrap_or_else(|| DASH.to_owned())))
        (cell("packets", count(direction.packets)))
        td.n.wrap data-label="dropped" { (dropped) }
    }
}

fn signed(nanoseconds: Option<i64>) -> String {
    match nanoseconds {
        None => DASH.to_owned(),
        Some(error) => {
            let sign = if error < 0 { "−" } else { "+" };
            format!("{sign}{}", time(Duration::from_nanos(error.unsigned_abs())))
        }
    }
}

const SHOWN: usize = 40;
const MAX_NAME_LEN: usize = 160;
