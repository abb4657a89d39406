//! Attribution of operations by name.

use super::markup::{count, counted, cut, per_one, time, time_or_dash};
use super::old::{Escaped, share, small_print};
use crate::outcome::ReadOutcome;
use crate::ranges::server_share;
use model::{OperationGroup, OperationKind};
use std::cmp::Reverse;
use std::fmt::Write;

pub fn section(outcome: &ReadOutcome, out: &mut String) {
    let summary = &outcome.summary;
    if summary.operations == 0 || summary.attribution.total().is_zero() {
        return;
    }
    out.push_str("<section aria-labelledby=\"h-time\">\n<h2 id=\"h-time\">Where the time went</h2>\n");
    let _ = writeln!(
        out,
        "<p>{} took {} in all. Each instant is counted once, for the part that the operation was waiting for.</p>",
        counted(summary.operations, "operation"),
        time(summary.attribution.total())
    );
    out.push_str("<div class=\"whole\">");
    super::old::bar(&summary.attribution, out);
    super::old::labels(
        &summary.attribution,
        summary.operations,
        client_of_all(&outcome.operations),
        out,
    );
    out.push_str("</div>\n");
    groups(&outcome.operations, out);
    small_print(
        &format!(
            "The time next to each share is the mean of one operation. Network is distance, transfer and recovery together; {} of all was \
             setup (connect, tls, login). Client is everything that was neither network nor server, including parts that longwire did not \
             see. For an http operation it is the application: the web server between its calls. Server includes its network stack and \
             any proxy behind the observation point. Percentiles with too few operations are withheld (p99 needs 1,000).",
            share(summary.setup, summary.attribution.total())
        ),
        out,
    );
    out.push_str("</section>\n");
}

fn groups(groups: &[OperationGroup], out: &mut String) {
    let mut sorted: Vec<&OperationGroup> = groups.iter().collect();
    sorted.sort_by_key(|group| Reverse(group.attribution.total()));
    let all: std::time::Duration = sorted.iter().map(|group| group.attribution.total()).sum();
    out.push_str(
        "<table class=\"stack barred\">\n<thead><tr><th scope=\"col\">operation</th><th scope=\"col\" class=\"n\">count</th>\
         <th scope=\"col\" class=\"n\">round trips</th><th scope=\"col\" class=\"n\">median</th><th scope=\"col\" class=\"n\">p99</th>\
         <th scope=\"col\" class=\"n\">of all time</th><th scope=\"col\" class=\"n\"><i class=\"swatch s-client\"></i>client</th>\
         <th scope=\"col\" class=\"n\"><i class=\"swatch s-server\"></i>server</th>\
         <th scope=\"col\" class=\"n\"><i class=\"swatch s-trip\"></i>network</th></tr></thead>\n",
    );
    for group in sorted.iter().take(SHOWN) {
        row(group, all, out);
    }
    out.push_str("</table>\n");
    if sorted.len() > SHOWN {
        let more = counted((sorted.len() - SHOWN) as u64, "more operation name");
        small_print(&format!("And {more} with less time; --all lists all."), out);
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

fn row(group: &OperationGroup, all: std::time::Duration, out: &mut String) {
    let parts = &group.attribution;
    let whole = parts.total();
    let name = cut(&group.name, MAX_NAME_LEN);
    let application = match client_word(group.kind) {
        "client" => String::new(),
        word => format!("<small>{word}</small>"),
    };
    let _ = write!(
        out,
        "<tbody><tr><th scope=\"row\">{} <span class=\"kind\">{}</span></th><td class=\"n\" data-label=\"count\">{}</td>\
         <td class=\"n\" data-label=\"trips\">{}</td><td class=\"n\" data-label=\"median\">{}</td>\
         <td class=\"n\" data-label=\"p99\">{}</td><td class=\"n\" data-label=\"of all time\">{}</td>\
         <td class=\"n\" data-label=\"client\">{}{application}</td><td class=\"n\" data-label=\"server\">{}</td>\
         <td class=\"n\" data-label=\"network\">{}</td></tr>\n<tr class=\"bars\"><td colspan=\"9\">",
        Escaped(&name),
        group.kind.name(),
        count(group.count),
        per_one(group.turns, group.count),
        time_or_dash(group.spread.p50),
        time_or_dash(group.spread.p99),
        share(whole, all),
        share(parts.client, whole),
        server_share(parts, share),
        share(parts.network(), whole),
    );
    super::old::bar(parts, out);
    out.push_str("</td></tr></tbody>\n");
}

const SHOWN: usize = 12;
const MAX_NAME_LEN: usize = 200;
