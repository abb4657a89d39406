//! The story of `demo`.

use super::escape::printable;
use super::style::{Ink, Style};
use super::table::Table;
use super::{ReadOutcome, duration_or_dash};
use model::{OperationGroup, Prediction, Share, format_duration};
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

/// What `demo` has to say.
#[derive(Debug, Clone, PartialEq)]
pub struct DemoOutcome {
    /// Pages of each variant that were measured.
    pub pages: usize,
    /// Products shown on a page.
    pub rows: usize,
    /// Operation name of the page that asks one by one.
    pub chatty: Arc<str>,
    /// Operation name of the page with a join.
    pub joined: Arc<str>,
    /// All that was measured and predicted.
    pub outcome: ReadOutcome,
}

/// Measured here, predicted elsewhere, the finding, and what its remedy gives.
pub fn demo_view(demo: &DemoOutcome, style: &Style) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "A web shop's page of {} products, {} times, with its database on this machine. Then the same page\n\
         with its queries joined. Both through a longwire relay: all of this was seen on the wire.\n",
        demo.rows, demo.pages
    );
    heading(&mut out, style, "1. Measured at distance 0");
    measured(demo).render(style, &mut out);
    heading(
        &mut out,
        style,
        "\n2. Predicted: the same pages, the database further away",
    );
    predicted(demo).render(style, &mut out);
    heading(&mut out, style, "\n3. The finding");
    finding(demo, &mut out);
    heading(&mut out, style, "\n4. What the remedy gives");
    remedy(demo, &mut out);
    out.push_str("\nYour own application: longwire watch postgres://user@host/database -- COMMAND\n");
    out
}

fn heading(out: &mut String, style: &Style, text: &str) {
    let _ = writeln!(out, "{}", style.paint(Ink::Heading, text));
}

fn measured(demo: &DemoOutcome) -> Table {
    let mut table = Table::new(["page", "turns", "median", "network", "server", "client"]);
    for name in [&demo.chatty, &demo.joined] {
        let Some(group) = group(demo, name) else { continue };
        let parts = &group.attribution;
        let share =
            |part| Share::of(part, parts.total()).map_or_else(|| "-".to_owned(), |share| share.to_string());
        let cells = [
            name.to_string(),
            format!("{:.1}", turns(group)),
            duration_or_dash(group.spread.p50),
            share(parts.network()),
            share(parts.server),
            share(parts.client),
        ];
        table.row(cells);
    }
    table
}

fn predicted(demo: &DemoOutcome) -> Table {
    let mut headings = vec!["page, at an rtt of".to_owned()];
    headings.extend(predictions(demo, &demo.chatty).map(|prediction| format_duration(prediction.rtt)));
    let mut table = Table::new(headings);
    for name in [&demo.chatty, &demo.joined] {
        let mut cells = vec![name.to_string()];
        cells.extend(predictions(demo, name).map(|prediction| format_duration(prediction.duration)));
        table.row(cells);
    }
    table
}

fn finding(demo: &DemoOutcome, out: &mut String) {
    let pages = demo.pages.max(1) as u64;
    let repeated = demo
        .outcome
        .statements
        .iter()
        .filter(|statement| statement.calls >= 2 * pages);
    for statement in repeated {
        let _ = writeln!(
            out,
            "  N+1: this statement runs {} times a page, each time one turn:\n    {}",
            statement.calls / pages,
            printable(&statement.fingerprint)
        );
    }
    if let Some(group) = group(demo, &demo.chatty) {
        let _ = writeln!(
            out,
            "  The page waits {:.0} times for its database: each millisecond of distance costs it {:.0} ms.",
            turns(group),
            turns(group)
        );
    }
}

fn remedy(demo: &DemoOutcome, out: &mut String) {
    let pairs = predictions(demo, &demo.chatty).zip(predictions(demo, &demo.joined));
    for (before, after) in pairs.filter(|(before, _)| before.rtt > Duration::ZERO) {
        let _ = writeln!(
            out,
            "  at {:>7}: {} -> {}, {} less ({:.0} times faster)",
            format_duration(before.rtt),
            format_duration(before.duration),
            format_duration(after.duration),
            format_duration(before.duration.saturating_sub(after.duration)),
            before.duration.as_secs_f64() / after.duration.as_secs_f64().max(f64::MIN_POSITIVE),
        );
    }
}

fn turns(group: &OperationGroup) -> f64 {
    group.turns as f64 / group.count.max(1) as f64
}

fn group<'a>(demo: &'a DemoOutcome, name: &Arc<str>) -> Option<&'a OperationGroup> {
    demo.outcome.operations.iter().find(|group| group.name == *name)
}

fn predictions<'a>(demo: &'a DemoOutcome, name: &'a Arc<str>) -> impl Iterator<Item = &'a Prediction> {
    demo.outcome
        .predictions
        .iter()
        .filter(move |prediction| prediction.operation_name == *name)
}
