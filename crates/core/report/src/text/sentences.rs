//! Answers in sentences with units, for programs that show them to a language model.

use super::answer::{answer, before_and_after};
use super::escape::{cut, printable};
use super::findings::{GUESSED, doubtful_words, guessed_words};
use super::prediction::{bound_words, cost_line, link_text, names, number, order_lines, unlike_lines};
use super::read::{share, summary_line};
use super::shown_statement;
use crate::outcome::ReadOutcome;
use crate::ranges::share_range;
use model::{Finding, Prediction, StatementOutcome, Warning, counted, format_duration};

/// The first sentence of `read`, and its last line.
pub fn summary_sentences(outcome: &ReadOutcome) -> String {
    let mut said = Vec::from_iter(answer(outcome));
    said.push(summary_line(&outcome.summary));
    lines(said, &outcome.warnings)
}

/// The first sentence of `read`, then all findings.
pub fn finding_sentences(outcome: &ReadOutcome) -> String {
    let mut said = vec![answer(outcome).unwrap_or_else(|| summary_line(&outcome.summary))];
    said.extend(outcome.sure_findings().map(|one| finding_words(outcome, one)));
    said.extend(guessed_words(outcome.sure_findings()).map(|words| format!("{GUESSED} {words}")));
    said.extend(doubtful_words(outcome));
    lines(said, &outcome.warnings)
}

/// The cost of a millisecond, then the durations on each link.
pub fn prediction_sentences(outcome: &ReadOutcome) -> String {
    let predictions = outcome.predictions.as_slice();
    let mut said = Vec::new();
    if predictions.is_empty() && outcome.unmoved.is_empty() {
        said.push("No operation was seen, so there is nothing to predict.".to_owned());
    } else if !predictions.is_empty() {
        said.push(cost_line(predictions));
    }
    said.extend(
        predictions
            .iter()
            .filter_map(|one| prediction_words(outcome, one)),
    );
    let names = names(predictions);
    for more in [
        unlike_lines(predictions, &names),
        order_lines(predictions, &names),
    ] {
        said.extend(more.lines().map(str::to_owned));
    }
    if !outcome.unmoved.is_empty() {
        let unmoved = outcome.unmoved.join(", ");
        said.push(format!(
            "Not predicted, because no connection of theirs moves: {unmoved}."
        ));
    }
    lines(said, &outcome.warnings)
}

/// `shown` are the first of all statements, in an order that `most` names.
pub fn statement_sentences(shown: &[StatementOutcome], most: &str, outcome: &ReadOutcome) -> String {
    let distinct = counted(
        outcome.statements.len() as u64,
        "statement",
        "distinct statements",
    );
    let mut said = vec![match shown.len() {
        0 => "No statement was seen.".to_owned(),
        count => format!("{count} of {distinct}, those with most {most} first."),
    }];
    said.extend(shown.iter().map(statement_words));
    lines(said, &outcome.warnings)
}

fn lines(mut said: Vec<String>, warnings: &[Warning]) -> String {
    let warned = |warning: &Warning| format!("Warning: {}.", warning.text.trim_end_matches('.'));
    said.extend(warnings.iter().map(warned));
    // A line feed in a name begins no sentence.
    let lines: Vec<_> = said.iter().map(|text| printable(text.trim_end())).collect();
    lines.join("\n")
}

fn finding_words(outcome: &ReadOutcome, finding: &Finding) -> String {
    let mark = if finding.owners.are_guessed() { "~ " } else { "" };
    let statement = finding
        .fingerprint
        .as_ref()
        .map_or_else(String::new, |fingerprint| {
            format!(" of \"{}\"", shown_statement(fingerprint))
        });
    let turns = (finding.saves_turns_most > 0).then(|| {
        let words = finding.saves_turns_words();
        format!(
            "{words} of {}",
            counted(finding.turns, "round trip", "round trips")
        )
    });
    let saved = finding.savings.iter().filter(|saving| !saving.saves.is_zero());
    let times = saved.map(|saving| {
        let [saves, rtt] = [saving.saves, saving.rtt].map(format_duration);
        format!("{saves} at {rtt}")
    });
    let saves: Vec<String> = turns.into_iter().chain(times).collect();
    let saves = match saves.is_empty() {
        true => String::new(),
        false => format!("; it costs {}", saves.join(", ")),
    };
    let times = before_and_after(outcome, finding).map_or_else(String::new, |times| format!("{times} "));
    format!(
        "{mark}{}{statement} in \"{}\": seen {} in {}{saves}. {times}{}",
        finding.kind,
        cut(&finding.operation_name, MAX_NAME_LEN),
        finding.count,
        counted(finding.operations, "operation", "operations"),
        finding.remedy,
    )
}

/// `None` if the operations are too unlike for a median.
fn prediction_words(outcome: &ReadOutcome, one: &Prediction) -> Option<String> {
    let [low, high] = one.bounds()?.map(format_duration);
    let same =
        |group: &&model::OperationGroup| group.name == one.operation_name && group.count == one.operations;
    let here = outcome
        .operations
        .iter()
        .find(same)
        .and_then(|group| group.spread.p50);
    let instead = here.map_or_else(String::new, |p50| format!(" instead of {}", format_duration(p50)));
    Some(format!(
        "At {}, \"{}\" takes {}{instead} (median of {}; {low} to {high} with 90 % probability), for {} round trips each; bound by: {}.",
        link_text((one.rtt, one.rate)),
        cut(&one.operation_name, MAX_NAME_LEN),
        one.bounded()
            .map_or_else(|| format!("{low} to {high}"), format_duration),
        one.operations,
        number(one.turns),
        bound_words(one.bound_by),
    ))
}

fn statement_words(one: &StatementOutcome) -> String {
    let p50 = one
        .spread
        .p50
        .map(|p50| format!("; median {}", format_duration(p50)));
    let errors = (one.errors > 0).then(|| format!("; {}", counted(one.errors, "error", "errors")));
    format!(
        "\"{}\": {} for {}, {} in all (network {}, server {}){}{}.",
        shown_statement(&one.fingerprint),
        counted(one.turns, "round trip", "round trips"),
        counted(one.calls, "call", "calls"),
        format_duration(one.total),
        share(one.network, one.total),
        share_range(one.server, one.server_margin, one.total, share),
        p50.unwrap_or_default(),
        errors.unwrap_or_default(),
    )
}

/// In columns: a name is in one line for each link, and whole in the records.
const MAX_NAME_LEN: usize = 100;
