//! Warnings, connections and conditions of the run.

use super::markup::{DASH, Escaped, count, counted, cut, small_print, time};
use crate::outcome::ReadOutcome;
use model::{ByteCount, Conditions, ConnectionOutcome, Warning};
use std::cmp::Reverse;
use std::fmt::Write;

pub fn warnings(warnings: &[Warning], out: &mut String) {
    if warnings.is_empty() {
        return;
    }
    out.push_str("<section class=\"warnings\" aria-labelledby=\"h-warnings\">\n");
    let _ = writeln!(
        out,
        "<h2 id=\"h-warnings\">{} about these figures</h2>\n<ul>",
        counted(warnings.len() as u64, "warning")
    );
    for warning in warnings.iter().take(SHOWN_WARNINGS) {
        let text = cut(&warning.text, MAX_WARNING_LEN);
        let _ = writeln!(out, "<li>{}</li>", Escaped(&text));
    }
    out.push_str("</ul>\n");
    if warnings.len() > SHOWN_WARNINGS {
        let more = warnings.len() - SHOWN_WARNINGS;
        small_print(&format!("And {more} more: the view and --json have all."), out);
    }
    out.push_str("</section>\n");
}

pub fn conditions(outcome: &ReadOutcome, out: &mut String) {
    connections(outcome, out);
    conditions_of_run(&outcome.conditions, out);
}

pub fn conditions_of_run(conditions: &Conditions, out: &mut String) {
    out.push_str("<section aria-labelledby=\"h-conditions\">\n<h2 id=\"h-conditions\">Conditions</h2>\n<dl class=\"conditions\">\n");
    let seed = conditions.seed.map(|seed| seed.to_string());
    let rows = [
        ("longwire", Some(conditions.version.as_str())),
        ("command line", Some(conditions.command_line.as_str())),
        ("observation point", Some(conditions.observation_point.as_str())),
        ("clock", Some(conditions.clock.as_str())),
        ("emulated link", conditions.link.as_deref()),
        ("seed", seed.as_deref()),
        ("host", conditions.host.as_deref()),
        ("kernel", conditions.kernel.as_deref()),
    ];
    for (name, text) in rows {
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            let text = cut(text, MAX_CONDITION_LEN);
            let _ = writeln!(out, "<div><dt>{name}</dt><dd>{}</dd></div>", Escaped(&text));
        }
    }
    out.push_str("</dl>\n");
    small_print(
        "Statements are shown without their literals. Self-contained: this file makes no network requests. Definitions and caveats of all figures: docs/definitions.md and docs/report.md of longwire.",
        out,
    );
    out.push_str("</section>\n");
}

fn connections(outcome: &ReadOutcome, out: &mut String) {
    if outcome.connections.is_empty() {
        return;
    }
    let mut connections: Vec<&ConnectionOutcome> = outcome.connections.iter().collect();
    connections.sort_by_key(|connection| (Reverse(connection.turns), connection.id));
    out.push_str(
        "<section aria-labelledby=\"h-connections\">\n<h2 id=\"h-connections\">Connections by round trips</h2>\n\
         <table class=\"stack\">\n<thead><tr><th scope=\"col\">client → server</th><th scope=\"col\">protocol</th>\
         <th scope=\"col\" class=\"n\">round trips</th><th scope=\"col\" class=\"n\">rtt</th>\
         <th scope=\"col\" class=\"n\">exchanges</th><th scope=\"col\" class=\"n\">payload</th>\
         <th scope=\"col\" class=\"n\">retransmitted</th></tr></thead>\n<tbody>\n",
    );
    for connection in connections.iter().take(SHOWN_CONNECTIONS) {
        let [to_server, to_client] = connection.totals.payload_bytes.into_array();
        let encrypted = if connection.decoding.encrypted {
            ", encrypted"
        } else {
            ""
        };
        let _ = writeln!(
            out,
            "<tr><th scope=\"row\">{} → {}</th><td data-label=\"protocol\">{}{encrypted}</td>\
             <td class=\"n\" data-label=\"trips\">{}</td><td class=\"n\" data-label=\"rtt\">{}</td>\
             <td class=\"n\" data-label=\"exchanges\">{}</td><td class=\"n\" data-label=\"payload\">{}</td>\
             <td class=\"n\" data-label=\"retransmitted\">{}</td></tr>",
            connection.client,
            connection.server,
            connection.decoding.protocol.name(),
            count(connection.turns),
            connection.rtt.map_or_else(|| DASH.to_owned(), time),
            count(connection.exchanges),
            ByteCount::from_bytes(to_server.saturating_add(to_client)),
            connection
                .totals
                .retransmitted_packets
                .map_or_else(|| DASH.to_owned(), count),
        );
    }
    out.push_str("</tbody></table>\n");
    let seen = outcome.summary.connections.max(connections.len() as u64);
    let shown = connections.len().min(SHOWN_CONNECTIONS) as u64;
    let left_out = if seen > shown {
        format!("The {shown} with most round trips of {}. ", count(seen))
    } else {
        String::new()
    };
    small_print(
        &format!(
            "{left_out}The round-trip time is the shortest one seen: the distance, without queues. A dash: not known from the capture."
        ),
        out,
    );
    out.push_str("</section>\n");
}

const SHOWN_WARNINGS: usize = 12;
const MAX_WARNING_LEN: usize = 600;
const MAX_CONDITION_LEN: usize = 600;
const SHOWN_CONNECTIONS: usize = 8;
