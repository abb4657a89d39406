//! Broken budgets as annotations of GitHub's workflows (`::error title=...::...`).

use super::{CheckReport, sentence, why_not_judged};
use model::Judgement;
use std::fmt::Write;

/// A workflow command for each budget that is broken or not judged. GitHub shows ten per step as
/// annotations, and all in its log.
pub fn github_view(report: &CheckReport) -> String {
    let mut out = String::new();
    for verdict in report.broken() {
        let title = format!("longwire {}: {}", verdict.measure.name(), verdict.operation_name);
        let remedy = verdict
            .remedy
            .as_ref()
            .map(|remedy| format!("\n{remedy}"))
            .unwrap_or_default();
        let text = format!(
            "{}: {}{remedy}",
            verdict.operation_name,
            sentence(&verdict.measure)
        );
        let _ = writeln!(out, "::error title={}::{}", property(&title), data(&text));
    }
    for verdict in report.verdicts_with(Judgement::NotJudged) {
        let kind = if report.allows_unseen { "warning" } else { "error" };
        let title = format!("longwire {}: {}", verdict.measure.name(), verdict.operation_name);
        let text = format!(
            "{}: not judged: {}",
            verdict.operation_name,
            why_not_judged(verdict)
        );
        let _ = writeln!(out, "::{kind} title={}::{}", property(&title), data(&text));
    }
    out
}

/// Escapes the text of a command, as the runner decodes it (`@actions/core`, `escapeData`). Other
/// control characters could reach a terminal and become a replacement character.
fn data(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '%' => escaped.push_str("%25"),
            '\r' => escaped.push_str("%0D"),
            '\n' => escaped.push_str("%0A"),
            letter if letter.is_control() => escaped.push(char::REPLACEMENT_CHARACTER),
            letter => escaped.push(letter),
        }
    }
    escaped
}

/// Escapes a property of a command (`escapeProperty`).
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_end_a_command_is_escaped() {
        assert_eq!(
            data("100 %\r\n::error::x\u{1b}[0m"),
            "100 %25%0D%0A::error::x\u{fffd}[0m"
        );
        assert_eq!(property("a:b,c%"), "a%3Ab%2Cc%25");
    }
}
