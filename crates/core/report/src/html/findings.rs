//! Findings, most expensive first.

use super::markup::{self, DASH, cell, count, counted, small_print, statement, table_head, time};
use crate::outcome::ReadOutcome;
use crate::text::answer::before_and_after;
use crate::text::findings::{GUESSED, doubtful_words, guessed_words};
use maud::{Markup, html};
use model::Finding;

pub fn section(outcome: &ReadOutcome) -> Markup {
    let findings: Vec<&Finding> = outcome.sure_findings().collect();
    let doubtful = doubtful_words(outcome);
    let Some(first) = findings.first() else {
        return html! { @if let Some(words) = doubtful { (small_print(words)) } };
    };
    let doubtful = doubtful.map_or_else(String::new, |words| format!(" {words}"));
    let more = match findings.len().saturating_sub(SHOWN) as u64 {
        0 => String::new(),
        left_out => format!("And {}; --all lists all. ", counted(left_out, "more finding")),
    };
    let guessed = guessed_words(findings.iter().copied().take(SHOWN));
    let guessed = guessed.map_or_else(String::new, |words| format!(" {GUESSED} {words}"));
    let savings = first
        .savings
        .iter()
        .map(|saving| format!("saves at {}", time(saving.rtt).replace(' ', "\u{a0}")));
    let others = ["trips saved", "of", "seen", "operations"].map(str::to_owned);
    let content = html! {
        table.stack {
            (table_head("what", savings.chain(others)))
            tbody { @for finding in findings.iter().take(SHOWN) { (row(outcome, finding)) } }
        }
        (small_print(format!(
            "{more}Each saving is of that finding alone, over all operations seen. They are replayed without the round trips that its \
             remedy removes. Without a replay, it is round trips times the round-trip time. The answer at the top has their joint saving. \
             The time of client and server that is saved too is an estimate.{guessed}{doubtful}"
        )))
    };
    markup::section("findings", "Findings, by cost", content)
}

fn row(outcome: &ReadOutcome, finding: &Finding) -> Markup {
    html! {
        tr {
            th scope="row" {
                @if finding.owners.are_guessed() { (GUESSED) }
                " " span.kind { (finding.kind.name()) } " "
                @match &finding.fingerprint {
                    Some(fingerprint) => (statement(fingerprint)),
                    None => (finding.operation_name),
                }
                div { small {
                    @if let Some(times) = before_and_after(outcome, finding) { b { (times) } " " }
                    (finding.remedy)
                } }
            }
            @for saving in &finding.savings {
                td.n data-label={ "saves at " (time(saving.rtt)) } {
                    b { @if saving.saves.is_zero() { (DASH) } @else { (time(saving.saves)) } }
                }
            }
            (cell("trips saved", finding.saves_turns_words()))
            (cell("of", count(finding.turns)))
            (cell("seen", count(finding.count)))
            (cell("operations", count(finding.operations)))
        }
    }
}

const SHOWN: usize = 20;
