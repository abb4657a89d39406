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

/// Where operations are predicted for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PredictionTarget {
    /// The link the moved connections get.
    pub link: LinkDescription,
    /// Clients at once: each with one operation after another, without a pause that a user makes. At least
    /// one.
    pub clients: u32,
}

/// Returns which link the connection of an exchange moves to.
pub type LinkOfStep = dyn Fn(&OperationStep) -> Option<u32> + Send;

/// Replays operations on every target as they come. Where they meet others (several clients, shared cores),
/// some of each name are kept and replayed at the end.
pub struct Predictor {
    targets: Vec<PredictionTarget>,
    /// Per target, all its links; the first is that of the target.
    links: Vec<Vec<LinkDescription>>,
    moved: Box<LinkOfStep>,
    computing: Computing,
    wake_up: WakeUp,
    /// Place of each name in `names`.
    places: HashMap<Arc<str>, usize>,
    names: Vec<Named>,
    /// How many operations have come to their end.
    ended: u64,
    /// Operations that wait until enough is known of what waited for what, and how many steps they have.
    waiting: Vec<Operation>,
    /// What remedies leave out of them, by their place.
    left_out: HashMap<usize, Vec<LeftOut>>,
    remedies: Remedies,
    /// What earlier operations left of their connections without what remedies leave out.
    remedied: RemediedConnections,
    waiting_steps: usize,
    concurrency: Concurrency,
    /// Operations of which parts have come and more will, by their number; per target.
    unfinished: HashMap<u64, Vec<Vec<ReplayTotals>>>,
    /// What earlier operations left of their connections; per target.
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

/// All that a predictor has to say.
#[derive(Debug, Default)]
pub struct Predicted {
    /// What the operations take: by name, the one whose operations take longest in all first (over all
    /// targets; of equal ones the one that ended first), then by target in the order given. Parts of
    /// operations whose end never came are left out.
    pub predictions: Vec<Prediction>,
    /// How long their transactions are open, on targets on which operations are replayed one by one.
    pub held: Vec<HeldPrediction>,
    /// What is known of the order in which operations did what they did.
    pub concurrency: Concurrency,
    /// What remedies of findings save, on targets on which operations are replayed one by one.
    pub remedies: Remedies,
    /// What the replies show of how senders send.
    pub paced_replies: PacedReplies,
    /// Round trips that pacing adds to an operation, on average: of the name to whose operations it adds
    /// most.
    pub paced_round_trips: f64,
}

/// All operations of one name.
#[derive(Debug)]
struct Named {
    name: Arc<str>,
    operations: u64,
    first_ended: Option<u64>,
    /// Nodes of its operations that were replayed without what remedies leave out.
    nodes_without: usize,
    /// Per target.
    sums: Vec<Sum>,
    /// Likewise, of operations replayed alone.
    examples: Vec<Examples>,
    /// The same by one client alone of operations whose order is open: as expected, with everything at once
    /// that may be, and with everything in sequence.
    open_sums: [Vec<DistributionBuilder>; 3],
    pool: SamplePool,
    pauses: DistributionBuilder,
    /// By how much the server's part of them all may be wrong.
    server_margin: Margin,
    /// How many of their round trips are their own.
    evidence: Evidence,
    /// Round trips that senders which space out add to them all, on the moved connections.
    paced_round_trips: f64,
    kept_windows: KeptWindows,
}

/// What the bounds of a name rest on besides its replays, of one operation.
#[derive(Debug, Clone, Copy)]
struct NameMargins {
    /// By how many seconds the server's part may be shorter, and longer.
    server: [f64; 2],
    /// Round trips that pacing adds; `None` if senders send as the model does.
    paced_round_trips: Option<f64>,
    kept_windows: [f64; 2],
    /// The share of the round trips that is another operation's, most likely.
    others: f64,
}

/// One operation on one target.
#[derive(Debug, Clone, Copy, Default)]
pub struct ReplayTotals {
    /// What it takes.
    pub duration: Duration,
    /// Where that goes.
    pub attribution: Attribution,
    /// Round trips of its moved exchanges.
    pub turns: u64,
    /// What the attribution does not tell apart.
    pub within: Within,
    /// What it took when it was measured.
    pub measured: Duration,
    /// Nanoseconds of that which the model does not explain; negative where its replay there takes longer.
    pub unexplained: i64,
    /// What all remedies together save of it.
    pub saved: Duration,
    /// Some remedies have something to save of it, and it was not replayed without that.
    pub is_saving_open: bool,
}

/// Replays of all operations of one name on one target.
#[derive(Debug, Clone, Default)]
struct Sum {
    durations: DistributionBuilder,
    attribution: Attribution,
    turns: u64,
    within: Within,
    /// Operations that waited for nothing and took no time: messages that are not answered.
    idle: u64,
    /// Requests that the server works on at once, where that is limited.
    workers: Option<u32>,
    /// How long a crowd ran; `None` for operations replayed alone.
    elapsed: Option<Duration>,
    /// The median in other surroundings in which the clients may be.
    medians: Vec<Duration>,
}

impl Predictor {
    /// One that predicts for `targets`; `moved` says which exchanges' connections move to the target's link.
    pub fn new(targets: Vec<PredictionTarget>, moved: Box<dyn Fn(&OperationStep) -> bool + Send>) -> Self {
        let targets = targets.into_iter().map(|target| (target, Vec::new()));
        Self::over_links(targets.collect(), Box::new(move |step| moved(step).then_some(0)))
    }

    /// One for targets with several links at once: each target has further ones besides its own. `moved` says
    /// which of the target's links the connection of an exchange moves to, its own being number 0; absent for
    /// those that stay.
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

    /// The same, with cores that all clients, or all servers, share: in the measurement, and on every target.
    #[must_use]
    pub fn with_computing(self, computing: Computing) -> Self {
        Self { computing, ..self }
    }

    /// The same, with or without an allowance for sides that rest longer between two messages than measured;
    /// without at first.
    #[must_use]
    pub fn with_wake_up(self, wake_up: WakeUp) -> Self {
        Self { wake_up, ..self }
    }

    /// The same, with a server that works on a limited number of requests at once; initially as many as the
    /// measurement shows.
    #[must_use]
    pub fn with_workers(self, workers: Workers) -> Self {
        Self { workers, ..self }
    }

    /// The same, with senders of which it is known how they send; initially as replies show.
    #[must_use]
    pub fn with_senders(self, senders: Senders) -> Self {
        Self { senders, ..self }
    }

    /// Takes one operation, or one part of a long one ([`Operation::continues`]), to be replayed on every
    /// target. Connections keep their windows from operation to operation: add these in the order in which
    /// they begin.
    pub fn add(&mut self, operation: &Operation) {
        self.process_operation(operation.clone());
    }

    /// As [`Predictor::add`], for who needs it no more.
    pub fn process_operation(&mut self, operation: Operation) {
        self.push(operation);
    }

    /// The same, with what the remedies of findings leave out of it: it is replayed without that too.
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

    /// Learns from all operations that wait what waited for what in them, and replays them.
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

    /// `left_out` is absent where nobody looked for findings.
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

    /// Learns what the bounds of the operation's name rest on.
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

    /// Where the order is open: replays the operation with all at once that may be, and with all in sequence.
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

    /// The predictions alone ([`Predicted::predictions`]).
    pub fn finish(self) -> Vec<Prediction> {
        self.finish_all().predictions
    }

    /// All that was predicted, and what is known of the operations. Nothing is predicted for a name of which
    /// too many round trips may be others'.
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

    /// Whether operations of this target are replayed one by one, as they come.
    fn is_alone(&self, target: &PredictionTarget) -> bool {
        target.clients <= 1 && self.computing == Computing::default()
    }

    fn meet_others(&self) -> bool {
        self.targets.iter().any(|target| !self.is_alone(target))
    }

    /// For each target, the replays of an operation of which this is all, or one part more.
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

    /// On a target. Where the order is open the bounds hold both answers.
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

    /// Nanoseconds that all its operations would take, over all targets.
    fn cost(&self) -> u128 {
        let of_target = |sum: &Sum| {
            let replays = u128::from(sum.durations.count() + sum.idle).max(1);
            sum.attribution.total().as_nanos() * u128::from(self.operations) / replays
        };
        self.sums.iter().map(of_target).sum()
    }

    /// What a client does between two operations: the median of what was measured, if that is the time of a
    /// program and not of a user.
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
    /// Adds one part more.
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

    /// Round trips on the path that the duration follows, mean; absent on a link without distance.
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

/// The slopes of one name's predictions: over those that differ in the round trip alone, from the nearest to
/// the farthest. Where there is one only, it is left at the round trips on its path.
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

/// How often an operation is replayed, of whose name `before` came before: more than once where the link
/// draws what happens, the first operations most.
fn replays(links: &[LinkDescription], before: u64) -> usize {
    let draws = |link: &LinkDescription| link.loss.is_some() || link.jitter.is_some();
    if !links.iter().any(draws) {
        return 1;
    }
    (REPLAYS_OF_FIRST / (before + 1).saturating_mul(before + 1)).max(1) as usize
}

/// The link as one replay meets it: with draws of its own.
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

/// Steps of operations that are inspected together before they are replayed: about 20 MB.
pub const LEARNED_STEPS: usize = 20_000;
/// Operations that are.
pub const LEARNED_OPERATIONS: usize = 10_000;
/// Longer pauses between operations are assumed to be a user's.
const MAX_PAUSE: Duration = Duration::from_millis(1);
const REPLAYS_OF_FIRST: u64 = 64;
/// An odd number near 2^64 divided by the golden ratio: neighbouring seeds lie far apart.
const SEED_STEP: u64 = 0x9E37_79B9_7F4A_7C15;
