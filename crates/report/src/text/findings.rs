//! Findings: what is wasted, what it costs, and what to do.

use super::counted;
use super::paragraph::paragraph;
use super::style::{Ink, Style};
use super::table::Table;
use model::{Finding, format_duration};
use std::fmt::Write;

/// The findings that cost most at the longest round trip asked, each with its remedy below. Nothing without findings.
pub fn findings_section(findings: &[Finding], style: &Style, out: &mut String) {
    let Some(first) = findings.first() else { return };
    let mut headings = vec!["findings, by what they cost".to_owned()];
    for saving in &first.savings {
        headings.push(format!("saves at {}", format_duration(saving.rtt)));
    }
    headings.extend(["turns saved".to_owned(), "seen".to_owned()]);
    let mut table = Table::new(headings);
    for finding in findings.iter().take(style.rows(SHOWN)) {
        table.row(cells(finding));
    }
    let mut rendered = String::new();
    table.render(style, &mut rendered);
    let mut lines = rendered.lines();
    out.push('\n');
    let _ = writeln!(out, "{}", lines.next().unwrap_or_default());
    for (line, finding) in lines.zip(findings) {
        let _ = writeln!(out, "{line}");
        paragraph(&finding.remedy, INDENT, Ink::Faint, style, out);
    }
    let left_out = findings.len().saturating_sub(style.rows(SHOWN));
    if left_out > 0 {
        let more = format!("and {left_out} more: --all lists all");
        let _ = writeln!(out, "  {}", style.paint(Ink::Faint, &more));
    }
}

fn cells(finding: &Finding) -> Vec<String> {
    let name = match &finding.fingerprint {
        Some(fingerprint) => format!("{}  {fingerprint}", finding.kind),
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

/// Findings shown: each takes a row and a remedy of a few lines.
const SHOWN: usize = 5;
