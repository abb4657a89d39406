//! Budgets as a JUnit report: one test case per operation name.

use super::{CheckReport, sentence, why_not_judged};
use model::{BudgetVerdict, Judgement, OperationGroup};
use std::fmt::Write;
use std::time::Duration;

/// A failure lists all broken budgets of its name.
pub fn junit_view(report: &CheckReport) -> String {
    let cases = cases(report);
    let is_unjudged = |case: &&Case<'_>| case.broken.is_empty() && !case.not_judged.is_empty();
    let unjudged = cases.iter().filter(is_unjudged).count();
    let (errors, skipped) = if report.allows_unseen {
        (0, unjudged)
    } else {
        (unjudged, 0)
    };
    let failures = cases.iter().filter(|case| !case.broken.is_empty()).count();
    let counts = format!(
        "tests=\"{}\" failures=\"{failures}\" errors=\"{errors}\"",
        cases.len()
    );
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(out, "<testsuites {counts}>");
    let name = escaped(&format!("longwire check {}", report.title));
    let _ = writeln!(
        out,
        "  <testsuite name=\"{name}\" {counts} skipped=\"{skipped}\">"
    );
    for case in &cases {
        case.write(report.allows_unseen, &mut out);
    }
    out.push_str("  </testsuite>\n</testsuites>\n");
    out
}

struct Case<'a> {
    class: &'static str,
    name: &'a str,
    time: Duration,
    broken: Vec<&'a BudgetVerdict>,
    not_judged: Vec<&'a BudgetVerdict>,
}

/// Operation names, followed by findings without an operation.
fn cases(report: &CheckReport) -> Vec<Case<'_>> {
    let mut cases: Vec<Case<'_>> = report.operations.iter().map(Case::new).collect();
    for verdict in report.broken().chain(report.verdicts_with(Judgement::NotJudged)) {
        let place = cases
            .iter()
            .position(|case| *case.name == *verdict.operation_name);
        let place = place.unwrap_or_else(|| {
            cases.push(Case {
                class: "finding",
                name: &verdict.operation_name,
                time: Duration::ZERO,
                broken: Vec::new(),
                not_judged: Vec::new(),
            });
            cases.len() - 1
        });
        match verdict.judgement() {
            Judgement::NotJudged => cases[place].not_judged.push(verdict),
            Judgement::Broken | Judgement::Kept => cases[place].broken.push(verdict),
        }
    }
    cases
}

impl<'a> Case<'a> {
    fn new(group: &'a OperationGroup) -> Self {
        Self {
            class: group.kind.name(),
            name: &group.name,
            time: group.spread.p50.unwrap_or_default(),
            broken: Vec::new(),
            not_judged: Vec::new(),
        }
    }

    fn write(&self, allows_unseen: bool, out: &mut String) {
        let _ = write!(
            out,
            "    <testcase classname=\"longwire.{}\" name=\"{}\" time=\"{:.6}\"",
            self.class,
            escaped(self.name),
            self.time.as_secs_f64()
        );
        let Some(first) = self.broken.first() else {
            return self.write_not_judged(allows_unseen, out);
        };
        let sentences: Vec<String> = self
            .broken
            .iter()
            .map(|verdict| sentence(&verdict.measure))
            .collect();
        let _ = write!(
            out,
            ">\n      <failure type=\"{}\" message=\"{}\">",
            first.measure.name(),
            escaped(&sentences.join("; "))
        );
        for (verdict, sentence) in self.broken.iter().zip(&sentences) {
            let _ = writeln!(out, "{}", escaped(sentence));
            if let Some(remedy) = &verdict.remedy {
                let _ = writeln!(out, "  {}", escaped(remedy));
            }
        }
        out.push_str("</failure>\n    </testcase>\n");
    }

    /// Ends a case without a broken budget.
    fn write_not_judged(&self, allows_unseen: bool, out: &mut String) {
        let Some(first) = self.not_judged.first() else {
            out.push_str("/>\n");
            return;
        };
        let element = match allows_unseen {
            true => "skipped".to_owned(),
            false => format!("error type=\"{}\"", first.measure.name()),
        };
        let why = escaped(why_not_judged(first));
        let _ = writeln!(
            out,
            ">\n      <{element} message=\"not judged: {why}\"/>\n    </testcase>"
        );
    }
}

/// Escapes text for an attribute or an element. Characters that XML 1.0 excludes (section 2.2)
/// become a replacement character, as do terminal controls.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' => escaped.push_str("&#10;"),
            '\t' => escaped.push_str("&#9;"),
            '\u{fffe}' | '\u{ffff}' => escaped.push(char::REPLACEMENT_CHARACTER),
            letter if letter.is_control() => escaped.push(char::REPLACEMENT_CHARACTER),
            letter => escaped.push(letter),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_leave_their_attribute() {
        assert_eq!(
            escaped("a\"/><b attr='&' \u{0}\u{1b}[0m\nc\u{ffff}"),
            "a&quot;/&gt;&lt;b attr='&amp;' \u{fffd}\u{fffd}[0m&#10;c\u{fffd}"
        );
    }
}
