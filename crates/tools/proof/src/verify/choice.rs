//! Chooses the operations and links to replay.

use super::Claim;
use model::{Operation, OperationGroup, Prediction, Warning, WarningKind, format_duration};
use predict::{PredictionTarget, WakeUp};
use relay::replay::ReplayScript;
use report::ReadOutcome;
use std::sync::Arc;
use std::time::Duration;

pub struct ReplayChoice {
    pub prediction: usize,
    pub name: Arc<str>,
    pub target: PredictionTarget,
    pub script: ReplayScript,
    /// Predicted duration of this operation alone.
    pub predicted: Duration,
}

impl ReplayChoice {
    pub fn words(&self) -> String {
        format!("'{}' on {}", self.name, self.target.link)
    }
}

/// For each target and the names with the most time, the operation with a prediction nearest to the
/// reported one.
pub fn choose(outcome: &ReadOutcome, claim: &Claim<'_>, warnings: &mut Vec<Warning>) -> Vec<ReplayChoice> {
    let mut choices = Vec::new();
    for name in names(outcome) {
        let kept = claim.samples.operations_of(&name);
        let mut whole: Vec<&Operation> = kept
            .iter()
            .filter_map(|parts| match parts.as_slice() {
                [one] if !one.continues => Some(one),
                _ => None,
            })
            .collect();
        whole.sort_by_key(|operation| operation.id);
        if whole.is_empty() {
            let text = format!("'{name}' was not replayed: it is too long to be held in memory");
            warnings.push(Warning::new(WarningKind::NotPredicted, text));
            continue;
        }
        for target in claim.targets {
            match choice(outcome, claim, &name, &whole, target) {
                Some(Ok(choice)) => choices.push(choice),
                Some(Err(fault)) => {
                    let text = format!("'{name}' was not replayed on {}: {fault}", target.link);
                    warnings.push(Warning::new(WarningKind::NotPredicted, text));
                }
                None => {}
            }
        }
    }
    choices
}

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
        if names.len() < MAX_NAMES && !names.contains(&group.name) {
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
    target: &PredictionTarget,
) -> Option<Result<ReplayChoice, Refused>> {
    let link = target.link.to_string();
    let prediction = outcome.predictions.iter().position(|prediction| {
        prediction.operation_name == *name
            && prediction.clients == target.clients
            && *prediction.link == *link
    })?;
    let moved = |step: &model::OperationStep| claim.moved.moves(step);
    let alone = PredictionTarget {
        clients: 1,
        ..*target
    };
    let predicted = |operation: &Operation| predict::replay(operation, &alone, WakeUp::None, &moved).duration;
    let operations = operations
        .iter()
        .map(|operation| claim.samples.expected(operation));
    let mut candidates: Vec<(Duration, Operation)> = operations
        .map(|operation| (predicted(&operation), operation))
        .collect();
    candidates.sort_by_key(|(predicted, _)| *predicted);
    let (least, middle, most) = (
        candidates.first()?.0,
        candidates[candidates.len() / 2].0,
        candidates.last()?.0,
    );
    // Concurrent clients slow each other down, so a single one does not take the reported time. One
    // operation represents all only if all are alike.
    let wanted = match target.clients {
        1 => outcome.predictions[prediction].duration,
        _ if most > least.mul_f64(ALIKE) => return Some(Err(Refused::Unlike)),
        _ => middle,
    };
    let (predicted, operation) = candidates
        .into_iter()
        .min_by_key(|(predicted, _)| predicted.abs_diff(wanted))?;
    let script = ReplayScript::new(&operation, &moved).map_err(Refused::Script);
    Some(script.map(|script| ReplayChoice {
        prediction,
        name: Arc::clone(name),
        target: *target,
        script,
        predicted,
    }))
}

#[derive(Debug, thiserror::Error)]
enum Refused {
    #[error(transparent)]
    Script(relay::replay::ReplayError),
    #[error("its operations are not alike, so that one cannot stand for those of several clients")]
    Unlike,
}

/// Expected duration, for the message about leaving it out.
pub fn too_long(choice: &ReplayChoice) -> String {
    format!(
        "{} was not replayed: it would take {} each time",
        choice.words(),
        format_duration(choice.predicted)
    )
}

/// Maximum ratio of longest to shortest among alike operations.
const ALIKE: f64 = 1.2;

const MAX_NAMES: usize = 3;
