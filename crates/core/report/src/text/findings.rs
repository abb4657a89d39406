//! Findings with their pattern, cost and remedy.

use super::answer::before_and_after;
use super::counted;
use super::paragraph::paragraph;
use super::style::{Extent, Ink, Style};
use super::table::{RenderedTable, Table};
use crate::outcome::ReadOutcome;
use model::{Finding, FindingKind, Fingerprint, Share, format_duration};
use std::fmt::Write;

pub(super) struct FindingsTable<'a> {
    pub(super) heading: String,
    pub(super) rows: Vec<FindingRow<'a>>,
    /// Names hidden columns; may be empty.
    pub(super) hidden: String,
}

pub(super) struct FindingRow<'a> {
    pub(super) finding: &'a Finding,
    pub(super) line: String,
}

/// The most expensive findings at the longest round-trip time as a table; `None` without findings.
pub(super) fn findings_table<'a>(outcome: &'a ReadOutcome, style: &Style) -> Option<FindingsTable<'a>> {
    let mut findings: Vec<&Finding> = outcome.sure_findings().collect();
    let first = findings.first()?;
    let mut headings = vec!["findings, by cost".to_owned()];
    for saving in &first.savings {
        headings.push(format!("saves at {}", format_duration(saving.rtt)));
    }
    headings.push("trips saved".to_owned());
    headings.extend((style.extent == Extent::All).then(|| "seen".to_owned()));
    let columns = headings.len();
    let mut table = Table::new(headings);
    findings.truncate(style.rows(SHOWN));
    for finding in &findings {
        let mut cells = cells(finding);
        cells.truncate(columns);
        table.row(cells);
    }
    let RenderedTable { heading, rows, below } = table.rendered(findings.len(), style);
    let rows = findings.into_iter().zip(rows);
    Some(FindingsTable {
        heading,
        rows: rows.map(|(finding, line)| FindingRow { finding, line }).collect(),
        hidden: below,
    })
}

/// All findings, each with its remedy and the effect on an operation, if predicted.
pub fn findings_section(outcome: &ReadOutcome, style: &Style, out: &mut String) {
    let Some(table) = findings_table(outcome, style) else {
        if !outcome.findings.is_empty() {
            out.push('\n');
            doubtful(outcome, style, out);
        }
        return;
    };
    let _ = writeln!(out, "\n{}", table.heading);
    for FindingRow { finding, line } in &table.rows {
        let _ = writeln!(out, "{line}");
        let remedy = match before_and_after(outcome, finding) {
            Some(times) => format!("{times} {}", finding.remedy),
            None => finding.remedy.clone(),
        };
        paragraph(&remedy, INDENT, Ink::Faint, style, out);
    }
    out.push_str(&table.hidden);
    if let Some(words) = guessed_words(table.rows.iter().map(|row| row.finding)) {
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
    let name = finding_name(
        finding.kind,
        finding.fingerprint.as_ref(),
        &finding.operation_name,
    );
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

pub(super) fn finding_name(kind: FindingKind, fingerprint: Option<&Fingerprint>, operation: &str) -> String {
    match fingerprint {
        Some(fingerprint) => format!("{kind}  {}", super::shown_statement(fingerprint)),
        None => format!("{kind}  in {operation}"),
    }
}

const INDENT: &str = "      ";

/// In the first view.
const SHOWN: usize = 3;
