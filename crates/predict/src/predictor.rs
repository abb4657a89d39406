//! Predictions per operation name and target, from many replays.

use crate::connections::Connections;
use crate::path;
use crate::plan::Plan;
use crate::replay::Run;
use link::LinkDescription;
use model::{Attribution, BoundBy, DistributionBuilder, Operation, OperationStep, Prediction};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// Where operations are predicted for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target {
    /// The link the moved connections get.
    pub link: LinkDescription,
    /// Clients at once. Each replay is of one client alone; more clients are taken not to be in each other's way.
    pub clients: u32,
}

/// Replays operations on every target as they come, and keeps sums only.
pub struct Predictor {
    targets: Vec<Target>,
    moved: Box<dyn Fn(&OperationStep) -> bool>,
    /// Place of each name in `sums`.
    places: HashMap<Arc<str>, usize>,
    /// Per name, in the order in which names came; per target.
    sums: Vec<(Arc<str>, Vec<Sum>)>,
    /// Operations of which parts have come and more will, by their number; per target.
    unfinished: HashMap<u64, Vec<Whole>>,
    /// What earlier operations left of their connections; per target.
    connections: Vec<Connections>,
}

/// One operation on one target.
#[derive(Debug, Clone, Default)]
struct Whole {
    duration: Duration,
    attribution: Attribution,
    turns: u64,
}

/// All operations of one name on one target.
#[derive(Debug, Clone, Default)]
struct Sum {
    durations: DistributionBuilder,
    attribution: Attribution,
    turns: u64,
}

impl Predictor {
    /// One that predicts for `targets`; `moved` tells which exchanges' connections move to the target's link.
    pub fn new(targets: Vec<Target>, moved: Box<dyn Fn(&OperationStep) -> bool>) -> Self {
        Self {
            connections: vec![Connections::default(); targets.len()],
            targets,
            moved,
            places: HashMap::new(),
            sums: Vec::new(),
            unfinished: HashMap::new(),
        }
    }

    /// Replays one operation, or one part of a long one ([`Operation::continues`]), on every target. Connections keep
    /// their windows from operation to operation: add these in the order of their begins.
    pub fn add(&mut self, operation: &Operation) {
        let plan = Plan::new(operation, &self.moved);
        let mut wholes = self
            .unfinished
            .remove(&operation.id)
            .unwrap_or_else(|| vec![Whole::default(); self.targets.len()]);
        for ((target, whole), connections) in self.targets.iter().zip(&mut wholes).zip(&mut self.connections)
        {
            let before = plan
                .connections
                .iter()
                .map(|id| connections.take(*id, operation.at));
            let (times, flows) = Run::new(&plan, target, before).run();
            let (duration, attribution) = path::along(&plan, &times, target);
            connections.put(&plan.connections, flows, operation, duration);
            whole.duration += duration;
            whole.attribution.add(&attribution);
            whole.turns += plan.turns_moved;
        }
        if operation.continues {
            self.unfinished.insert(operation.id, wholes);
        } else {
            self.count(&operation.name, &wholes);
        }
    }

    /// The predictions: by name in the order in which names came, then by target in the order given. Parts of
    /// operations whose end never came are left out.
    pub fn finish(self) -> Vec<Prediction> {
        let Self { targets, sums, .. } = self;
        let mut predictions = Vec::with_capacity(sums.len() * targets.len());
        for (name, sums) in sums {
            for (target, sum) in targets.iter().zip(sums) {
                predictions.extend(sum.prediction(&name, target));
            }
        }
        predictions
    }

    fn count(&mut self, name: &Arc<str>, wholes: &[Whole]) {
        let place = *self.places.entry(Arc::clone(name)).or_insert_with(|| {
            self.sums
                .push((Arc::clone(name), vec![Sum::default(); wholes.len()]));
            self.sums.len() - 1
        });
        for (sum, whole) in self.sums[place].1.iter_mut().zip(wholes) {
            sum.durations.add(whole.duration);
            sum.attribution.add(&whole.attribution);
            sum.turns += whole.turns;
        }
    }
}

impl Sum {
    fn prediction(mut self, name: &Arc<str>, target: &Target) -> Option<Prediction> {
        let duration = self.durations.percentile(50)?;
        let mean = self.durations.mean()?;
        let operations = self.durations.count();
        let (low, high) = self.bounds()?;
        Some(Prediction {
            operation_name: Arc::clone(name),
            operations,
            rtt: target.link.rtt,
            rate: target.link.rate,
            link: target.link.to_string().into(),
            clients: target.clients,
            duration,
            low,
            high,
            spread: self.durations.distribution(),
            per_second: f64::from(target.clients) / mean.as_secs_f64().max(1e-9),
            turns: self.turns as f64 / operations as f64,
            bound_by: bound_by(&self.attribution),
            attribution: self.attribution,
            measured: None,
        })
    }

    /// The bounds: the 5th and 95th percentile of the replays, each moved outwards by the model's own error. With
    /// fewer than 20 replays there are no such percentiles: then least and greatest, moved outwards by a quarter of
    /// what client and server took as well, because little is known of how these vary.
    fn bounds(&mut self) -> Option<(Duration, Duration)> {
        let few = self.durations.count() < FEWEST_FOR_PERCENTILES;
        let (low, high) = if few { (0, 100) } else { (5, 95) };
        let (low, high) = (self.durations.percentile(low)?, self.durations.percentile(high)?);
        let computing = (self.attribution.client + self.attribution.server).as_secs_f64();
        let share = computing / self.attribution.total().as_secs_f64().max(1e-9);
        let margin = MODEL_ERROR + if few { UNKNOWN_VARIATION * share } else { 0.0 };
        Some((low.mul_f64(1.0 - margin), high.mul_f64(1.0 + margin)))
    }
}

fn bound_by(attribution: &Attribution) -> BoundBy {
    let kinds = [
        (BoundBy::RoundTrips, attribution.round_trip),
        (BoundBy::Rate, attribution.transfer + attribution.recovery),
        (BoundBy::Server, attribution.server),
        (BoundBy::Client, attribution.client + attribution.unknown),
    ];
    kinds
        .into_iter()
        .rev()
        .max_by_key(|(_, time)| *time)
        .map_or(BoundBy::Client, |(kind, _)| kind)
}

/// What all but a few in a hundred predictions of single exchanges are off by at most: docs/prediction.md.
const MODEL_ERROR: f64 = 0.05;
const UNKNOWN_VARIATION: f64 = 0.25;
const FEWEST_FOR_PERCENTILES: u64 = 20;
