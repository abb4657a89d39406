//! Start and end of the page, with policy, style, title, key figures, grid and script.

use super::Page;
use super::grid::View;
use super::markup::{Escaped, count, counted, cut, per_one, share, time, time_or_dash};
use crate::ranges::server_share;
use crate::text::answer::answer;
use model::{ByteCount, Summary};
use std::fmt::Write;

pub fn begin(page: &Page<'_>, sections: &str, out: &mut String) {
    let summary = &page.outcome.summary;
    head(page.title, &lead(summary), out);
    if let Some(answer) = answer(page.outcome) {
        let _ = writeln!(out, "<p class=\"answer\">{}</p>", Escaped(&answer));
    }
    contents(sections, out);
    if summary.connections > 0 {
        figures(summary, out);
    }
    out.push_str("</header>\n");
}

/// Links to the sections. Empty for a short page.
fn contents(sections: &str, out: &mut String) {
    let headings: Vec<(&str, &str)> = sections
        .split("<h2 id=\"")
        .skip(1)
        .filter_map(|rest| {
            let (id, rest) = rest.split_once("\">")?;
            Some((id, rest.split_once("</h2>")?.0))
        })
        .collect();
    if headings.len() < MIN_LISTED_SECTIONS {
        return;
    }
    out.push_str("<nav class=\"contents\" aria-label=\"sections of this page\">");
    for (id, heading) in headings {
        let _ = write!(out, "<a href=\"#{id}\">{heading}</a> ");
    }
    out.push_str("</nav>\n");
}

const MIN_LISTED_SECTIONS: usize = 3;

/// Policy, style, title and lead sentence; the header element stays open.
pub fn head(title: &str, lead: &str, out: &mut String) {
    let title = cut(title, MAX_TITLE_LEN);
    let title = Escaped(&title);
    let _ = write!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" content=\"no-referrer\">\n\
         <link rel=\"icon\" href=\"data:,\">\n<title>{title} · longwire</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         <main>\n<header>\n<p class=\"brand\">longwire · where the time goes, and what distance costs</p>\n<h1>{title}</h1>\n"
    );
    let _ = writeln!(out, "<p class=\"lead\">{}</p>", Escaped(lead));
}

pub fn end(view: Option<&View>, out: &mut String) {
    out.push_str("</main>\n");
    if let Some(view) = view.filter(|view| view.has_sliders()) {
        let _ = write!(
            out,
            "<script type=\"application/json\" id=\"grid\">{}</script>\n<script>\n{SCRIPT}</script>\n",
            view.json()
        );
    }
    out.push_str("</body>\n</html>\n");
}

fn lead(summary: &Summary) -> String {
    if summary.connections == 0 {
        return "No TCP connection was seen.".to_owned();
    }
    let [to_server, to_client] = summary.payload_bytes.map(ByteCount::from_bytes).into_array();
    format!(
        "{}, {} and {} seen in {}; payload {to_server} to servers, {to_client} to clients{}.",
        counted(summary.connections, "connection"),
        counted(summary.exchanges, "exchange"),
        counted(summary.turns, "round trip"),
        time(summary.duration),
        summary.packets.map_or_else(String::new, |packets| format!(
            ", in {}",
            counted(packets, "packet")
        )),
    )
}

fn figures(summary: &Summary, out: &mut String) {
    let whole = summary.attribution.total();
    let rows = [
        (
            "operations",
            count(summary.operations),
            "units of work that a user waits for".to_owned(),
        ),
        (
            "median duration",
            time_or_dash(summary.spread.p50),
            spread(summary),
        ),
        (
            "turns each",
            per_one(summary.turns, summary.operations),
            "waits for one round trip".to_owned(),
        ),
        (
            "network",
            share(summary.attribution.network(), whole),
            format!(
                "server {}, {}client {}",
                server_share(&summary.attribution, share),
                match summary.attribution.pooler.is_zero() {
                    true => String::new(),
                    false => format!("pooler {}, ", share(summary.attribution.pooler, whole)),
                },
                share(summary.attribution.client, whole)
            ),
        ),
    ];
    out.push_str("<dl class=\"figures\">\n");
    for (name, figure, note) in rows {
        let _ = writeln!(
            out,
            "<div><dt>{name}</dt><dd><b>{figure}</b><small>{note}</small></dd></div>"
        );
    }
    out.push_str("</dl>\n");
}

/// Text next to the median: the 99th percentile, or the extremes if there are too few samples.
fn spread(summary: &Summary) -> String {
    let spread = &summary.spread;
    match (spread.p99, spread.min, spread.max) {
        (Some(p99), ..) => format!("99 in 100 within {}", time(p99)),
        (None, Some(min), Some(max)) if spread.count > 1 => format!("{} to {}", time(min), time(max)),
        _ => "of the only one".to_owned(),
    }
}

/// Blocks the network and allows only the inline style and script.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; \
                      base-uri 'none'; form-action 'none'";
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");
const MAX_TITLE_LEN: usize = 160;
