//! Budgets, kept and broken: for a person, for a CI's annotations, for what reads JUnit's reports.

mod github;
mod junit;

pub use github::github_view;
pub use junit::junit_view;

use super::escape::{cut, printable};
use super::style::{Ink, Style};
use super::table::Table;
use super::{DASH, counted, duration_or_dash};
use crate::outcome::CheckReport;
use model::{BudgetMeasure, BudgetVerdict, Change, format_duration};
use std::fmt::Write;
use std::time::Duration;

impl CheckReport {
    /// Budgets that are broken.
    pub fn broken(&self) -> impl Iterator<Item = &BudgetVerdict> {
        self.verdicts.iter().filter(|verdict| !verdict.kept())
    }
}

/// The view: a line a broken budget with what to do below it, what has changed, and how many were kept.
pub fn check_view(report: &CheckReport, style: &Style) -> String {
    let mut out = String::new();
    for verdict in report.broken() {
        let line = format!(
            "{}: {}",
            printable(&verdict.operation_name),
            sentence(&verdict.measure)
        );
        let _ = writeln!(out, "{}", style.paint(Ink::Warning, &line));
        if let Some(remedy) = &verdict.remedy {
            let _ = writeln!(out, "    {}", printable(remedy));
        }
    }
    changes(&report.changes, style, &mut out);
    for warning in &report.warnings {
        let text = format!("warning: {}", printable(&warning.text));
        let _ = writeln!(out, "{}", style.paint(Ink::Warning, &text));
    }
    let _ = writeln!(out, "{}", style.paint(Ink::Heading, &summary(report)));
    out
}

fn summary(report: &CheckReport) -> String {
    let broken = report.broken().count() as u64;
    let kept = report.verdicts.len() as u64 - broken;
    let operations: u64 = report.operations.iter().map(|group| group.count).sum();
    format!(
        "{}: {} of {}; {} broken, {kept} kept",
        printable(&report.title),
        counted(operations, "operation"),
        counted(report.operations.len() as u64, "name"),
        counted(broken, "budget"),
    )
}

/// What was found and what was allowed: `max-turns: 38 turns, allowed are 12`.
fn sentence(measure: &BudgetMeasure) -> String {
    match measure {
        BudgetMeasure::Turns { allowed, found } => {
            format!(
                "max-turns: {}, allowed {}",
                counted(*found, "turn"),
                are(*allowed)
            )
        }
        BudgetMeasure::Predicted { link, allowed, found } => format!(
            "max-predicted: {} at {link}, allowed are {}",
            format_duration(*found),
            format_duration(*allowed)
        ),
        BudgetMeasure::Held {
            link,
            transaction,
            allowed,
            found,
        } => {
            let at = link
                .as_ref()
                .map_or_else(String::new, |link| format!(" at {link}"));
            let of = transaction.as_ref().map_or_else(String::new, |name| {
                format!(" by {}", cut(&printable(name), LONGEST_NAME))
            });
            format!(
                "max-held: {}{at}{of}, allowed are {}",
                format_duration(*found),
                format_duration(*allowed)
            )
        }
        BudgetMeasure::Forbidden { kind, found: None } => format!("forbid: no {kind}"),
        BudgetMeasure::Forbidden {
            kind,
            found: Some(found),
        } => {
            let of = found
                .fingerprint
                .as_ref()
                .map(|text| format!(" of {}", printable(text)));
            let more = match found.places.saturating_sub(1) {
                0 => String::new(),
                more => format!(", and in {}", counted(more, "other place")),
            };
            format!(
                "forbid: {kind}{}, seen {}, {}{more}",
                of.unwrap_or_default(),
                counted(found.count, "time"),
                counted(found.turns, "turn")
            )
        }
    }
}

fn are(turns: u64) -> String {
    match turns {
        1 => "is 1".to_owned(),
        turns => format!("are {turns}"),
    }
}

fn changes(all: &[Change], style: &Style, out: &mut String) {
    let Some(first) = all.first() else { return };
    let changed: Vec<&Change> = all.iter().filter(|change| !change.is_none()).collect();
    if changed.is_empty() {
        let _ = writeln!(
            out,
            "since the baseline: the same turns and no new finding in {}",
            counted(all.len() as u64, "name")
        );
        return;
    }
    let at = format!("at {}", first.link);
    let mut table = Table::new([
        "since the baseline",
        "turns before",
        "now",
        &format!("{at} before"),
        "now",
    ]);
    let turns = |turns: Option<u64>| turns.map_or_else(|| DASH.to_owned(), |turns| turns.to_string());
    let span = |span: Option<Duration>| duration_or_dash(span);
    for change in changed.iter().take(style.rows(SHOWN)) {
        table.row([
            change.operation_name.to_string(),
            turns(change.turns[0]),
            turns(change.turns[1]),
            span(change.predicted[0]),
            span(change.predicted[1]),
        ]);
    }
    table.render(style, out);
    for change in &changed {
        for (kind, fingerprint) in &change.new_findings {
            let of = fingerprint
                .as_ref()
                .map(|text| format!(" of {}", printable(text)));
            let name = printable(&change.operation_name);
            let _ = writeln!(out, "  new in {name}: {kind}{}", of.unwrap_or_default());
        }
    }
    let left_out = changed.len().saturating_sub(style.rows(SHOWN));
    if left_out > 0 {
        let more = format!("and {left_out} more: --all lists all");
        let _ = writeln!(out, "  {}", style.paint(Ink::Faint, &more));
    }
}

/// Columns of a transaction's name.
const LONGEST_NAME: usize = 80;
/// Names whose changes are shown.
const SHOWN: usize = 20;
