//! Findings with their pattern, cost and remedy.

use super::answer::before_and_after;
use super::counted;
use super::paragraph::paragraph;
use super::style::{Ink, Style};
use super::table::Table;
use crate::outcome::ReadOutcome;
use model::{Finding, Share, format_duration};
use std::fmt::Write;

/// The most expensive findings at the longest round-trip time, each with its remedy and the effect
/// on an operation, if predicted.
pub fn findings_section(outcome: &ReadOutcome, style: &Style, out: &mut String) {
    let findings: Vec<&Finding> = outcome.sure_findings().collect();
    let Some(first) = findings.first() else {
        if !outcome.findings.is_empty() {
            out.push('\n');
            doubtful(outcome, style, out);
        }
        return;
    };
    let mut headings = vec!["findings, by cost".to_owned()];
    for saving in &first.savings {
        headings.push(format!("saves at {}", format_duration(saving.rtt)));
    }
    headings.extend(["trips saved".to_owned(), "seen".to_owned()]);
    let mut table = Table::new(headings);
    let shown = &findings[..findings.len().min(style.rows(SHOWN))];
    for finding in shown.iter().copied() {
        table.row(cells(finding));
    }
    let mut rendered = String::new();
    table.render_part(findings.len() - shown.len(), style, &mut rendered);
    let mut lines = rendered.lines();
    out.push('\n');
    let _ = writeln!(out, "{}", lines.next().unwrap_or_default());
    // The other order of the zip would consume a line too many.
    for (finding, line) in shown.iter().zip(lines.by_ref()) {
        let _ = writeln!(out, "{line}");
        let remedy = match before_and_after(outcome, finding) {
            Some(times) => format!("{times} {}", finding.remedy),
            None => finding.remedy.clone(),
        };
        paragraph(&remedy, INDENT, Ink::Faint, style, out);
    }
    lines.for_each(|line| {
        let _ = writeln!(out, "{line}");
    });
    if let Some(words) = guessed_words(shown.iter().copied()) {
        paragraph(&format!("{GUESSED} {words}"), "  ", Ink::Faint, style, out);
    }
    doubtful(outcome, style, out);
}

/// Counts findings that may belong to other operations.
fn doubtful(outcome: &ReadOutcome, style: &Style, out: &mut String) {
    if let Some(words) = doubtful_words(outcome) {
        paragraph(&words, "  ", Ink::Faint, style, out);
    }
}

/// Explains the mark of guessed findings; `None` if there are none.
pub(crate) fn guessed_words<'a>(findings: impl Iterator<Item = &'a Finding>) -> Option<String> {
    let shares: Vec<Option<Share>> = findings
        .filter(|finding| finding.owners.are_guessed())
        .map(|finding| finding.owners.likely_right())
        .collect();
    let least = shares
        .iter()
        .flatten()
        .min_by(|one, other| one.as_fraction().total_cmp(&other.as_fraction()));
    let own = match least {
        _ if shares.is_empty() => return None,
        Some(least) if shares.iter().all(Option::is_some) => {
            format!("about {least} are their own, most likely")
        }
        _ => "the share of their own is not known".to_owned(),
    };
    Some(format!(
        "of operations with round trips assigned by a guess: {own} (docs/findings.md#guessed-requests)."
    ))
}

/// The number of hidden findings and the reason; `None` if there are none.
pub(crate) fn doubtful_words(outcome: &ReadOutcome) -> Option<String> {
    let count = outcome.findings.len() - outcome.sure_findings().count();
    let [they, them] = if count == 1 { ["it"; 2] } else { ["they", "them"] };
    (count > 0).then(|| {
        format!(
            "{} not listed. The round trips are assigned by a guess, and {they} may be made of others' statements \
             (docs/findings.md#guessed-requests). --json has {them} (may_be_others).",
            counted(count as u64, "finding"),
        )
    })
}

/// Marks a finding in operations with guessed round trips.
pub(crate) const GUESSED: &str = "~";

fn cells(finding: &Finding) -> Vec<String> {
    let name = match &finding.fingerprint {
        Some(fingerprint) => format!("{}  {}", finding.kind, super::shown_statement(fingerprint)),
        None => format!("{}  in {}", finding.kind, finding.operation_name),
    };
    let mut cells = vec![match finding.owners.are_guessed() {
        true => format!("{GUESSED} {name}"),
        false => name,
    }];
    cells.extend(finding.savings.iter().map(|saving| match saving.saves.is_zero() {
        true => super::DASH.to_owned(),
        false => format_duration(saving.saves),
    }));
    cells.push(match finding.saves_turns_most {
        0 => super::DASH.to_owned(),
        _ => format!("{} of {}", finding.saves_turns_words(), finding.turns),
    });
    cells.push(format!(
        "{} in {}",
        finding.count,
        counted(finding.operations, "operation")
    ));
    cells
}

const INDENT: &str = "      ";

/// Each takes a row and a remedy of a few lines; with three the first view has about 24 lines.
const SHOWN: usize = 3;
