//! The view of `demo`.

use super::duration_or_dash;
use super::escape::printable;
use super::link::signed;
use super::prediction::error_text;
use super::style::{Ink, Style};
use super::table::Table;
use crate::outcome::DemoOutcome;
use crate::ranges::{median_or_bounds, server_share};
use model::{OperationGroup, Prediction, Share, format_duration};
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

/// Measurement here, predictions elsewhere, the finding, and the saving of its remedy.
pub fn demo_view(demo: &DemoOutcome, style: &Style) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "A shop's page of {} products, {} times: query by query, then with a join.",
        demo.rows, demo.pages
    );
    heading(&mut out, style, "1. Measured at distance 0");
    measured(demo).render(style, &mut out);
    heading(
        &mut out,
        style,
        "2. Predicted with the database further away, and proved over an emulated link",
    );
    predicted(demo).render(style, &mut out);
    realised(demo, style, &mut out);
    heading(&mut out, style, "3. The finding");
    finding(demo, &mut out);
    heading(&mut out, style, "4. Effect of the remedy");
    remedy(demo, &mut out);
    if let Some(page) = &demo.page {
        let _ = writeln!(
            out,
            "With charts, and sliders for other distances: {}",
            printable(page)
        );
    }
    out.push_str("Your own application: longwire watch postgres://user@host/database -- COMMAND\n");
    out
}

fn heading(out: &mut String, style: &Style, text: &str) {
    let _ = writeln!(out, "{}", style.paint(Ink::Heading, text));
}

fn measured(demo: &DemoOutcome) -> Table {
    let mut table = Table::new(["page", "trips", "median", "network", "server", "client"]);
    for name in [&demo.chatty, &demo.joined] {
        let Some(group) = group(demo, name) else { continue };
        let parts = &group.attribution;
        let of = |part, whole| {
            Share::from_parts(part, whole).map_or_else(|| "-".to_owned(), |share| share.to_string())
        };
        let share = |part| of(part, parts.total());
        let cells = [
            name.to_string(),
            format!("{:.1}", turns(group)),
            duration_or_dash(group.spread.p50),
            share(parts.network()),
            server_share(parts, of),
            share(parts.client),
        ];
        table.row(cells);
    }
    table
}

fn predicted(demo: &DemoOutcome) -> Table {
    let mut table = Table::new(["page", "rtt", "predicted", "measured", "error"]);
    for name in [&demo.chatty, &demo.joined] {
        for prediction in further_away(demo, name) {
            let measured = prediction.measured.as_ref();
            let cells = [
                name.to_string(),
                format_duration(prediction.rtt),
                median_or_bounds(prediction),
                measured.map_or_else(String::new, |measured| format_duration(measured.duration)),
                prediction.error().map_or_else(String::new, error_text),
            ];
            table.row(cells);
        }
    }
    table
}

/// Deviation of the links from the request.
fn realised(demo: &DemoOutcome, style: &Style, out: &mut String) {
    let links = demo.links.iter().filter_map(|link| {
        let longer = signed(link.rtt_error_p50_ns?);
        Some(format!("{longer} at {}", format_duration(link.rtt)))
    });
    let links: Vec<String> = links.collect();
    if !links.is_empty() {
        let text = format!("The link's rtt was off by {}", links.join(", "));
        let _ = writeln!(out, "  {}", style.paint(Ink::Faint, &text));
    }
}

fn finding(demo: &DemoOutcome, out: &mut String) {
    let pages = demo.pages.max(1) as u64;
    for finding in demo.outcome.sure_findings() {
        let Some(fingerprint) = &finding.fingerprint else {
            continue;
        };
        let _ = writeln!(
            out,
            "  {}: this statement runs {} times a page, each time one round trip:\n    {}",
            finding.kind,
            finding.count / pages,
            printable(fingerprint)
        );
    }
    if let Some(group) = group(demo, &demo.chatty) {
        let slope = further_away(demo, &demo.chatty).map(|prediction| prediction.slope);
        let _ = writeln!(
            out,
            "  The page waits {:.0} times for its database: each ms of distance costs it {:.0} ms.",
            turns(group),
            slope.last().unwrap_or(turns(group))
        );
    }
}

fn remedy(demo: &DemoOutcome, out: &mut String) {
    for (before, after) in further_away(demo, &demo.chatty).zip(further_away(demo, &demo.joined)) {
        let (how, before_took, after_took) = match (&before.measured, &after.measured) {
            (Some(before), Some(after)) => ("measured:", before.duration, after.duration),
            _ => ("predicted:", before.duration, after.duration),
        };
        let _ = writeln!(
            out,
            "  at {:>7}, {how:10} {} -> {}, {} less ({:.0} times faster)",
            format_duration(before.rtt),
            format_duration(before_took),
            format_duration(after_took),
            format_duration(before_took.saturating_sub(after_took)),
            before_took.as_secs_f64() / after_took.as_secs_f64().max(f64::MIN_POSITIVE),
        );
    }
}

fn turns(group: &OperationGroup) -> f64 {
    group.turns as f64 / group.count.max(1) as f64
}

fn group<'a>(demo: &'a DemoOutcome, name: &Arc<str>) -> Option<&'a OperationGroup> {
    demo.outcome.operations.iter().find(|group| group.name == *name)
}

fn further_away<'a>(demo: &'a DemoOutcome, name: &'a Arc<str>) -> impl Iterator<Item = &'a Prediction> {
    let is_meant =
        move |prediction: &&Prediction| prediction.operation_name == *name && prediction.rtt > Duration::ZERO;
    demo.outcome.predictions.iter().filter(is_meant)
}
