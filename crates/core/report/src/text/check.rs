//! Budgets as text, as annotations of a CI, and as a JUnit report.

mod github;
mod junit;

pub use github::github_view;
pub use junit::junit_view;

use super::escape::{cut, printable};
use super::style::{Ink, Style};
use super::table::Table;
use super::{DASH, counted, duration_or_dash};
use crate::outcome::CheckReport;
use model::{BudgetMeasure, BudgetVerdict, Change, Judgement, format_duration};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::time::Duration;

impl CheckReport {
    pub fn broken(&self) -> impl Iterator<Item = &BudgetVerdict> {
        self.verdicts_with(Judgement::Broken)
    }

    pub fn verdicts_with(&self, judgement: Judgement) -> impl Iterator<Item = &BudgetVerdict> {
        self.verdicts
            .iter()
            .filter(move |verdict| verdict.judgement() == judgement)
    }
}

/// One line per broken budget with its remedy below, the changes, and the number of kept budgets.
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
    not_judged(report, style, &mut out);
    changes(&report.changes, style, &mut out);
    for warning in &report.warnings {
        let text = format!("warning: {}", printable(&warning.text));
        let _ = writeln!(out, "{}", style.paint(Ink::Warning, &text));
    }
    let _ = writeln!(out, "{}", style.paint(Ink::Heading, &summary(report)));
    out
}

fn summary(report: &CheckReport) -> String {
    let [broken, kept, unjudged] = [Judgement::Broken, Judgement::Kept, Judgement::NotJudged]
        .map(|one| report.verdicts_with(one).count() as u64);
    let unjudged = match unjudged {
        0 => String::new(),
        unjudged => format!(", {unjudged} not judged"),
    };
    let operations: u64 = report.operations.iter().map(|group| group.count).sum();
    format!(
        "{}: {} of {}; {} broken, {kept} kept{unjudged}",
        printable(&report.title),
        counted(operations, "operation"),
        counted(report.operations.len() as u64, "name"),
        counted(broken, "budget"),
    )
}

/// One line per reason why budgets are not judged, with the names of their operations.
fn not_judged(report: &CheckReport, style: &Style, out: &mut String) {
    let mut reasons: Vec<(&str, BTreeSet<&str>, BTreeSet<&str>)> = Vec::new();
    for verdict in report.verdicts_with(Judgement::NotJudged) {
        let why = why_not_judged(verdict);
        let place = reasons.iter().position(|(known, ..)| *known == why);
        let place = place.unwrap_or_else(|| {
            reasons.push((why, BTreeSet::new(), BTreeSet::new()));
            reasons.len() - 1
        });
        let (_, budgets, names) = &mut reasons[place];
        budgets.insert(verdict.measure.name());
        names.insert(&verdict.operation_name);
    }
    for (why, budgets, names) in reasons {
        let shown: Vec<String> = names
            .iter()
            .take(style.rows(SHOWN_UNJUDGED))
            .map(|name| printable(name).into_owned())
            .collect();
        let more = match names.len() - shown.len() {
            0 => String::new(),
            more => format!(" and {}", counted(more as u64, "more name")),
        };
        let budgets: Vec<&str> = budgets.into_iter().collect();
        let line = format!(
            "not judged: {} of {}{more}: {}",
            budgets.join(", "),
            shown.join(", "),
            printable(why)
        );
        let _ = writeln!(out, "{}", style.paint(Ink::Warning, &line));
    }
}

const SHOWN_UNJUDGED: usize = 5;

/// Names the missing data.
pub(crate) fn why_not_judged(verdict: &BudgetVerdict) -> &str {
    verdict
        .not_judged
        .as_deref()
        .unwrap_or("it could not be predicted")
}

/// Found and allowed values, as in `max-round-trips: 38 turns, allowed are 12`.
fn sentence(measure: &BudgetMeasure) -> String {
    match measure {
        BudgetMeasure::Turns { allowed, found } => {
            format!(
                "max-round-trips: {}, allowed {}",
                counted(*found, "round trip"),
                are(*allowed)
            )
        }
        BudgetMeasure::Predicted { link, allowed, found } => format!(
            "max-predicted: {} at {link}, allowed are {}",
            duration_or_dash(*found),
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
                format!(" by {}", cut(&printable(name), MAX_NAME_LEN))
            });
            format!(
                "max-held: {}{at}{of}, allowed are {}",
                duration_or_dash(*found),
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
                .map(|text| format!(" of {}", printable(super::shown_statement(text))));
            let more = match found.places.saturating_sub(1) {
                0 => String::new(),
                more => format!(", and in {}", counted(more, "other place")),
            };
            format!(
                "forbidden {kind}{}: ran {}, {}{more}",
                of.unwrap_or_default(),
                counted(found.count, "time"),
                counted(found.turns, "round trip")
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
            "since the baseline: the same round trips and no new finding in {}",
            counted(all.len() as u64, "name")
        );
        return;
    }
    let at = format!("at {}", first.link);
    let mut table = Table::new([
        "since the baseline",
        "round trips before",
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

const MAX_NAME_LEN: usize = 80;
const SHOWN: usize = 20;
