//! Predicts operations in placements, all tiers at once: each pair of services uses the link
//! between their places.

use crate::file::Estate;
use crate::placement::{Placement, link_of};
use crate::traffic::EstateTraffic;
use link::LinkDescription;
use model::{
    BrokenBudget, HeldPrediction, Operation, PlacedOperation, PlacedTransaction, PlacementOutcome,
    PlanMeasure, Prediction, Timestamp,
};
use predict::{LinkOfStep, PredictionTarget, Predictor, WakeUp};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

#[derive(Clone, Copy)]
pub struct Observed<'a> {
    pub estate: &'a Estate,
    pub traffic: &'a Arc<EstateTraffic>,
    pub operations: &'a [Operation],
    pub wake_up: WakeUp,
}

/// Predicts operation times, broken budgets and monthly costs for each of `placements`, in order.
///
/// Placements that change the distance of the same pairs are predicted together; other connections
/// stay as measured. Operations are replayed one by one: contention between them elsewhere is not
/// predicted.
pub fn forecast(observed: Observed<'_>, placements: &[Placement]) -> Vec<PlacementOutcome> {
    let mut groups: BTreeMap<Vec<usize>, Vec<usize>> = BTreeMap::new();
    for (index, placement) in placements.iter().enumerate() {
        groups
            .entry(moved_pairs(observed, placement))
            .or_default()
            .push(index);
    }
    let under_way = under_way(observed.operations);
    let mut outcomes: Vec<PlacementOutcome> = placements
        .iter()
        .map(|placement| outcome(observed, placement))
        .collect();
    for (moved, members) in groups {
        let targets: Vec<_> = members
            .iter()
            .map(|&index| target(observed, &placements[index], &moved))
            .collect();
        let mut predictor = Predictor::over_links(targets, link_of_step(observed.traffic, moved))
            .with_wake_up(observed.wake_up);
        observed
            .operations
            .iter()
            .for_each(|operation| predictor.add(operation));
        let predicted = predictor.finish_all();
        let by_name = |prediction: &Prediction| Arc::clone(&prediction.operation_name);
        for (target, prediction) in by_target(predicted.predictions, members.len(), by_name) {
            let placed = placed(&prediction, &under_way);
            outcomes[members[target]].operations.push(placed);
        }
        let by_names = |held: &HeldPrediction| (Arc::clone(&held.operation_name), Arc::clone(&held.name));
        for (target, held) in by_target(predicted.held, members.len(), by_names) {
            outcomes[members[target]].transactions.push(PlacedTransaction {
                name: held.name,
                operation_name: held.operation_name,
                median: held.median,
            });
        }
    }
    for outcome in &mut outcomes {
        outcome.broken = broken(observed, outcome);
    }
    outcomes
}

/// A placement with everything known without a prediction.
fn outcome(observed: Observed<'_>, placement: &Placement) -> PlacementOutcome {
    let (gigabytes, price) = observed.traffic.month(observed.estate, placement);
    PlacementOutcome {
        services: placement.services(observed.estate),
        moved: placement.differences(&Placement::today(observed.estate)),
        operations: Vec::new(),
        transactions: Vec::new(),
        gigabytes,
        price,
        broken: Vec::new(),
    }
}

fn moved_pairs(observed: Observed<'_>, placement: &Placement) -> Vec<usize> {
    let pairs = observed.traffic.pairs.iter().enumerate();
    let moved = pairs.filter(|(_, pair)| link_of(observed.estate, **pair, placement).is_some());
    moved.map(|(index, _)| index).collect()
}

fn target(
    observed: Observed<'_>,
    placement: &Placement,
    moved: &[usize],
) -> (PredictionTarget, Vec<LinkDescription>) {
    let pairs = &observed.traffic.pairs;
    let mut links = moved
        .iter()
        .filter_map(|pair| link_of(observed.estate, pairs[*pair], placement));
    let link = links.next();
    let link = link.unwrap_or_else(|| LinkDescription::with_rtt(Duration::ZERO));
    (PredictionTarget { link, clients: 1 }, links.collect())
}

fn link_of_step(traffic: &Arc<EstateTraffic>, moved: Vec<usize>) -> Box<LinkOfStep> {
    let traffic = Arc::clone(traffic);
    Box::new(move |step| {
        let pair = traffic.pair_of(step.exchange.connection)?;
        let place = moved.iter().position(|moved| *moved == pair)?;
        u32::try_from(place).ok()
    })
}

/// Assigns predictions to targets. They are sorted by name, then by target. A name missing from
/// some target is dropped, because it is unknown which one lacks it.
fn by_target<T, K: PartialEq>(all: Vec<T>, targets: usize, key: impl Fn(&T) -> K) -> Vec<(usize, T)> {
    let mut found = Vec::with_capacity(all.len());
    let mut name: Vec<T> = Vec::new();
    for one in all {
        if name.last().is_some_and(|last| key(last) != key(&one)) {
            name.clear();
        }
        name.push(one);
        if name.len() == targets {
            found.extend(std::mem::take(&mut name).into_iter().enumerate());
        }
    }
    found
}

/// Mean number of concurrent operations per name in the measurement.
fn under_way(operations: &[Operation]) -> HashMap<Arc<str>, f64> {
    let mut seen: HashMap<Arc<str>, (Duration, Timestamp, Timestamp)> = HashMap::new();
    for operation in operations {
        let end = operation.at.after(operation.duration);
        let known = seen
            .entry(Arc::clone(&operation.name))
            .or_insert((Duration::ZERO, operation.at, end));
        known.0 += operation.duration;
        known.1 = known.1.min(operation.at);
        known.2 = known.2.max(end);
    }
    let average = seen.into_iter().map(|(name, (sum, first, last))| {
        let span = last.since(first).as_secs_f64().max(1e-9);
        (name, sum.as_secs_f64() / span)
    });
    average.collect()
}

fn placed(prediction: &Prediction, under_way: &HashMap<Arc<str>, f64>) -> PlacedOperation {
    let mean = prediction.spread.mean.unwrap_or(prediction.duration);
    let at_once = under_way.get(&prediction.operation_name).copied().unwrap_or(1.0);
    PlacedOperation {
        name: Arc::clone(&prediction.operation_name),
        operations: prediction.operations,
        median: prediction.bounded(),
        low: prediction.low,
        high: prediction.high,
        p95: prediction.spread.p95,
        per_second: at_once / mean.as_secs_f64().max(1e-9),
    }
}

fn broken(observed: Observed<'_>, outcome: &PlacementOutcome) -> Vec<BrokenBudget> {
    let mut broken = Vec::new();
    for budget in &observed.estate.budgets {
        let names = outcome.operations.iter().map(|operation| &operation.name);
        for name in names.filter(|name| budget.operation.matches(name)) {
            if let Some(found) = figure(outcome, name, budget.measure)
                && found > budget.allowed
            {
                broken.push(BrokenBudget {
                    operation_name: Arc::clone(name),
                    measure: budget.measure,
                    allowed: budget.allowed,
                    found,
                });
            }
        }
    }
    broken
}

/// The budget's figure, `None` if the prediction lacks it.
pub fn figure(outcome: &PlacementOutcome, name: &str, measure: PlanMeasure) -> Option<Duration> {
    let mut operations = outcome.operations.iter();
    let operation = operations.find(|operation| *operation.name == *name);
    match measure {
        PlanMeasure::Median => operation.map(|operation| operation.median.unwrap_or(operation.high)),
        PlanMeasure::P95 => operation.and_then(|operation| operation.p95),
        PlanMeasure::Held => {
            let of_name = outcome
                .transactions
                .iter()
                .filter(|held| *held.operation_name == *name);
            of_name.map(|held| held.median).max()
        }
    }
}
