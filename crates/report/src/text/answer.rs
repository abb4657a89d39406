//! The answer of `read`, `watch` and their pages in one sentence: what distance makes of the operation that takes most of the time, and what its findings
//! would give back.

use super::escape::cut;
use super::prediction::number;
use super::{counted, duration_or_dash};
use crate::outcome::ReadOutcome;
use model::{Finding, FindingKind, OperationGroup, OperationKind, Prediction, format_duration};
use std::time::Duration;

/// The sentence. Absent when nothing was predicted.
///
/// The duration with the remedies is the predicted one, shortened by the share that the savings of the findings have of the predicted mean. They
/// claim round trips alone: with less for the server to do, it may be shorter. The operation's own median, or its mean where the median is withheld, is compared with the predicted median.
pub(crate) fn answer(outcome: &ReadOutcome) -> Option<String> {
    // A connection as a whole is waited for by nobody; it is all there is where nothing else was recognised.
    let group = outcome.operations.iter().max_by_key(|group| {
        let is_waited_for = group.kind != OperationKind::Connection;
        (is_waited_for, group.attribution.total())
    })?;
    // The longest distance at which findings have a price; without findings, the longest of all.
    let priced = outcome.findings.first().and_then(|first| first.savings.last());
    let of_group = |there: &&Prediction| {
        there.operation_name == group.name && priced.is_none_or(|saving| saving.rtt == there.rtt)
    };
    let there = outcome
        .predictions
        .iter()
        .filter(of_group)
        .max_by_key(|there| there.rtt)?;
    let mean = |sum: Duration| sum.checked_div(u32::try_from(group.count).unwrap_or(u32::MAX));
    let here = group.spread.p50.or_else(|| mean(group.attribution.total()));
    let remedies = Remedies::of(group, there.rtt, &outcome.findings);
    let given_back = mean(remedies.saves).unwrap_or_default();
    let mut sentence = format!(
        "At {}, {} takes {} instead of {}",
        format_duration(there.rtt),
        cut(&group.name, LONGEST_NAME),
        format_duration(there.duration),
        duration_or_dash(here),
    );
    let changes = counted(remedies.count, "change");
    let verb = if remedies.count == 1 { "s" } else { "" };
    let turns = number(there.turns);
    sentence.push_str(&match (remedies.count, remedies.turns) {
        (0, _) => format!(", for {turns} turns; nothing was found to remove."),
        (_, 0) => format!(
            ", for {turns} turns; {changes} save{verb} {}.",
            format_duration(given_back)
        ),
        (_, removed) => format!(
            "; {changes} remove{verb} {} of its {turns} turns, and it takes {}.",
            number(removed as f64 / group.count.max(1) as f64),
            format_duration(without(there, given_back)),
        ),
    });
    Some(sentence)
}

/// What an operation takes at the longest distance with a price, as it is and without what was found, in a sentence. Absent when it was not predicted
/// there, or the finding saves no time of the operation.
///
pub(crate) fn before_and_after(outcome: &ReadOutcome, finding: &Finding) -> Option<String> {
    let saving = finding.savings.last().filter(|saving| !saving.saves.is_zero())?;
    if finding.kind == FindingKind::HeldTransaction {
        return None;
    }
    let group = outcome
        .operations
        .iter()
        .find(|group| group.name == finding.operation_name)?;
    let there = outcome
        .predictions
        .iter()
        .find(|there| there.operation_name == group.name && there.rtt == saving.rtt)?;
    let saves = saving
        .saves
        .checked_div(u32::try_from(group.count).unwrap_or(u32::MAX))?;
    Some(format!(
        "{} at {}: {} -> {}.",
        cut(&group.name, LONGEST_NAME),
        format_duration(saving.rtt),
        format_duration(there.duration),
        format_duration(without(there, saves)),
    ))
}

/// The predicted median without what is saved on average: shortened as the mean would be, since operations of one name may be long and short.
fn without(there: &Prediction, saves: Duration) -> Duration {
    let mean = there.spread.mean.unwrap_or(there.duration).as_secs_f64();
    let stays = match mean > 0.0 {
        true => (1.0 - saves.as_secs_f64() / mean).clamp(0.0, 1.0),
        false => 1.0,
    };
    there.duration.mul_f64(stays)
}

/// What the findings of an operation would save together.
#[derive(Debug, Default)]
struct Remedies {
    count: u64,
    turns: u64,
    saves: Duration,
}

impl Remedies {
    fn of(group: &OperationGroup, rtt: Duration, findings: &[Finding]) -> Self {
        let mut remedies = Self::default();
        // For how long rows are held is no time of the operation.
        let adds_up = |finding: &&Finding| {
            finding.operation_name == group.name && finding.kind != FindingKind::HeldTransaction
        };
        for finding in findings.iter().filter(adds_up) {
            let Some(saving) = finding.savings.iter().find(|saving| saving.rtt == rtt) else {
                continue;
            };
            if !saving.saves.is_zero() {
                remedies.count += 1;
                remedies.turns = remedies.turns.saturating_add(finding.saves_turns);
                remedies.saves = remedies.saves.saturating_add(saving.saves);
            }
        }
        remedies
    }
}

/// Columns of a name: with it the sentence has about two lines.
const LONGEST_NAME: usize = 50;
