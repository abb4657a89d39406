//! The first view of `read` and `watch`: one screen of 24 lines, 80 columns wide.
//!
//! The answer, the time in one bar, three findings and predictions, and where more is. Warnings
//! take the lines that are left, remedies those after them.

use super::super::answer::answer;
use super::super::bar::{self, Part};
use super::super::counted;
use super::super::findings::{
    FindingRow, FindingsTable, GUESSED, doubtful_words, findings_table, guessed_words,
};
use super::super::paragraph::paragraph;
use super::super::prediction::{price_table, unmoved_line};
use super::super::screen::LINES;
use super::super::style::{Ink, Style};
use super::{mean, share, summary_line};
use crate::outcome::ReadOutcome;
use crate::ranges::{duration_range, each, server_share};
use model::{Summary, Warning, format_duration};
use std::fmt::Write;

pub(super) fn screen(outcome: &ReadOutcome, style: &Style) -> String {
    let top = top(outcome, style);
    let predictions = predictions(outcome, style);
    let more = more_line(outcome, style);
    let mut findings = findings_table(outcome, style);
    let notes = notes(outcome, findings.as_ref(), style);
    let fixed = [&top, &predictions, &more, &notes];
    let lines = |text: &String| text.lines().count();
    let rows = findings.as_ref().map_or(0, |table| table.rows.len() + 2);
    let fixed = fixed.map(lines).iter().sum::<usize>() + rows;
    let mut left = LINES.saturating_sub(fixed);
    let warnings = warnings(&outcome.warnings, &mut left, style);
    let excess = (fixed + lines(&warnings)).saturating_sub(LINES);
    if let Some(table) = &mut findings {
        table
            .rows
            .truncate(table.rows.len().saturating_sub(excess).max(1));
    }
    let mut out = top;
    if let Some(table) = findings {
        let _ = writeln!(out, "\n{}", table.heading);
        for (row, waiting) in table.rows.iter().zip((1..=table.rows.len()).rev()) {
            let _ = writeln!(out, "{}", row.line);
            let remedy = remedy(row, left.div_ceil(waiting), style);
            left -= remedy.lines().count();
            out += &remedy;
        }
    }
    out + &notes + &predictions + &warnings + &more
}

/// The answer, the amounts, and the time in one bar.
fn top(outcome: &ReadOutcome, style: &Style) -> String {
    let mut out = String::new();
    if let Some(answer) = answer(outcome) {
        paragraph(&answer, "", Ink::Heading, style, &mut out);
        out.push('\n');
    }
    let summary = &outcome.summary;
    let Some(whole) = mean(summary.attribution.total(), summary.operations) else {
        out.push_str(&summary_line(summary));
        return out;
    };
    let mut seen = format!(
        "{}, {}, {}, {}; mean {}",
        counted(summary.operations, "operation"),
        counted(summary.turns, "round trip"),
        counted(summary.connections, "connection"),
        format_duration(summary.duration),
        format_duration(whole),
    );
    for (name, quantile) in [("p50", summary.spread.p50), ("p99", summary.spread.p99)] {
        if let Some(quantile) = quantile {
            let _ = write!(seen, ", {name} {}", format_duration(quantile));
        }
    }
    paragraph(&seen, "", Ink::Heading, style, &mut out);
    bar(summary, style, &mut out);
    out
}

fn bar(summary: &Summary, style: &Style, out: &mut String) {
    let parts = &summary.attribution;
    let shown = [
        (bar::CLIENT, parts.client),
        (bar::SERVER, parts.server),
        (bar::POOLER, parts.pooler),
        (bar::NETWORK, parts.network()),
        (bar::UNKNOWN, parts.unknown),
    ];
    let shown = shown
        .into_iter()
        .filter(|(kind, time)| !time.is_zero() || !matches!(*kind, bar::POOLER | bar::UNKNOWN));
    let shown = shown.map(|(kind, time)| {
        let one = mean(time, summary.operations).unwrap_or_default();
        let [share, one] = match kind {
            bar::SERVER => [
                server_share(parts, share),
                duration_range(one, each(parts.server_margin, summary.operations)),
            ],
            _ => [share(time, parts.total()), format_duration(one)],
        };
        Part::new(kind, time, &format!("{share} ({one})"))
    });
    bar::bar(&shown.collect::<Vec<_>>(), style, out);
}

/// The operations with most time, at each requested distance.
fn predictions(outcome: &ReadOutcome, style: &Style) -> String {
    let mut out = String::new();
    let prices = price_table(&outcome.predictions, style);
    if prices.len() > 0 {
        out.push('\n');
        prices.render(style, &mut out);
    }
    if !outcome.predictions.is_empty() {
        out += &unmoved_line(&outcome.unmoved, style);
    }
    out
}

/// Hidden columns, the meaning of the findings' mark, and the number of those that are not listed.
fn notes(outcome: &ReadOutcome, findings: Option<&FindingsTable<'_>>, style: &Style) -> String {
    let rows = findings.iter().flat_map(|table| &table.rows);
    let mut out = findings.map_or_else(String::new, |table| table.hidden.clone());
    if let Some(words) = guessed_words(rows.map(|row| row.finding)) {
        paragraph(&format!("{GUESSED} {words}"), INDENT, Ink::Faint, style, &mut out);
    }
    if let Some(words) = doubtful_words(outcome) {
        paragraph(&words, INDENT, Ink::Faint, style, &mut out);
    }
    out
}

/// As many sentences of a remedy as fit into `most` lines.
fn remedy(row: &FindingRow<'_>, most: usize, style: &Style) -> String {
    let sentences: Vec<&str> = row.finding.remedy.split_inclusive(". ").collect();
    let mut texts = (1..=sentences.len()).rev().map(|count| {
        let mut text = String::new();
        let first = sentences[..count].concat();
        paragraph(&first, REMEDY_INDENT, Ink::Faint, style, &mut text);
        text
    });
    texts
        .find(|text| text.lines().count() <= most)
        .unwrap_or_default()
}

/// Wrapped, never cut: the first in any case, and others that fit.
pub(in crate::text) fn warnings(warnings: &[Warning], left: &mut usize, style: &Style) -> String {
    let mut out = String::new();
    let mut shown = 0;
    for warning in warnings {
        let mut text = String::new();
        let words = format!("warning: {}", warning.text);
        paragraph(&words, "", Ink::Warning, style, &mut text);
        // The line that counts the others, and an empty one.
        let lines = text.lines().count() + if shown == 0 { 2 } else { 0 };
        if shown > 0 && lines > *left {
            break;
        }
        *left = left.saturating_sub(lines);
        out += &text;
        shown += 1;
    }
    let others = warnings.len() - shown;
    if others > 0 {
        let _ = writeln!(
            out,
            "and {}: --all lists all",
            counted(others as u64, "more warning")
        );
    }
    if out.is_empty() { out } else { format!("\n{out}") }
}

fn more_line(outcome: &ReadOutcome, style: &Style) -> String {
    let findings = match outcome.sure_findings().count() {
        0 => String::new(),
        count => format!("{}, ", counted(count as u64, "finding")),
    };
    let text = format!("--all: {findings}operations, statements, connections; --html FILE: a page");
    let mut out = "\n".to_owned();
    paragraph(&text, "", Ink::Faint, style, &mut out);
    out
}

const INDENT: &str = "  ";
const REMEDY_INDENT: &str = "      ";
