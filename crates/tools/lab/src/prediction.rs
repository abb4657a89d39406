//! Predicts a baseline's points from its capture.

use super::config::Lab;
use super::observed::{ObservedOperations, operation_word};
use super::plan::{SweepPoint, is_at_rest};
use link::LinkDescription;
use model::{ConnectionId, DistributionBuilder, MeasuredDurations, Operation, Prediction};
use predict::{LinkOfStep, PredictionTarget, Predictor, WakeUp};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// Predicts each of `points`. `measured` has the workload's own times of the `observed` operations.
/// `None` if no operation can be predicted.
pub fn predict(
    observed: &ObservedOperations,
    measured: &MeasuredDurations,
    points: &[&SweepPoint],
    wake_up: WakeUp,
) -> Vec<Option<Prediction>> {
    let Some(first) = points.first() else {
        return Vec::new();
    };
    let operations = prepared(observed, measured, &first.lab);
    let links = Arc::new(observed.links.clone());
    let mut predictions: Vec<Option<Prediction>> = vec![None; points.len()];
    let mut groups: HashMap<Vec<usize>, Vec<usize>> = HashMap::new();
    for (index, point) in points.iter().enumerate() {
        groups.entry(changed_links(&point.lab)).or_default().push(index);
    }
    for (changed, members) in groups {
        let targets = members.iter().map(|&index| target(&points[index].lab, &changed));
        let mut predictor =
            Predictor::over_links(targets.collect(), moved(&links, changed)).with_wake_up(wake_up);
        if first.lab.workload.clients > 1 {
            predictor = predictor.with_computing(pipeline::computing::on_this_system());
        }
        operations.iter().for_each(|operation| predictor.add(operation));
        let word = operation_word(&first.lab.workload);
        let of_work = predictor
            .finish()
            .into_iter()
            .filter(|prediction| *prediction.operation_name == *word);
        for (&index, prediction) in members.iter().zip(of_work) {
            predictions[index] = Some(prediction);
        }
    }
    predictions
}

/// Prepares operations for the replay: sorted by start, with time outside the capture (from last
/// packet to client, start and end of a command) added as client time.
fn prepared(observed: &ObservedOperations, measured: &MeasuredDurations, lab: &Lab) -> Vec<Operation> {
    let mut captured = DistributionBuilder::new();
    observed
        .counted(&lab.workload)
        .for_each(|operation| captured.add(operation.duration));
    let beyond = captured.percentile(50).map_or(Duration::ZERO, |captured| {
        measured.duration.saturating_sub(captured)
    });
    let mut operations = observed.operations.clone();
    operations.sort_by_key(|operation| operation.at);
    for operation in &mut operations {
        operation.client_after += beyond;
    }
    operations
}

/// Links that differ from the baseline.
pub fn changed_links(lab: &Lab) -> Vec<usize> {
    let changed = |(_, link): &(usize, &super::config::LabLink)| !is_at_rest(&link.link);
    lab.links
        .iter()
        .enumerate()
        .filter(changed)
        .map(|(index, _)| index)
        .collect()
}

/// Target of a point, with all changed links at once.
fn target(lab: &Lab, changed: &[usize]) -> (PredictionTarget, Vec<LinkDescription>) {
    let mut links = changed.iter().map(|&index| lab.links[index].link);
    let target = PredictionTarget {
        link: links
            .next()
            .unwrap_or_else(|| LinkDescription::with_rtt(Duration::ZERO)),
        clients: lab.workload.clients,
    };
    (target, links.collect())
}

/// Moves each step on a changed link to the new link.
fn moved(links: &Arc<HashMap<ConnectionId, usize>>, changed: Vec<usize>) -> Box<LinkOfStep> {
    let links = Arc::clone(links);
    Box::new(move |step| {
        let link = links.get(&step.exchange.connection)?;
        let place = changed.iter().position(|changed| changed == link)?;
        u32::try_from(place).ok()
    })
}
