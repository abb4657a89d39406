//! Budgets as a JUnit report: one test case an operation's name.

use super::{CheckReport, sentence};
use model::{OperationGroup, Verdict};
use std::fmt::Write;

/// The report in the XML that CI systems read: a failure for each name with a broken budget, all of which it lists.
pub fn junit_view(report: &CheckReport) -> String {
    let failures = report
        .operations
        .iter()
        .filter(|group| broken(report, group).next().is_some())
        .count();
    let counts = format!(
        "tests=\"{}\" failures=\"{failures}\" errors=\"0\"",
        report.operations.len()
    );
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(out, "<testsuites {counts}>");
    let name = escaped(&format!("longwire check {}", report.title));
    let _ = writeln!(out, "  <testsuite name=\"{name}\" {counts} skipped=\"0\">");
    for group in &report.operations {
        case(report, group, &mut out);
    }
    out.push_str("  </testsuite>\n</testsuites>\n");
    out
}

fn broken<'a>(report: &'a CheckReport, group: &'a OperationGroup) -> impl Iterator<Item = &'a Verdict> {
    report
        .broken()
        .filter(|verdict| verdict.operation_name == group.name)
}

fn case(report: &CheckReport, group: &OperationGroup, out: &mut String) {
    let seconds = group.spread.p50.unwrap_or_default().as_secs_f64();
    let _ = write!(
        out,
        "    <testcase classname=\"longwire.{}\" name=\"{}\" time=\"{seconds:.6}\"",
        group.kind.name(),
        escaped(&group.name)
    );
    let broken: Vec<&Verdict> = broken(report, group).collect();
    if broken.is_empty() {
        out.push_str("/>\n");
        return;
    }
    let sentences: Vec<String> = broken.iter().map(|verdict| sentence(&verdict.measure)).collect();
    let types: Vec<&str> = broken.iter().map(|verdict| verdict.measure.name()).collect();
    let _ = write!(
        out,
        ">\n      <failure type=\"{}\" message=\"{}\">",
        types.first().copied().unwrap_or_default(),
        escaped(&sentences.join("; "))
    );
    for (verdict, sentence) in broken.iter().zip(&sentences) {
        let _ = writeln!(out, "{}", escaped(sentence));
        if let Some(remedy) = &verdict.remedy {
            let _ = writeln!(out, "  {}", escaped(remedy));
        }
    }
    out.push_str("</failure>\n    </testcase>\n");
}

/// Text for an attribute or an element. Characters that XML 1.0 has no place for (section 2.2) become a replacement character, as do
/// those that a terminal would obey.
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
