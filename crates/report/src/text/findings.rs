//! Findings: what is wasted, what it costs, and what to do.

use super::answer::before_and_after;
use super::counted;
use super::paragraph::paragraph;
use super::style::{Ink, Style};
use super::table::Table;
use crate::outcome::ReadOutcome;
use model::{Finding, format_duration};
use std::fmt::Write;

/// The findings that cost most at the longest round trip asked, each with its remedy below, and what it makes of an operation where that was
/// predicted. Nothing without findings.
pub fn findings_section(outcome: &ReadOutcome, style: &Style, out: &mut String) {
    let findings = &outcome.findings;
    let Some(first) = findings.first() else { return };
    let mut headings = vec!["findings, by what they cost".to_owned()];
    for saving in &first.savings {
        headings.push(format!("saves at {}", format_duration(saving.rtt)));
    }
    headings.extend(["turns saved".to_owned(), "seen".to_owned()]);
    let mut table = Table::new(headings);
    let shown = &findings[..findings.len().min(style.rows(SHOWN))];
    for finding in shown {
        table.row(cells(finding));
    }
    let mut rendered = String::new();
    table.render_part(findings.len() - shown.len(), style, &mut rendered);
    let mut lines = rendered.lines();
    out.push('\n');
    let _ = writeln!(out, "{}", lines.next().unwrap_or_default());
    // Not the other way round, which would take a line too many.
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
}

fn cells(finding: &Finding) -> Vec<String> {
    let name = match &finding.fingerprint {
        Some(fingerprint) => format!("{}  {}", finding.kind, super::shown_statement(fingerprint)),
        None => format!("{}  in {}", finding.kind, finding.operation_name),
    };
    let mut cells = vec![name];
    cells.extend(finding.savings.iter().map(|saving| match saving.saves.is_zero() {
        true => super::DASH.to_owned(),
        false => format_duration(saving.saves),
    }));
    cells.push(match finding.saves_turns {
        0 => super::DASH.to_owned(),
        saved => format!("{saved} of {}", finding.turns),
    });
    cells.push(format!(
        "{} in {}",
        finding.count,
        counted(finding.operations, "operation")
    ));
    cells
}

const INDENT: &str = "      ";

/// Findings shown: each takes a row and a remedy of a few lines, and with three the first view has about 24 lines.
const SHOWN: usize = 3;
