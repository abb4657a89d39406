//! The frame of all pages, with policy, style and script; the top of the page of `read`.

use super::Page;
use super::grid::View;
use super::markup::{count, counted, cut, data_script, harmless, per_one, share, time, time_or_dash};
use crate::ranges::server_share;
use crate::text::answer::answer;
use crate::text::escape::printable;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use model::{Attribution, ByteCount, Summary};
use std::io;

/// Title, answer, links to the sections, and key figures.
pub fn top(page: &Page<'_>, sections: &[Markup]) -> Markup {
    let summary = &page.outcome.summary;
    html! {
        p.lead { (lead(summary)) }
        @if let Some(answer) = answer(page.outcome) { p.answer { (answer) } }
        (contents(sections))
        @if summary.connections > 0 { (figures(summary)) }
    }
}

/// Links to the sections. Empty for a short page.
fn contents(sections: &[Markup]) -> Markup {
    let headings: Vec<(&str, &str)> = sections
        .iter()
        .flat_map(|section| section.0.split("<h2 id=\"").skip(1))
        .filter_map(|rest| {
            let (id, rest) = rest.split_once("\">")?;
            Some((id, rest.split_once("</h2>")?.0))
        })
        .collect();
    html! {
        @if headings.len() >= MIN_LISTED_SECTIONS {
            nav.contents aria-label="sections of this page" {
                // Markup of the section, already escaped.
                @for (id, heading) in headings { a href={ "#" (id) } { (PreEscaped(heading)) } " " }
            }
        }
    }
}

const MIN_LISTED_SECTIONS: usize = 3;

/// Writes a page of a header and sections, each on a line of its own.
pub fn write(
    out: &mut impl io::Write,
    title: &str,
    header: Markup,
    sections: Vec<Markup>,
    view: Option<&View>,
) -> io::Result<()> {
    let title = cut(title, MAX_TITLE_LEN);
    let title = printable(&title);
    let page = html! {
        (DOCTYPE) "\n"
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="referrer" content="no-referrer";
                link rel="icon" href="data:,";
                title { (title) " · longwire" }
                style { "\n" (PreEscaped(STYLE)) }
            }
            "\n"
            body {
                main {
                    header {
                        p.brand { "longwire · where the time goes, and what distance costs" }
                        h1 { (title) }
                        (harmless(header))
                    }
                    "\n"
                    @for section in sections { (harmless(section)) "\n" }
                }
                @if let Some(view) = view.filter(|view| view.has_sliders()) {
                    (data_script("grid", &view.json()))
                    script { "\n" (PreEscaped(SCRIPT)) }
                }
            }
        }
        "\n"
    };
    out.write_all(page.0.as_bytes())?;
    out.flush()
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

fn figures(summary: &Summary) -> Markup {
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
            "round trips each",
            per_one(summary.turns, summary.operations),
            "waits of the client".to_owned(),
        ),
        network_tile(&summary.attribution, "client"),
    ];
    tiles(rows)
}

/// The network's share, and those of the others. `client` names the client.
pub fn network_tile(parts: &Attribution, client: &str) -> (&'static str, String, String) {
    let whole = parts.total();
    let pooler = match parts.pooler.is_zero() {
        true => String::new(),
        false => format!("pooler {}, ", share(parts.pooler, whole)),
    };
    let server = server_share(parts, share);
    let client = format!("{client} {}", share(parts.client, whole));
    (
        "network",
        share(parts.network(), whole),
        format!("server {server}, {pooler}{client}"),
    )
}

/// Key figures, each with its name and a note.
pub fn tiles(rows: [(&str, String, String); 4]) -> Markup {
    html! {
        dl.figures {
            @for (name, figure, note) in rows {
                div { dt { (name) } dd { b { (figure) } small { (note) } } }
            }
        }
    }
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
