//! Predictions per operation name and target, from many replays.

mod meeting;
mod without;

use crate::bounds::BoundsEvidence;
use crate::concurrency::{Concurrency, Ordered};
use crate::connection_pools::PoolEvidence;
use crate::connections::ConnectionHistory;
use crate::critical_path::{self, CriticalPath, Within};
use crate::examples::Examples;
use crate::held::{HeldReplay, HeldTimes};
use crate::load::Load;
use crate::locks::LockEvidence;
use crate::plan::OperationPlan;
use crate::remedies::Remedies;
use crate::replay::run_alone;
use crate::run::Computing;
use crate::sample_pool::{Pauses, SamplePool};
use crate::senders::{KeptWindows, PacedReplies, Senders, paced_round_trips};
use crate::unexplained::{MeasuredPaths, ReplayedHere};
use crate::virtual_time::VirtualTime;
use crate::wake_up::WakeUp;
use crate::workers::{Requests, Workers};
use foldhash::{HashMap, HashSet};
use link::LinkDescription;
use model::{
    Attribution, BoundBy, DistributionBuilder, Evidence, HeldPrediction, LeftOut, Margin, Operation,
    OperationStep, Order, OrderKind, Phase, Prediction, Share,
};
use std::cmp::Reverse;
use std::sync::Arc;
use std::time::Duration;
use without::RemediedConnections;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PredictionTarget {
    pub link: LinkDescription,
    /// Concurrent clients, at least one, each running operations without think time.
    pub clients: u32,
}

pub type LinkOfStep = dyn Fn(&OperationStep) -> Option<u32> + Send;

/// Replays operations on every target as they arrive. Where clients meet or share cores, some of
/// each name are kept and replayed at the end.
pub struct Predictor {
    targets: Vec<PredictionTarget>,
    links: Vec<Vec<LinkDescription>>,
    moved: Box<LinkOfStep>,
    computing: Computing,
    wake_up: WakeUp,
    places: HashMap<Arc<str>, usize>,
    names: Vec<Named>,
    ended: u64,
    waiting: Vec<Operation>,
    left_out: HashMap<usize, Vec<LeftOut>>,
    remedies: Remedies,
    remedied: RemediedConnections,
    waiting_steps: usize,
    concurrency: Concurrency,
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
    pub held: Vec<HeldPrediction>,
    pub concurrency: Concurrency,
    pub remedies: Remedies,
    pub paced_replies: PacedReplies,
    /// Mean round trips per operation added by pacing, for the name with the most.
    pub paced_round_trips: f64,
}

#[derive(Debug)]
struct Named {
    name: Arc<str>,
    operations: u64,
    first_ended: Option<u64>,
    nodes_without: usize,
    sums: Vec<Sum>,
    /// Per target, of operations replayed alone.
    examples: Vec<Examples>,
    /// Single-client replays of operations with an open order: as expected, all at once, and all in
    /// sequence.
    open_sums: [Vec<DistributionBuilder>; 3],
    pool: SamplePool,
    pauses: DistributionBuilder,
    server_margin: Margin,
    evidence: Evidence,
    /// Round trips that pacing adds on moved connections.
    paced_round_trips: f64,
    kept_windows: KeptWindows,
}

#[derive(Debug, Clone, Copy)]
struct NameMargins {
    server: [f64; 2],
    paced_round_trips: Option<f64>,
    kept_windows: [f64; 2],
    others: f64,
}

#[derive(Debug, Clone, Copy, Default)]
pub struct ReplayTotals {
    pub duration: Duration,
    pub attribution: Attribution,
    pub turns: u64,
    pub within: Within,
    pub measured: Duration,
    /// Measured duration minus its replay, in nanoseconds.
    pub unexplained: i64,
    pub saved: Duration,
    /// Whether remedies would save, but the operation was not replayed without the left-out
    /// exchanges.
    pub is_saving_open: bool,
}

#[derive(Debug, Clone, Default)]
struct Sum {
    durations: DistributionBuilder,
    attribution: Attribution,
    turns: u64,
    within: Within,
    /// Operations without any wait: messages that are not answered.
    idle: u64,
    workers: Option<u32>,
    /// Duration of a closed loop; `None` for operations replayed alone.
    elapsed: Option<Duration>,
    /// The median under alternative assumptions about the clients.
    medians: Vec<Duration>,
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
            computing: Computing::default(),
            wake_up: WakeUp::None,
            places: HashMap::default(),
            names: Vec::new(),
            ended: 0,
            waiting: Vec::new(),
            left_out: HashMap::default(),
            remedies: Remedies::default(),
            remedied: RemediedConnections::default(),
            waiting_steps: 0,
            concurrency: Concurrency::default(),
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
    pub fn with_computing(self, computing: Computing) -> Self {
        Self { computing, ..self }
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

    fn push(&mut self, operation: Operation) {
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
        for (place, operation) in operations.iter().enumerate() {
            let ordered = self.concurrency.ordered(operation);
            self.replay(operation, &ordered, left_out.get(&place).map(Vec::as_slice));
        }
    }

    /// `left_out` is `None` if findings were not searched.
    fn replay(&mut self, measured: &Operation, ordered: &Ordered, left_out: Option<&[LeftOut]>) {
        let operation = ordered.expected.as_ref().unwrap_or(measured);
        let plan = OperationPlan::new(operation, &self.moved);
        let place = self.name_index(&operation.name);
        self.replay_open(measured, ordered, place);
        self.learn_margins(operation, place);
        let has_remedies = left_out.is_none_or(|left_out| !left_out.is_empty());
        let is_saving_open = left_out.is_some_and(|left_out| left_out.iter().any(LeftOut::is_nothing));
        let saved = self.replay_without(operation, &plan, place, left_out.unwrap_or_default());
        let here = self.measured_paths.replay(operation, &plan);
        let mut wholes = self.replay_alone(operation, &plan, place, here);
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
            self.names[place].count(&wholes, self.ended);
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

    fn learn_margins(&mut self, operation: &Operation, place: usize) {
        let named = &mut self.names[place];
        named.server_margin.add(operation.attribution.server_margin);
        let mut opened = HashSet::default();
        for step in &operation.steps {
            let exchange = &step.exchange;
            named.evidence.step(step);
            self.paced_replies.learn(exchange);
            if exchange.phase == Phase::Connect {
                opened.insert(exchange.connection);
            }
            if (self.moved)(step).is_some() {
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
            let plan = OperationPlan::new(operation, &self.moved);
            for target in 0..self.targets.len() {
                let links = &self.links[target];
                let connections = &self.connections[target];
                let flows = plan
                    .connections
                    .iter()
                    .map(|id| connections.peek_flows(*id, operation.at));
                let (times, _) = run_alone(&plan, links, self.wake_up, flows);
                let critical_path =
                    critical_path::along(&plan, VirtualTime::BEGIN, &times, plan.client_after, links);
                self.names[place].open_sums[index][target].add(critical_path.duration);
            }
        }
    }

    pub fn finish(self) -> Vec<Prediction> {
        self.finish_all().predictions
    }

    /// Returns all results, with no prediction for a name with too many of others' round trips.
    pub fn finish_all(mut self) -> Predicted {
        self.replay_waiting();
        self.simulate_contention();
        self.names
            .sort_by_key(|named| (Reverse(named.cost()), named.first_ended));
        let each = |named: &Named| named.paced_round_trips / named.operations.max(1) as f64;
        let paced_round_trips = self.names.iter().map(each).fold(0.0, f64::max);
        let paced = self.senders == Senders::Paced || self.paced_replies.are_paced();
        let mut predictions = Vec::with_capacity(self.names.len() * self.targets.len());
        let mut names = std::mem::take(&mut self.names);
        names.retain(|named| named.evidence.enough_own().is_ok());
        for mut named in names {
            let order = self.concurrency.order(&named.name);
            let before = predictions.len();
            for (index, target) in self.targets.iter().enumerate() {
                predictions.extend(named.prediction(index, target, order, paced));
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
        target.clients <= 1 && self.computing == Computing::default()
    }

    fn meet_others(&self) -> bool {
        self.targets.iter().any(|target| !self.is_alone(target))
    }

    /// Returns per target the replays of an operation, or `None` while parts are missing.
    fn replay_alone(
        &mut self,
        operation: &Operation,
        plan: &OperationPlan,
        place: usize,
        here: ReplayedHere,
    ) -> Vec<Vec<ReplayTotals>> {
        let known = self.unfinished.remove(&operation.id);
        let mut wholes = known.unwrap_or_else(|| vec![Vec::new(); self.targets.len()]);
        for (index, target) in self.targets.iter().enumerate() {
            if !self.is_alone(target) {
                continue;
            }
            let connections = &mut self.connections[index];
            let flows = plan
                .connections
                .iter()
                .map(|id| connections.take_flows(*id, operation.at));
            let mut flows: Vec<_> = flows.collect();
            let wholes = &mut wholes[index];
            let replays = if wholes.is_empty() {
                replays(&self.links[index], self.names[place].operations)
            } else {
                wholes.len()
            };
            wholes.resize(replays, ReplayTotals::default());
            for (number, whole) in wholes.iter_mut().enumerate().rev() {
                let links = &self.links[index];
                let links: Vec<LinkDescription> = links
                    .iter()
                    .map(|link| with_own_seed(link, operation.id, number as u64))
                    .collect();
                let before = if number == 0 {
                    std::mem::take(&mut flows)
                } else {
                    flows.clone()
                };
                let (times, flows) = run_alone(plan, &links, self.wake_up, before.into_iter());
                let mut critical_path =
                    critical_path::along(plan, VirtualTime::BEGIN, &times, plan.client_after, &links);
                let replayed = critical_path.duration;
                critical_path.wait(here.wait(critical_path.attribution.transfer));
                whole.add(&critical_path, plan.turns_moved);
                whole.measured += operation.duration;
                if !operation.transactions.is_empty() {
                    let replay = HeldReplay {
                        operation,
                        plan,
                        target: index,
                        number,
                        times: &times,
                        critical_path: &critical_path,
                    };
                    self.held.replayed(&replay, self.targets.len());
                }
                if number == 0 {
                    connections.put(&plan.connections, flows, operation, replayed);
                }
            }
        }
        wholes
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

impl Named {
    fn count(&mut self, wholes: &[Vec<ReplayTotals>], number: u64) {
        self.operations += 1;
        self.first_ended.get_or_insert(number);
        for (sum, wholes) in self.sums.iter_mut().zip(wholes) {
            wholes.iter().for_each(|whole| sum.add(whole));
        }
        for (examples, wholes) in self.examples.iter_mut().zip(wholes) {
            if let Some(whole) = wholes.first() {
                examples.add(whole);
            }
        }
    }

    /// With an open order, the bounds include both answers.
    fn prediction(
        &mut self,
        index: usize,
        target: &PredictionTarget,
        order: Option<Order>,
        paced: bool,
    ) -> Option<Prediction> {
        let sum = std::mem::take(&mut self.sums[index]);
        let each = |sum: f64| sum / self.operations.max(1) as f64;
        let margins = NameMargins {
            server: [self.server_margin.below, self.server_margin.above]
                .map(|margin| each(margin.as_secs_f64())),
            paced_round_trips: paced.then(|| each(self.paced_round_trips)),
            kept_windows: self.kept_windows.seconds(&target.link, self.operations),
            others: self.evidence.others().map_or(0.0, Share::as_fraction),
        };
        let mut prediction = sum.prediction(&self.name, self.operations, target, margins)?;
        prediction.order = order;
        prediction.unexplained = self.examples[index].unexplained();
        prediction.examples = self.examples[index].finish();
        let mut open = self.open_sums.iter_mut();
        let mut next = || open.next()?[index].percentile(50);
        if order.is_some_and(|order| order.kind == OrderKind::Open)
            && let (Some(expected), Some(at_once), Some(in_sequence)) = (next(), next(), next())
        {
            let share = |other: Duration| other.as_secs_f64() / expected.as_secs_f64().max(1e-9);
            prediction.low = prediction.low.mul_f64(share(at_once).min(1.0));
            prediction.high = prediction.high.mul_f64(share(in_sequence).max(1.0));
        }
        Some(prediction)
    }

    fn cost(&self) -> u128 {
        let of_target = |sum: &Sum| {
            let replays = u128::from(sum.durations.count() + sum.idle).max(1);
            sum.attribution.total().as_nanos() * u128::from(self.operations) / replays
        };
        self.sums.iter().map(of_target).sum()
    }

    /// Median measured pause between two operations of a client, if short enough for a program
    /// rather than a user.
    fn pause(&mut self) -> u64 {
        let pause = self.pauses.percentile(50).unwrap_or_default();
        if pause <= MAX_PAUSE {
            pause.as_nanos() as u64
        } else {
            0
        }
    }
}

impl ReplayTotals {
    pub fn add(&mut self, critical_path: &CriticalPath, turns: u64) {
        self.duration += critical_path.duration;
        self.attribution.add(&critical_path.attribution);
        self.within.add(&critical_path.within);
        self.turns += turns;
    }
}

impl Sum {
    fn add(&mut self, whole: &ReplayTotals) {
        if whole.turns == 0 && whole.duration.is_zero() {
            self.idle += 1;
            return;
        }
        self.durations.add(whole.duration);
        self.attribution.add(&whole.attribution);
        self.turns += whole.turns;
        self.within.add(&whole.within);
    }

    /// Mean round trips on the critical path; `None` on a link without distance.
    fn on_path(&self, replays: u64, rtt: Duration) -> Option<f64> {
        let round_trips = self.attribution.round_trip.as_secs_f64() / replays as f64;
        (!rtt.is_zero()).then(|| round_trips / rtt.as_secs_f64())
    }

    fn prediction(
        mut self,
        name: &Arc<str>,
        operations: u64,
        target: &PredictionTarget,
        margins: NameMargins,
    ) -> Option<Prediction> {
        // Together with operations that wait they would only pull the median to 0.
        if self.durations.count() == 0 && self.idle > 0 {
            self.durations.add(Duration::ZERO);
        }
        let duration = self.durations.percentile(50)?;
        let replays = self.durations.count();
        let turns = self.turns as f64 / replays as f64;
        let evidence = BoundsEvidence {
            operations,
            turns,
            waking: self.within.waking.as_secs_f64() / replays as f64,
            waking_alone: self.within.waking_alone.as_secs_f64() / replays as f64,
            is_lossy: target.link.loss.is_some(),
            server_margin: margins.server,
            pacing: margins
                .paced_round_trips
                .map(|round_trips| round_trips * target.link.rtt.as_secs_f64()),
            kept_windows: margins.kept_windows,
            others: margins.others,
            attribution: &self.attribution,
        };
        let (evidence_low, evidence_high) = evidence.bounds(&mut self.durations)?;
        let (mut low, mut high) = (evidence_low, evidence_high);
        for other in &self.medians {
            low = low.min(evidence_low.saturating_sub(duration.saturating_sub(*other)));
            high = high.max(evidence_high.saturating_add(other.saturating_sub(duration)));
        }
        let per_second = match self.elapsed {
            Some(elapsed) => replays as f64 / elapsed.as_secs_f64().max(1e-9),
            None => f64::from(target.clients) / self.durations.mean()?.as_secs_f64().max(1e-9),
        };
        Some(Prediction {
            operation_name: Arc::clone(name),
            operations,
            rtt: target.link.rtt,
            rate: target.link.rate,
            link: target.link.to_string().into(),
            clients: target.clients,
            workers: self.workers,
            duration,
            low,
            high,
            spread: self.durations.distribution(),
            per_second,
            turns,
            slope: self.on_path(replays, target.link.rtt).unwrap_or(turns),
            order: None,
            bound_by: bound_by(&self.attribution, &self.within),
            attribution: self.attribution,
            unexplained: None,
            examples: None,
            measured: None,
        })
    }
}

/// Sets the slopes of one name over predictions that differ only in rtt, nearest to farthest. A
/// single prediction keeps the round trips on its path.
pub fn set_slopes(predictions: &mut [Prediction]) {
    let slopes: Vec<Option<f64>> = predictions.iter().map(|one| slope(one, predictions)).collect();
    for (prediction, slope) in predictions.iter_mut().zip(slopes) {
        prediction.slope = slope.unwrap_or(prediction.slope);
    }
}

fn slope(one: &Prediction, all: &[Prediction]) -> Option<f64> {
    let besides = |prediction: &Prediction| {
        let link = prediction.link.split_whitespace();
        let others: Vec<&str> = link.filter(|setting| !setting.starts_with("rtt=")).collect();
        (prediction.clients, others.join(" "))
    };
    let own = besides(one);
    let alike = || all.iter().filter(|other| besides(other) == own);
    let nearest = alike().min_by_key(|other| other.rtt)?;
    let farthest = alike().max_by_key(|other| other.rtt)?;
    let apart = farthest.rtt.saturating_sub(nearest.rtt).as_secs_f64();
    let longer = farthest.duration.as_secs_f64() - nearest.duration.as_secs_f64();
    (apart > 0.0).then(|| longer / apart)
}

/// Replays of an operation after `before` others of its name: several on a link with random
/// effects, most for the first operations.
fn replays(links: &[LinkDescription], before: u64) -> usize {
    let draws = |link: &LinkDescription| link.loss.is_some() || link.jitter.is_some();
    if !links.iter().any(draws) {
        return 1;
    }
    (REPLAYS_OF_FIRST / (before + 1).saturating_mul(before + 1)).max(1) as usize
}

/// A link with a separate random seed per replay.
fn with_own_seed(link: &LinkDescription, operation: u64, replay: u64) -> LinkDescription {
    let own = operation.wrapping_mul(REPLAYS_OF_FIRST).wrapping_add(replay);
    LinkDescription {
        seed: link.seed.wrapping_add(own.wrapping_mul(SEED_STEP)),
        ..*link
    }
}

fn bound_by(attribution: &Attribution, within: &Within) -> BoundBy {
    let Within {
        waking: _,
        waking_alone: _,
        held_back,
        window,
        unexplained,
    } = *within;
    let own = attribution.client + attribution.unknown;
    let transfer = attribution.transfer + attribution.recovery;
    let kinds = [
        (BoundBy::RoundTrips, attribution.round_trip),
        (BoundBy::Rate, transfer.saturating_sub(held_back + window)),
        (BoundBy::Window, window),
        (BoundBy::DelayedAcks, held_back),
        (BoundBy::Server, attribution.server + attribution.pooler),
        (BoundBy::Client, own.saturating_sub(unexplained)),
        (BoundBy::Unexplained, unexplained),
    ];
    kinds
        .into_iter()
        .rev()
        .max_by_key(|(_, time)| *time)
        .map_or(BoundBy::Client, |(kind, _)| kind)
}

/// Steps of operations learned from together before replay, about 20 MB.
pub const LEARNED_STEPS: usize = 20_000;
pub const LEARNED_OPERATIONS: usize = 10_000;
/// Longer pauses between operations are a user's.
const MAX_PAUSE: Duration = Duration::from_millis(1);
const REPLAYS_OF_FIRST: u64 = 64;
/// An odd number near 2^64 divided by the golden ratio: neighbouring seeds lie far apart.
const SEED_STEP: u64 = 0x9E37_79B9_7F4A_7C15;
