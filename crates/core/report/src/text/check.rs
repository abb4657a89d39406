//! Budgets as text, as annotations of a CI, and as a JUnit report.

mod github;
mod junit;

pub use github::github_view;
pub use junit::junit_view;

use super::escape::{cut, printable};
use super::paragraph::wrapped;
use super::screen::{PAGE, Screen};
use super::style::{Ink, Style};
use super::table::Table;
use super::{DASH, counted, duration_or_dash};
use crate::outcome::CheckReport;
use crate::ranges::between;
use model::{BudgetMeasure, BudgetVerdict, Change, Judgement, PredictedDuration, format_duration};
use std::collections::BTreeSet;

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

/// The answer, then broken budgets with their remedies, those not judged, and changes.
pub fn check_view(report: &CheckReport, style: &Style) -> String {
    let mut screen = Screen::new(style);
    screen.put(&wrapped(&summary(report), "", Ink::Heading, style));
    let unjudged = not_judged(report, style);
    let warned = screen.lines_of_warnings(&report.warnings);
    let after_unjudged = warned + report.changes.len().min(1) * CHANGES_LINES;
    let first_unjudged = unjudged.first().map_or(0, |text| text.lines().count());
    screen.keep(after_unjudged + first_unjudged);
    broken(report, style, &mut screen);
    screen.keep(after_unjudged);
    unjudged
        .iter()
        .for_each(|line| screen.section("all that was not judged", line));
    screen.keep(warned);
    changes(&report.changes, style, &mut screen);
    screen.keep(0);
    screen.warnings(&report.warnings);
    screen.finish(PAGE)
}

/// As many as fit, then as much of their remedies as fits.
fn broken(report: &CheckReport, style: &Style, screen: &mut Screen<'_>) {
    let lines = |text: &str| text.lines().count();
    let all: Vec<(String, String)> = report
        .broken()
        .map(|verdict| broken_budget(verdict, style))
        .collect();
    let left = screen.left();
    let fits = |shown: usize| {
        let others = usize::from(shown < all.len());
        all[..shown].iter().map(|(line, _)| lines(line)).sum::<usize>() + others <= left
    };
    let shown = (1..=all.len())
        .rev()
        .find(|shown| fits(*shown))
        .unwrap_or(all.len().min(1));
    let taken: usize = all[..shown].iter().map(|(line, _)| lines(line)).sum();
    let mut room = left.saturating_sub(taken + 1);
    for (line, remedy) in &all[..shown] {
        screen.put(line);
        if lines(remedy) <= room {
            room -= lines(remedy);
            screen.put(remedy);
        } else {
            screen.omit("all remedies");
        }
    }
    if shown < all.len() {
        let more = counted((all.len() - shown) as u64, "more broken budget");
        screen.put(&wrapped(
            &format!("and {more}: --all lists all"),
            "",
            Ink::Warning,
            style,
        ));
    }
}

/// The budget, and its remedy.
fn broken_budget(verdict: &BudgetVerdict, style: &Style) -> (String, String) {
    let line = format!("{}: {}", verdict.operation_name, sentence(&verdict.measure));
    let remedy = verdict.remedy.as_deref().unwrap_or_default();
    (
        wrapped(&line, "", Ink::Warning, style),
        wrapped(remedy, "    ", Ink::Plain, style),
    )
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
        report.title,
        counted(operations, "operation"),
        counted(report.operations.len() as u64, "name"),
        counted(broken, "budget"),
    )
}

/// One sentence per reason why budgets are not judged, with the names of their operations.
fn not_judged(report: &CheckReport, style: &Style) -> Vec<String> {
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
    let sentence = |(why, budgets, names): (&str, BTreeSet<&str>, BTreeSet<&str>)| {
        let shown: Vec<&str> = names.iter().take(style.rows(SHOWN_UNJUDGED)).copied().collect();
        let more = match names.len() - shown.len() {
            0 => String::new(),
            more => format!(" and {}", counted(more as u64, "more name")),
        };
        let budgets: Vec<&str> = budgets.into_iter().collect();
        let line = format!(
            "not judged: {} of {}{more}: {why}",
            budgets.join(", "),
            shown.join(", "),
        );
        wrapped(&line, "", Ink::Warning, style)
    };
    reasons.into_iter().map(sentence).collect()
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
            match *found {
                Some(PredictedDuration::Bounds { low, high }) => between([low, high].map(format_duration)),
                Some(PredictedDuration::Median { median }) => format_duration(median),
                None => duration_or_dash(None),
            },
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

fn changes(all: &[Change], style: &Style, screen: &mut Screen<'_>) {
    let Some(first) = all.first() else { return };
    let changed: Vec<&Change> = all.iter().filter(|change| !change.is_none()).collect();
    if changed.is_empty() {
        let text = format!(
            "since the baseline: the same round trips and no new finding in {}",
            counted(all.len() as u64, "name")
        );
        screen.put(&wrapped(&text, "", Ink::Plain, style));
        return;
    }
    if all.iter().all(|change| change.turns.contains(&None)) {
        let text = "since the baseline: no operation has a name of before, so none was compared";
        screen.put(&wrapped(text, "", Ink::Warning, style));
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
    for change in &changed {
        table.row([
            change.operation_name.to_string(),
            turns(change.turns[0]),
            turns(change.turns[1]),
            duration_or_dash(change.predicted[0]),
            duration_or_dash(change.predicted[1]),
        ]);
    }
    screen.table("changes", "", &table, "");
    for change in &changed {
        for (kind, fingerprint) in &change.new_findings {
            let of = fingerprint.as_ref().map(|text| format!(" of {text}"));
            let text = format!(
                "new in {}: {kind}{}",
                change.operation_name,
                of.unwrap_or_default()
            );
            screen.section("all new findings", &wrapped(&text, "  ", Ink::Plain, style));
        }
    }
}

const MAX_NAME_LEN: usize = 80;
/// A heading, three rows, and two lines on hidden ones.
const CHANGES_LINES: usize = 6;
