//! Which operations are replayed, and on which links.

use super::Claim;
use live::replay::Script;
use model::{Operation, OperationGroup, Prediction, Warning, format_duration};
use predict::Target;
use report::ReadOutcome;
use std::sync::Arc;
use std::time::Duration;

/// One operation to be replayed on one link.
pub struct Choice {
    /// Place of its prediction among those of the run.
    pub prediction: usize,
    pub name: Arc<str>,
    pub target: Target,
    pub script: Script,
    /// What this very operation is predicted to take there, alone.
    pub predicted: Duration,
}

impl Choice {
    /// Which it is, for messages.
    pub fn words(&self) -> String {
        format!("'{}' on {}", self.name, self.target.link)
    }
}

/// Of the names with most time, for each target the operation whose own prediction is nearest to the one that is told.
pub fn choose(outcome: &ReadOutcome, claim: &Claim<'_>, warnings: &mut Vec<Warning>) -> Vec<Choice> {
    let mut choices = Vec::new();
    for name in names(outcome) {
        let kept = claim.samples.of(&name);
        let mut whole: Vec<&Operation> = kept
            .iter()
            .filter_map(|parts| match parts.as_slice() {
                [one] if !one.continues => Some(one),
                _ => None,
            })
            .collect();
        whole.sort_by_key(|operation| operation.id);
        if whole.is_empty() {
            let text = format!("'{name}' was not replayed: it is longer than what is held in memory at once");
            warnings.push(Warning { text });
            continue;
        }
        for target in claim.targets {
            match choice(outcome, claim, &name, &whole, target) {
                Some(Ok(choice)) => choices.push(choice),
                Some(Err(fault)) => {
                    let text = format!("'{name}' was not replayed: {fault}");
                    warnings.push(Warning { text });
                    break;
                }
                None => {}
            }
        }
    }
    choices
}

/// The names with most time of which a connection moves.
fn names(outcome: &ReadOutcome) -> Vec<Arc<str>> {
    let moves = |group: &&OperationGroup| {
        let of_group = |prediction: &Prediction| prediction.operation_name == group.name;
        outcome
            .predictions
            .iter()
            .any(|prediction| of_group(prediction) && prediction.turns > 0.0)
    };
    let mut groups: Vec<&OperationGroup> = outcome.operations.iter().filter(moves).collect();
    groups.sort_by_key(|group| std::cmp::Reverse(group.attribution.total()));
    let mut names: Vec<Arc<str>> = Vec::new();
    for group in groups {
        if names.len() < MOST_NAMES && !names.contains(&group.name) {
            names.push(Arc::clone(&group.name));
        }
    }
    names
}

fn choice(
    outcome: &ReadOutcome,
    claim: &Claim<'_>,
    name: &Arc<str>,
    operations: &[&Operation],
    target: &Target,
) -> Option<Result<Choice, live::replay::ReplayError>> {
    let link = target.link.to_string();
    let prediction = outcome.predictions.iter().position(|prediction| {
        prediction.operation_name == *name
            && prediction.clients == target.clients
            && *prediction.link == *link
    })?;
    let moved = |step: &model::OperationStep| claim.moved.moves(step);
    let alone = Target {
        clients: 1,
        ..*target
    };
    let predicted = |operation: &Operation| predict::replay(operation, &alone, &moved).duration;
    // Several clients get in each other's way, so none of them alone takes what is told: the middle one stands for all.
    let wanted = match target.clients {
        1 => outcome.predictions[prediction].duration,
        _ => middle(operations.iter().map(|operation| predicted(operation)))?,
    };
    let (predicted, operation) = operations
        .iter()
        .map(|operation| (predicted(operation), *operation))
        .min_by_key(|(predicted, _)| predicted.abs_diff(wanted))?;
    Some(Script::new(operation, &moved).map(|script| Choice {
        prediction,
        name: Arc::clone(name),
        target: *target,
        script,
        predicted,
    }))
}

fn middle(durations: impl Iterator<Item = Duration>) -> Option<Duration> {
    let mut durations: Vec<Duration> = durations.collect();
    durations.sort_unstable();
    durations.get(durations.len() / 2).copied()
}

/// What a choice of these would take, for the message that leaves it out.
pub fn too_long(choice: &Choice) -> String {
    format!(
        "{} was not replayed: it would take {} each time",
        choice.words(),
        format_duration(choice.predicted)
    )
}

/// More operation names than these are not replayed.
const MOST_NAMES: usize = 3;
