//! Predictions per operation name and target, from many replays.

mod alone;
mod closed;
mod examples;
mod meeting;
mod named;
mod totals;
mod without;

pub use totals::{ReplayTotals, set_slopes};

use crate::bounds;
use crate::concurrency::{Concurrency, Ordered};
use crate::connection_pools::PoolEvidence;
use crate::connections::ConnectionHistory;
use crate::held::HeldTimes;
use crate::load::Load;
use crate::locks::LockEvidence;
use crate::plan::{Crossing, OperationPlan};
use crate::remedies::Remedies;
use crate::replay::run_alone;
use crate::run::Computing;
use crate::sample_pool::{Pauses, SamplePool};
use crate::senders::{KeptWindows, PacedReplies, Senders, paced_round_trips};
use crate::sequence::InSequence;
use crate::target::{ComputingByClients, PredictionTarget};
use crate::timers::Timers;
use crate::unexplained::MeasuredPaths;
use crate::wake_up::WakeUp;
use crate::workers::{Requests, Workers};
use closed::ClosedConnections;
use examples::Examples;
use foldhash::{HashMap, HashSet};
use link::LinkDescription;
use model::{
    ConnectionId, DistributionBuilder, Evidence, HeldPrediction, LeftOut, Margin, Operation, OperationStep,
    Phase, Prediction,
};
use named::Named;
use std::cmp::Reverse;
use std::sync::Arc;
use totals::Sum;
use without::RemediedConnections;

pub type LinkOfStep = dyn Fn(&OperationStep) -> Option<u32> + Send;

/// Replays operations on every target as they arrive. Where clients meet or share cores, some of
/// each name are kept and replayed at the end.
pub struct Predictor {
    targets: Vec<PredictionTarget>,
    links: Vec<Vec<LinkDescription>>,
    moved: Box<LinkOfStep>,
    computing: ComputingByClients,
    wake_up: WakeUp,
    places: HashMap<Arc<str>, usize>,
    names: Vec<Named>,
    ended: u64,
    waiting: Vec<Operation>,
    /// Indexed by place in `waiting`.
    left_out: HashMap<usize, Vec<LeftOut>>,
    remedies: Remedies,
    remedied: RemediedConnections,
    waiting_steps: usize,
    closed: ClosedConnections,
    concurrency: Concurrency,
    timers: Timers,
    unfinished: HashMap<u64, Vec<Vec<ReplayTotals>>>,
    connections: Vec<ConnectionHistory>,
    measured_paths: MeasuredPaths,
    held: HeldTimes,
    load: Load,
    pauses: Pauses,
    workers: Workers,
    senders: Senders,
    paced_replies: PacedReplies,
    requests: Requests,
    locks: LockEvidence,
    pools: PoolEvidence,
}

#[derive(Debug, Default)]
pub struct Predicted {
    /// By name, longest total over all targets first (ties: first ended), then by target in order.
    /// Incomplete operations are left out.
    pub predictions: Vec<Prediction>,
    /// Like `remedies`, only of single-client targets without shared cores.
    pub held: Vec<HeldPrediction>,
    pub concurrency: Concurrency,
    pub remedies: Remedies,
    pub paced_replies: PacedReplies,
    /// Mean round trips per operation added by pacing, for the name with the most.
    pub paced_round_trips: f64,
}

impl Predictor {
    /// `moved` selects the exchanges on connections that move to the target's link.
    pub fn new(targets: Vec<PredictionTarget>, moved: Box<dyn Fn(&OperationStep) -> bool + Send>) -> Self {
        let targets = targets.into_iter().map(|target| (target, Vec::new()));
        Self::over_links(targets.collect(), Box::new(move |step| moved(step).then_some(0)))
    }

    /// Predicts for targets with several links. `moved` returns the link of an exchange's
    /// connection: 0 for the target's main link, `None` for connections that stay.
    pub fn over_links(
        targets: Vec<(PredictionTarget, Vec<LinkDescription>)>,
        moved: Box<LinkOfStep>,
    ) -> Self {
        let links = targets.iter().map(|(target, further)| {
            let mut links = vec![target.link];
            links.extend(further);
            links
        });
        let links = links.collect();
        let targets: Vec<PredictionTarget> = targets.into_iter().map(|(target, _)| target).collect();
        Self {
            connections: vec![ConnectionHistory::default(); targets.len()],
            targets,
            links,
            moved,
            computing: ComputingByClients::default(),
            wake_up: WakeUp::None,
            places: HashMap::default(),
            names: Vec::new(),
            ended: 0,
            waiting: Vec::new(),
            left_out: HashMap::default(),
            remedies: Remedies::default(),
            remedied: RemediedConnections::default(),
            waiting_steps: 0,
            closed: ClosedConnections::default(),
            concurrency: Concurrency::default(),
            timers: Timers::default(),
            unfinished: HashMap::default(),
            measured_paths: MeasuredPaths::default(),
            held: HeldTimes::default(),
            load: Load::default(),
            pauses: Pauses::default(),
            workers: Workers::Inferred,
            senders: Senders::default(),
            paced_replies: PacedReplies::default(),
            requests: Requests::default(),
            locks: LockEvidence::default(),
            pools: PoolEvidence::default(),
        }
    }

    #[must_use]
    pub fn with_computing(self, computing: impl Into<ComputingByClients>) -> Self {
        Self {
            computing: computing.into(),
            ..self
        }
    }

    /// Sets the allowance for sides that rest longer between messages than measured. There is none
    /// by default.
    #[must_use]
    pub fn with_wake_up(self, wake_up: WakeUp) -> Self {
        Self { wake_up, ..self }
    }

    /// Limits the requests that the server works on at once (by default as measured).
    #[must_use]
    pub fn with_workers(self, workers: Workers) -> Self {
        Self { workers, ..self }
    }

    /// Sets how senders send (by default as seen in the replies).
    #[must_use]
    pub fn with_senders(self, senders: Senders) -> Self {
        Self { senders, ..self }
    }

    /// Adds an operation, or a part of a long one ([`Operation::continues`]), for replay on every
    /// target. Connections keep their windows, so add operations in the order they begin.
    pub fn add(&mut self, operation: &Operation) {
        self.process_operation(operation.clone());
    }

    pub fn process_operation(&mut self, operation: Operation) {
        self.push(operation);
    }

    /// Adds an operation and replays it also without the exchanges that remedies leave out.
    pub fn take_with(&mut self, operation: Operation, left_out: Vec<LeftOut>) {
        self.left_out.insert(self.waiting.len(), left_out);
        self.push(operation);
    }

    /// Its windows are forgotten soon after.
    pub fn close_connection(&mut self, connection: ConnectionId) {
        if let Some(oldest) = self.closed.push(connection) {
            self.forget_connection(oldest);
        }
    }

    fn forget_connection(&mut self, connection: ConnectionId) {
        let histories = self.connections.iter_mut();
        histories.for_each(|history| history.forget_connection(connection));
        self.measured_paths.forget_connection(connection);
        self.remedied.forget_connection(connection);
    }

    fn push(&mut self, operation: Operation) {
        self.closed.operation_added();
        self.waiting_steps += operation.steps.len();
        self.waiting.push(operation);
        if self.waiting_steps >= LEARNED_STEPS || self.waiting.len() >= LEARNED_OPERATIONS {
            self.replay_waiting();
        }
    }

    fn replay_waiting(&mut self) {
        let operations = std::mem::take(&mut self.waiting);
        let left_out = std::mem::take(&mut self.left_out);
        self.waiting_steps = 0;
        self.concurrency.learn(&operations);
        self.concurrency.derive_dependencies(&operations);
        self.timers.learn(&operations);
        let steps = operations.iter().flat_map(|operation| &operation.steps);
        steps.for_each(|step| self.paced_replies.learn(&step.exchange));
        for (place, operation) in operations.iter().enumerate() {
            let ordered = self.concurrency.ordered(operation);
            self.replay(operation, &ordered, left_out.get(&place).map(Vec::as_slice));
            while let Some(connection) = self.closed.due(operations.len() - place - 1) {
                self.forget_connection(connection);
            }
        }
    }

    /// `left_out` is `None` if findings were not searched.
    fn replay(&mut self, measured: &Operation, ordered: &Ordered, left_out: Option<&[LeftOut]>) {
        let operation = ordered.expected.as_ref().unwrap_or(measured);
        let mut plan = self.plan(operation);
        let place = self.name_index(&operation.name);
        self.replay_open(measured, ordered, place);
        self.learn_margins(operation, &plan, place);
        let has_remedies = left_out.is_none_or(|left_out| !left_out.is_empty());
        let is_saving_open = left_out.is_some_and(|left_out| left_out.iter().any(LeftOut::is_nothing));
        let saved = self.replay_without(operation, &plan, place, left_out.unwrap_or_default());
        let sequence = InSequence::from_plan(&plan);
        let here = self
            .measured_paths
            .replay(operation, &mut plan, sequence.as_ref());
        let mut wholes = self.replay_alone(operation, &plan, sequence.as_ref(), place, here);
        for (wholes, saved) in wholes.iter_mut().zip(saved) {
            if let Some(whole) = wholes.first_mut() {
                whole.unexplained = whole.unexplained.saturating_add(here.unexplained_ns);
                whole.saved += saved.unwrap_or_default();
                whole.is_saving_open |= is_saving_open || (saved.is_none() && has_remedies);
            }
        }
        if operation.continues {
            self.unfinished.insert(operation.id, wholes);
        } else {
            self.ended += 1;
            self.names[place].count(wholes, self.ended);
        }
        if self.meet_others() {
            self.load.add(&plan);
            self.requests.add(&plan);
            self.locks.add(&plan);
            self.pools.add(&plan);
            let named = &mut self.names[place];
            self.pauses.add(operation, &mut named.pauses);
            named.pool.add(operation, plan);
        }
    }

    fn plan(&self, operation: &Operation) -> OperationPlan {
        let mut plan = OperationPlan {
            senders: self.senders_known(),
            ..OperationPlan::new(operation, &self.moved)
        };
        self.timers.set(&operation.name, &mut plan);
        plan
    }

    /// As seen in the replies so far, unless they were set: operations replayed before keep cubic.
    const fn senders_known(&self) -> Senders {
        if self.paced_replies.are_paced() {
            Senders::Paced
        } else {
            self.senders
        }
    }

    fn learn_margins(&mut self, operation: &Operation, plan: &OperationPlan, place: usize) {
        let named = &mut self.names[place];
        named.server_margin.add(operation.attribution.server_margin);
        let mut opened = HashSet::default();
        for (step, first) in operation.steps.iter().zip(&plan.first_nodes) {
            let exchange = &step.exchange;
            named.evidence.step(step);
            if exchange.phase == Phase::Connect {
                opened.insert(exchange.connection);
            }
            if !matches!(plan.nodes[first.index()].crossing, Crossing::Measured { .. }) {
                named.paced_round_trips += paced_round_trips(exchange);
                if !opened.contains(&exchange.connection) {
                    named.kept_windows.learn(exchange.steps());
                }
            }
        }
    }

    fn replay_open(&mut self, measured: &Operation, ordered: &Ordered, place: usize) {
        if ordered.at_once.is_none() && ordered.in_sequence.is_none() {
            return;
        }
        let expected = ordered.expected.as_ref().unwrap_or(measured);
        let at_once = ordered.at_once.as_ref().unwrap_or(expected);
        let in_sequence = ordered.in_sequence.as_ref().unwrap_or(expected);
        for (index, operation) in [expected, at_once, in_sequence].into_iter().enumerate() {
            let plan = self.plan(operation);
            let sequence = InSequence::from_plan(&plan);
            for target in 0..self.targets.len() {
                let links = &self.links[target];
                let connections = &self.connections[target];
                let flows = plan
                    .connections
                    .iter()
                    .map(|id| connections.peek_flows(*id, operation.at));
                let alone = run_alone(&plan, sequence.as_ref(), links, &self.wake_up, flows);
                self.names[place].open_sums[index][target].add(alone.critical_path.duration);
            }
        }
    }

    pub fn finish(self) -> Vec<Prediction> {
        self.finish_all().predictions
    }

    /// Returns all results, with no prediction for a name with too many of others' round trips.
    pub fn finish_all(mut self) -> Predicted {
        self.replay_waiting();
        self.names.iter_mut().for_each(Named::count_first);
        self.simulate_contention();
        self.names
            .sort_by_key(|named| (Reverse(named.cost()), named.first_ended));
        let each = |named: &Named| named.paced_round_trips / named.operations.max(1) as f64;
        let paced_round_trips = self.names.iter().map(each).fold(0.0, f64::max);
        let paced = self.senders_known() == Senders::Paced;
        let mut predictions = Vec::with_capacity(self.names.len() * self.targets.len());
        let mut names = std::mem::take(&mut self.names);
        names.retain(|named| named.evidence.enough_own().is_ok());
        for mut named in names {
            let order = self.concurrency.order(&named.name);
            let before = predictions.len();
            for (index, target) in self.targets.iter().enumerate() {
                let mut prediction = named.prediction(index, target, order, paced, self.wake_up.sleep());
                if let Some(prediction) = &mut prediction {
                    bounds::scale(prediction, &self.links[index], self.wake_up);
                }
                predictions.extend(prediction);
            }
            set_slopes(&mut predictions[before..]);
        }
        Predicted {
            predictions,
            held: self.held.finish(&self.targets),
            concurrency: self.concurrency,
            remedies: self.remedies,
            paced_replies: self.paced_replies,
            paced_round_trips,
        }
    }

    fn is_alone(&self, target: &PredictionTarget) -> bool {
        target.clients <= 1 && self.computing.one == Computing::default()
    }

    fn meet_others(&self) -> bool {
        self.targets.iter().any(|target| !self.is_alone(target))
    }

    fn name_index(&mut self, name: &Arc<str>) -> usize {
        if let Some(place) = self.places.get(name) {
            return *place;
        }
        let place = self.names.len();
        self.places.insert(Arc::clone(name), place);
        self.names.push(Named {
            name: Arc::clone(name),
            operations: 0,
            first_ended: None,
            nodes_without: 0,
            sums: vec![Sum::default(); self.targets.len()],
            first: Vec::new(),
            examples: vec![Examples::default(); self.targets.len()],
            open_sums: [(); 3].map(|()| vec![DistributionBuilder::new(); self.targets.len()]),
            pool: SamplePool::default(),
            pauses: DistributionBuilder::new(),
            server_margin: Margin::default(),
            evidence: Evidence::default(),
            paced_round_trips: 0.0,
            kept_windows: KeptWindows::default(),
        });
        place
    }
}

/// Steps of operations learned from together before replay, about 20 MB.
pub const LEARNED_STEPS: usize = 20_000;
pub const LEARNED_OPERATIONS: usize = 10_000;
