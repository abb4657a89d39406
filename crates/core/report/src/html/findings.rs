//! Findings, most expensive first.

use super::markup::{DASH, count, counted, time};
use super::old::{Escaped, small_print, statement};
use crate::outcome::ReadOutcome;
use crate::text::answer::before_and_after;
use crate::text::findings::{GUESSED, doubtful_words, guessed_words};
use model::Finding;
use std::fmt::Write;

pub fn section(outcome: &ReadOutcome, out: &mut String) {
    let findings: Vec<&Finding> = outcome.sure_findings().collect();
    let doubtful = doubtful_words(outcome).map_or_else(String::new, |words| format!(" {words}"));
    let Some(first) = findings.first() else {
        if !doubtful.is_empty() {
            small_print(doubtful.trim_start(), out);
        }
        return;
    };
    out.push_str(
        "<section aria-labelledby=\"h-findings\">\n<h2 id=\"h-findings\">Findings, by cost</h2>\n\
         <table class=\"stack\">\n<thead><tr><th scope=\"col\">what</th>",
    );
    for saving in &first.savings {
        let _ = write!(
            out,
            "<th scope=\"col\" class=\"n\">saves at {}</th>",
            time(saving.rtt)
        );
    }
    out.push_str(
        "<th scope=\"col\" class=\"n\">trips saved</th><th scope=\"col\" class=\"n\">of</th>\
         <th scope=\"col\" class=\"n\">seen</th><th scope=\"col\" class=\"n\">operations</th></tr></thead>\n<tbody>\n",
    );
    for finding in findings.iter().copied().take(SHOWN) {
        row(outcome, finding, out);
    }
    out.push_str("</tbody></table>\n");
    let left_out = findings.len().saturating_sub(SHOWN) as u64;
    let more = match left_out {
        0 => String::new(),
        _ => format!("And {}; --all lists all. ", counted(left_out, "more finding")),
    };
    let guessed = guessed_words(findings.iter().copied().take(SHOWN));
    let guessed = guessed.map_or_else(String::new, |words| format!(" {GUESSED} {words}"));
    small_print(
        &format!(
            "{more}Each saving is of that finding alone, over all operations seen. They are replayed without the round trips that its \
             remedy removes. Without a replay, it is round trips times the round-trip time. The answer at the top has their joint saving. \
             The time of client and server that is saved too is an estimate.{guessed}{doubtful}"
        ),
        out,
    );
    out.push_str("</section>\n");
}

fn row(outcome: &ReadOutcome, finding: &Finding, out: &mut String) {
    out.push_str("<tr><th scope=\"row\">");
    let mark = if finding.owners.are_guessed() { GUESSED } else { "" };
    let _ = write!(out, "{mark} <span class=\"kind\">{}</span> ", finding.kind);
    match &finding.fingerprint {
        Some(fingerprint) => statement(fingerprint, out),
        None => {
            let _ = write!(out, "{}", Escaped(&finding.operation_name));
        }
    }
    out.push_str("<div><small>");
    if let Some(times) = before_and_after(outcome, finding) {
        let _ = write!(out, "<b>{}</b> ", Escaped(&times));
    }
    let _ = write!(out, "{}</small></div></th>", Escaped(&finding.remedy));
    for saving in &finding.savings {
        let saves = match saving.saves.is_zero() {
            true => DASH.to_owned(),
            false => time(saving.saves),
        };
        let _ = write!(
            out,
            "<td class=\"n\" data-label=\"saves at {}\"><b>{saves}</b></td>",
            time(saving.rtt)
        );
    }
    let _ = writeln!(
        out,
        "<td class=\"n\" data-label=\"trips saved\">{}</td><td class=\"n\" data-label=\"of\">{}</td>\
         <td class=\"n\" data-label=\"seen\">{}</td><td class=\"n\" data-label=\"operations\">{}</td></tr>",
        finding.saves_turns_words(),
        count(finding.turns),
        count(finding.count),
        count(finding.operations),
    );
}

const SHOWN: usize = 20;
