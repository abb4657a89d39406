//! Whose statements are, of all that overlap: the most likely assignment of all of them together, and how likely each part of it is.
//!
//! Statements and responses are gone through in the order of time. A state is which statements belong together so far (a [`Chain`]); whose
//! they are shows with the response. Of all states the most likely are kept (a beam), states that only differ in what is over are one, and
//! from the last one the probabilities of all decisions are computed back (forward-backward on the lattice of states).
//!
//! A statement lies inside its request; a request waits for one statement at a time unless it was seen otherwise; a request that is answered
//! while a statement is in flight is not that statement's. Wrong decisions end with their response: what does not fit any more is dropped.

use super::likelihood::{Likelihood, NOTHING, Pause, Prefix};
use foldhash::{HashMap, HashMapExt};

/// A request, by times in nanoseconds.
#[derive(Debug, Clone)]
pub(super) struct Request {
    pub(super) arrived: u64,
    /// The first byte of its response; `None` while it is not answered.
    pub(super) responded: Option<u64>,
    /// Its name, as a number.
    pub(super) name: u32,
    /// The HTTP connection that it came on.
    pub(super) asker: u32,
}

/// Work that belongs to one request: a transaction, or a statement outside of any.
#[derive(Debug, Clone)]
pub(super) struct Work {
    pub(super) connection: u32,
    pub(super) started: u64,
    pub(super) ended: u64,
    /// Equal for equal statements.
    pub(super) kind: u32,
    /// The request that it is proven to belong to, as its index.
    pub(super) owner: Option<u32>,
}

/// What was done for a request before, proven and handed out.
#[derive(Debug, Clone)]
pub(super) struct Earlier {
    pub(super) request: u32,
    pub(super) connection: u32,
    pub(super) ended: u64,
    pub(super) kinds: Vec<u32>,
}

/// All that overlaps.
#[derive(Debug, Default)]
pub(super) struct Group {
    pub(super) requests: Vec<Request>,
    pub(super) work: Vec<Work>,
    pub(super) earlier: Vec<Earlier>,
}

/// Whose work is, as an index, and how likely; `None` where it is more likely nobody's.
pub(super) type Owner = (Option<u32>, f64);

/// Learns from a request that was alone: all of the work is its own.
pub(super) fn learn_alone(group: &Group, likelihood: &mut Likelihood) {
    let owners: Vec<Owner> = group.work.iter().map(|_| (Some(0), 1.0)).collect();
    learn(group, &owners, likelihood);
    likelihood.keep_current();
}

/// Whose each piece of work is. Begins with what `first` says; learns from the result.
///
/// It is searched for twice, with and without the order in which requests wait for a connection or a thread; the clearer result counts. Where
/// the two differ, the model of how the program works is in doubt, and with it the probabilities ([`doubted`]).
pub(super) fn assign(group: &Group, first: &[Option<u32>], likelihood: &mut Likelihood) -> Vec<Owner> {
    let queued = search(group, first, likelihood, 1.0);
    let mut owners = search(group, first, likelihood, 0.0);
    let mut other = queued;
    let sum = |owners: &[Owner]| owners.iter().map(|(_, probability)| probability).sum::<f64>();
    if sum(&other) * QUEUED_DISCOUNT > sum(&owners) {
        std::mem::swap(&mut owners, &mut other);
    }
    learn(group, &owners, likelihood);
    let agrees: Vec<bool> = owners
        .iter()
        .zip(&other)
        .map(|(one, other)| one.0 == other.0)
        .collect();
    let agreeing = agrees.iter().filter(|agrees| **agrees).count() as f64 / agrees.len().max(1) as f64;
    for (owner, agrees) in owners.iter_mut().zip(agrees) {
        owner.1 = doubted(owner.1, agrees, agreeing);
    }
    owners
}

fn search(group: &Group, first: &[Option<u32>], likelihood: &mut Likelihood, queued: f64) -> Vec<Owner> {
    let mut owners: Vec<Owner> = first.iter().map(|owner| (*owner, 0.0)).collect();
    for _ in 0..ROUNDS {
        learn(group, &owners, likelihood);
        owners = Search::new(group, likelihood, queued).run();
    }
    owners
}

/// How likely an owner is, given whether the other search agrees, and the share of all of which it does. Fitted to threads, Node and asyncpg
/// with a pool of eight and 16 requests at once (bench/attribution.sh): the share of right ones among those that agree and others.
fn doubted(probability: f64, agrees: bool, agreeing: f64) -> f64 {
    let factor = match agrees {
        true => (0.2 + 1.25 * agreeing).min(1.0),
        false => (1.6 * agreeing - 0.25).clamp(0.1, 0.8),
    };
    probability * factor
}

/// Statements of one request, as far as they have begun.
#[derive(Debug, Clone)]
struct Chain {
    /// The work that ended last.
    last: u32,
    ended: u64,
    started: u64,
    last_started: u64,
    prefix: Prefix,
    /// The connection that it has, unless another one has taken it.
    connection: Option<u32>,
    /// Whose it is, where that is proven.
    owner: Option<u32>,
}

impl Chain {
    fn hash(&self) -> u64 {
        let owner = self.owner.map_or(0, |owner| u64::from(owner) + 1);
        let kept = u64::from(self.connection.is_some());
        mixed((u64::from(self.last) << 32) ^ u64::from(self.prefix) ^ (owner << 17) ^ (kept << 63))
    }

    /// With one more.
    fn with(&self, index: u32, work: &Work, prefix: Prefix) -> Self {
        let is_last = work.ended >= self.ended;
        Self {
            last: if is_last { index } else { self.last },
            ended: self.ended.max(work.ended),
            started: self.started,
            last_started: work.started,
            prefix,
            connection: if is_last {
                Some(work.connection)
            } else {
                self.connection
            },
            owner: work.owner.or(self.owner),
        }
    }

    fn of(index: u32, work: &Work, prefix: Prefix) -> Self {
        Self {
            last: index,
            ended: work.ended,
            started: work.started,
            last_started: work.started,
            prefix,
            connection: Some(work.connection),
            owner: work.owner,
        }
    }
}

/// A number that looks random, the same in every run (D. Steele, G. Lea, C. Flood: SplitMix64, 2014).
fn mixed(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

#[derive(Debug, Clone, Default)]
struct State {
    /// In order of their start.
    chains: Vec<Chain>,
    /// Requests whose work has begun, or that had none.
    begun: usize,
    cost: f64,
    hash: u64,
}

/// What is decided about a statement or a response; a chain is named by its last work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Decision {
    Begin,
    Continue(u32),
    AtOnce(u32),
    Nobodys,
    Respond(u32),
    WithoutWork,
}

/// A way from a state to one after the next decision.
#[derive(Debug, Clone, Copy)]
struct Edge {
    from: u32,
    to: u32,
    decision: Decision,
    cost: f64,
}

#[derive(Debug, Clone, Copy)]
struct Next {
    from: u32,
    /// The chain's position.
    chain: usize,
    decision: Decision,
    cost: f64,
    /// With all before, and with what chains that wait will cost at least.
    rank: f64,
    hash: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Arrived(u32),
    Started(u32),
    Responded(u32),
}

fn events(group: &Group) -> Vec<(u64, Event)> {
    let mut events = Vec::with_capacity(group.requests.len() * 2 + group.work.len());
    for (index, request) in (0..).zip(&group.requests) {
        events.push((request.arrived, Event::Arrived(index)));
        events.extend(request.responded.map(|at| (at, Event::Responded(index))));
    }
    events.extend(
        (0..)
            .zip(&group.work)
            .map(|(index, work)| (work.started, Event::Started(index))),
    );
    events.sort_unstable();
    events
}

/// All decisions about one event.
struct Layer {
    event: Event,
    edges: Vec<Edge>,
    /// The cheapest edge to each state.
    cheapest: Vec<usize>,
}

struct Search<'a> {
    group: &'a Group,
    likelihood: &'a mut Likelihood,
    /// How much it counts who has waited for longest.
    queued: f64,
    /// Requests that are not answered, in order of their arrival.
    open: Vec<u32>,
    /// When requests arrived, in order.
    arrivals: Vec<u64>,
    states: Vec<State>,
    layers: Vec<Layer>,
}

impl<'a> Search<'a> {
    fn new(group: &'a Group, likelihood: &'a mut Likelihood, queued: f64) -> Self {
        likelihood.refresh();
        let mut search = Self {
            group,
            likelihood,
            queued,
            open: Vec::new(),
            arrivals: Vec::new(),
            states: Vec::new(),
            layers: Vec::new(),
        };
        let initial = search.initial();
        search.states.push(initial);
        search
    }

    /// Chains of what was done before. They have no work that is decided about: their last is behind all of it.
    fn initial(&mut self) -> State {
        let mut chains = Vec::new();
        for (index, earlier) in (self.group.work.len() as u32..).zip(&self.group.earlier) {
            let prefix = |prefix, kind: &u32| self.likelihood.after(prefix, *kind);
            chains.push(Chain {
                last: index,
                ended: earlier.ended,
                started: earlier.ended,
                last_started: earlier.ended,
                prefix: earlier.kinds.iter().fold(NOTHING, prefix),
                connection: Some(earlier.connection),
                owner: Some(earlier.request),
            });
        }
        chains.sort_by_key(|chain| chain.started);
        State {
            begun: chains.len(),
            hash: hash(&chains),
            chains,
            cost: 0.0,
        }
    }

    fn run(mut self) -> Vec<Owner> {
        for (at, event) in events(self.group) {
            let next = match event {
                Event::Arrived(request) => {
                    self.open.push(request);
                    self.arrivals.push(at);
                    continue;
                }
                Event::Started(work) => self.started(work),
                Event::Responded(request) => self.responded(request, at),
            };
            self.select(event, next);
        }
        self.owners()
    }

    /// What a chain that waits costs by now at least: the longer it waits, the less likely.
    fn waiting(&self, chain: &Chain, at: u64) -> f64 {
        if chain.ended >= at {
            return 0.0;
        }
        let longer = |pause| self.likelihood.chance_of_longer(pause, at - chain.ended);
        let (end, moving) = (
            self.likelihood.chance_of_end(chain.prefix),
            self.likelihood.chance_of_moving(),
        );
        let same = match chain.connection {
            Some(_) => (1.0 - moving) * longer(Pause::SameConnection),
            None => 0.0,
        };
        let on = (1.0 - end) * (same + moving * longer(Pause::OtherConnection));
        let all = end * longer(Pause::BeforeResponse) + on;
        -(all + 1e-6).ln() - self.paid(chain)
    }

    /// What it costs that another one takes a chain's connection: it has ended, or goes on elsewhere.
    fn cost_of_taking(&self, chain: &Chain) -> f64 {
        let end = self.likelihood.chance_of_end(chain.prefix);
        -(end + (1.0 - end) * self.likelihood.chance_of_moving()).ln()
    }

    /// What was paid already for a chain whose connection was taken.
    fn paid(&self, chain: &Chain) -> f64 {
        match chain.connection {
            Some(_) => 0.0,
            None => self.cost_of_taking(chain),
        }
    }

    fn rank(&self, state: &State, pause: Pause, ended: u64) -> f64 {
        let mut rank = state.chains.iter().filter(|chain| chain.ended < ended).count();
        if matches!(pause, Pause::SameConnection | Pause::OtherConnection) {
            let waiting = self.arrivals.get(state.begun..).unwrap_or_default();
            rank += waiting
                .iter()
                .take(MAX_RANK)
                .take_while(|arrived| **arrived < ended)
                .count();
        }
        self.queued * self.likelihood.cost_of_rank(pause, rank)
    }

    fn started(&self, index: u32) -> Vec<Next> {
        let work = &self.group.work[index as usize];
        let mut all = Vec::new();
        for (from, state) in (0..).zip(&self.states) {
            let holder = holder(&state.chains, work);
            let taking = holder.map_or(0.0, |chain| self.cost_of_taking(&state.chains[chain]));
            let taken = holder.map_or(0, |chain| {
                let chain = &state.chains[chain];
                let off = Chain {
                    connection: None,
                    ..chain.clone()
                };
                off.hash().wrapping_sub(chain.hash())
            });
            let mut next = Options::of(self, from, state, work.started);
            for (position, chain) in state.chains.iter().enumerate() {
                if let (Some(owner), Some(other)) = (chain.owner, work.owner)
                    && owner != other
                {
                    continue;
                }
                let Some((decision, cost)) = self.cost_of_joining(state, chain, work) else {
                    continue;
                };
                let is_holder = holder == Some(position);
                let (cost, taken) = if is_holder {
                    (cost, 0)
                } else {
                    (cost + taking, taken)
                };
                let joined = chain.with(index, work, self.prefix(chain.prefix, work.kind));
                let hash = state.hash.wrapping_sub(chain.hash()).wrapping_add(joined.hash());
                next.push(position, decision, cost, hash.wrapping_add(taken));
            }
            if self.may_begin(state, work) {
                let begun = Chain::of(index, work, self.prefix(NOTHING, work.kind));
                let cost = taking + self.cost_of_beginning(state, work);
                next.push(
                    usize::MAX,
                    Decision::Begin,
                    cost,
                    state.hash.wrapping_add(begun.hash()).wrapping_add(taken),
                );
            }
            if work.owner.is_none() || next.is_empty() {
                next.push(
                    usize::MAX,
                    Decision::Nobodys,
                    COST_NOBODYS + taking,
                    state.hash.wrapping_add(taken),
                );
            }
            all.append(&mut next.found);
        }
        all
    }

    /// The prefix with one more statement; a number of its own while there is none.
    fn prefix(&self, prefix: Prefix, kind: u32) -> Prefix {
        let new = || (mixed(u64::from(prefix) << 32 | u64::from(kind)) as u32) | 1 << 31;
        self.likelihood.find_after(prefix, kind).unwrap_or_else(new)
    }

    fn cost_of_joining(&self, state: &State, chain: &Chain, work: &Work) -> Option<(Decision, f64)> {
        let likelihood = &*self.likelihood;
        let kind = -likelihood.chance(chain.prefix, work.kind).ln();
        if chain.ended > work.started {
            let pause =
                likelihood.cost_of_pause(Pause::AtOnce, work.started.saturating_sub(chain.last_started));
            let cost = kind + pause - likelihood.chance_of_at_once().ln();
            return (chain.connection != Some(work.connection))
                .then_some((Decision::AtOnce(chain.last), cost));
        }
        let moving = likelihood.chance_of_moving();
        let (pause, connection) = match chain.connection == Some(work.connection) {
            true => (Pause::SameConnection, -(1.0 - moving).ln()),
            false => (Pause::OtherConnection, -moving.ln() - self.paid(chain)),
        };
        let length = likelihood.cost_of_pause(pause, work.started - chain.ended);
        Some((
            Decision::Continue(chain.last),
            kind + connection + length + self.rank(state, pause, chain.ended),
        ))
    }

    fn may_begin(&self, state: &State, work: &Work) -> bool {
        let is_begun = |owner| state.chains.iter().any(|chain| chain.owner == Some(owner));
        state.chains.len() < self.open.len()
            && work
                .owner
                .is_none_or(|owner| !is_begun(owner) && self.open.contains(&owner))
    }

    fn cost_of_beginning(&self, state: &State, work: &Work) -> f64 {
        let arrived = self.arrivals.get(state.begun).copied().unwrap_or(work.started);
        let pause = self
            .likelihood
            .cost_of_pause(Pause::BeforeFirst, work.started.saturating_sub(arrived));
        pause - self.likelihood.chance(NOTHING, work.kind).ln()
            + self.rank(state, Pause::BeforeFirst, arrived)
    }

    fn responded(&mut self, index: u32, at: u64) -> Vec<Next> {
        let request = &self.group.requests[index as usize];
        let place = self
            .open
            .iter()
            .position(|open| *open == index)
            .unwrap_or(self.open.len());
        self.open.retain(|open| *open != index);
        let idle = self.likelihood.chance_of_idle(request.name);
        let mut all = Vec::new();
        for (from, state) in (0..).zip(&self.states) {
            let proven = state.chains.iter().position(|chain| chain.owner == Some(index));
            let mut next = Options::of(self, from, state, at);
            for (position, chain) in state.chains.iter().enumerate() {
                let is_anothers = chain.owner.is_some_and(|owner| owner != index);
                let began_before = chain.started < request.arrived && chain.owner.is_none();
                if is_anothers
                    || began_before
                    || chain.ended > at
                    || proven.is_some_and(|proven| proven != position)
                {
                    continue;
                }
                let pause = self
                    .likelihood
                    .cost_of_pause(Pause::BeforeResponse, at - chain.ended);
                let cost = pause - self.likelihood.chance_of_end(chain.prefix).ln() - (1.0 - idle).ln()
                    + self.likelihood.cost_of_name(request.name, chain.prefix)
                    + self.likelihood.cost_of_place(position, place)
                    + self.rank(state, Pause::BeforeResponse, chain.ended)
                    + self.cost_of_connection(index, request.asker, chain)
                    - self.paid(chain)
                    + COST_DROPPED * self.count_unfit(state, Some(position)) as f64;
                next.push(
                    position,
                    Decision::Respond(chain.last),
                    cost,
                    state.hash.wrapping_sub(chain.hash()),
                );
            }
            let cost = COST_WITHOUT_WORK - idle.ln()
                + self
                    .likelihood
                    .cost_of_pause(Pause::WithoutWork, at.saturating_sub(request.arrived))
                + COST_DROPPED * self.count_unfit(state, None) as f64;
            next.push(usize::MAX, Decision::WithoutWork, cost, state.hash);
            all.append(&mut next.found);
        }
        all
    }

    /// What it costs that a request has asked on the connection of a chain's last work.
    fn cost_of_connection(&self, request: u32, asker: u32, chain: &Chain) -> f64 {
        let works = self.group.work.len();
        let last = chain.last as usize;
        let connection = match self.group.work.get(last) {
            Some(work) => Some(work.connection),
            None => self
                .group
                .earlier
                .get(last - works)
                .map(|earlier| earlier.connection),
        };
        connection.map_or(0.0, |connection| {
            self.likelihood.affinity.cost(request, asker, connection)
        })
    }

    /// Chains that no request that is not answered can have begun.
    fn count_unfit(&self, state: &State, without: Option<usize>) -> usize {
        let others = state
            .chains
            .iter()
            .enumerate()
            .filter(|(position, _)| Some(*position) != without);
        let mut fitting = Fitting::of(self);
        others.filter(|(_, chain)| !fitting.fits(chain)).count()
    }

    /// Keeps the most likely of what may follow.
    fn select(&mut self, event: Event, mut next: Vec<Next>) {
        let least = next.iter().map(|next| next.rank).fold(f64::INFINITY, f64::min);
        next.retain(|next| next.rank <= least + MAX_DISTANCE);
        next.sort_by(|one, other| one.rank.total_cmp(&other.rank).then(one.from.cmp(&other.from)));
        let beam = (MAX_CHAINS / self.open.len().max(1)).clamp(MIN_BEAM, MAX_BEAM);
        let mut found: HashMap<u64, u32> = HashMap::new();
        let mut layer = Layer {
            event,
            edges: Vec::new(),
            cheapest: Vec::new(),
        };
        let mut states: Vec<State> = Vec::new();
        for next in next {
            let begun = self.begun(&next);
            let key = next.hash ^ mixed(begun as u64);
            let to = match found.get(&key) {
                Some(to) => *to,
                None if states.len() >= beam => continue,
                None => {
                    let to = states.len() as u32;
                    found.insert(key, to);
                    layer.cheapest.push(layer.edges.len());
                    states.push(self.after(&next, event, begun));
                    to
                }
            };
            layer.edges.push(Edge {
                from: next.from,
                to,
                decision: next.decision,
                cost: next.cost,
            });
        }
        let base = states.first().map_or(0.0, |state| state.cost);
        states.iter_mut().for_each(|state| state.cost -= base);
        self.layers.push(layer);
        self.states = states;
    }

    fn begun(&self, next: &Next) -> usize {
        let begins = matches!(next.decision, Decision::Begin | Decision::WithoutWork);
        self.states[next.from as usize].begun + usize::from(begins)
    }

    fn after(&mut self, next: &Next, event: Event, begun: usize) -> State {
        let state = &self.states[next.from as usize];
        let cost = state.cost + next.cost;
        let mut chains = state.chains.clone();
        match event {
            Event::Started(index) => {
                let work = &self.group.work[index as usize];
                if let Some(holder) = holder(&chains, work).filter(|holder| *holder != next.chain) {
                    chains[holder].connection = None;
                }
                if let Some(chain) = chains.get_mut(next.chain) {
                    let prefix = self.likelihood.after(chain.prefix, work.kind);
                    *chain = chain.with(index, work, prefix);
                } else if next.decision == Decision::Begin {
                    chains.push(Chain::of(index, work, self.likelihood.after(NOTHING, work.kind)));
                }
            }
            Event::Arrived(_) | Event::Responded(_) => {
                if next.chain < chains.len() {
                    chains.remove(next.chain);
                }
                let mut fitting = Fitting::of(self);
                let is_open = |owner| self.open.contains(&owner);
                chains.retain(|chain| chain.owner.is_none_or(is_open) && fitting.fits(chain));
            }
        }
        State {
            hash: hash(&chains),
            chains,
            begun,
            cost,
        }
    }

    /// The decisions of the most likely way, and how likely each is.
    fn decisions(&self) -> Vec<(Decision, f64)> {
        let mut ahead: Vec<Vec<f64>> = vec![vec![0.0]];
        for layer in &self.layers {
            let before = ahead.last().map(Vec::as_slice).unwrap_or_default();
            let mut costs = vec![f64::INFINITY; layer.cheapest.len()];
            for edge in &layer.edges {
                let cost = &mut costs[edge.to as usize];
                *cost = either(*cost, before[edge.from as usize] + edge.cost);
            }
            ahead.push(from_zero(costs));
        }
        let left = |state: &State| COST_LEFT * state.chains.len() as f64;
        let mut behind: Vec<f64> = self.states.iter().map(left).collect();
        let total = |index: &usize| self.states[*index].cost + left(&self.states[*index]);
        let mut at = (0..self.states.len())
            .min_by(|one, other| total(one).total_cmp(&total(other)))
            .unwrap_or(0);
        let mut decisions = Vec::with_capacity(self.layers.len());
        for (layer, ahead) in self.layers.iter().zip(&ahead).rev() {
            let chosen = layer.edges[layer.cheapest[at]];
            let (mut all, mut same) = (f64::INFINITY, f64::INFINITY);
            let mut before = vec![f64::INFINITY; ahead.len()];
            for edge in &layer.edges {
                let (from, cost) = (edge.from as usize, edge.cost + behind[edge.to as usize]);
                before[from] = either(before[from], cost);
                all = either(all, ahead[from] + cost);
                if edge.decision == chosen.decision {
                    same = either(same, ahead[from] + cost);
                }
            }
            decisions.push((chosen.decision, (all - same).exp().min(1.0)));
            at = chosen.from as usize;
            behind = from_zero(before);
        }
        decisions.reverse();
        decisions
    }

    /// Follows the decisions. Work belongs to the request whose response its chain ends with, as likely as all that leads there.
    fn owners(&self) -> Vec<Owner> {
        let mut owners: Vec<Owner> = self.group.work.iter().map(|work| (work.owner, 0.0)).collect();
        let mut chains: HashMap<u32, Vec<(u32, bool, f64)>> = HashMap::new();
        let known = self.group.work.len()..self.group.work.len() + self.group.earlier.len();
        chains.extend(known.map(|index| (index as u32, Vec::new())));
        for (layer, (decision, probability)) in self.layers.iter().zip(self.decisions()) {
            match (layer.event, decision) {
                (Event::Started(work), Decision::Begin) => {
                    chains.insert(work, vec![(work, true, probability)]);
                }
                (Event::Started(work), Decision::Continue(last) | Decision::AtOnce(last)) => {
                    let mut chain = chains.remove(&last).unwrap_or_default();
                    let waits = matches!(decision, Decision::Continue(_));
                    chain.push((work, waits, probability));
                    let ended = |index: u32| self.group.work.get(index as usize).map_or(0, |work| work.ended);
                    chains.insert(if ended(work) >= ended(last) { work } else { last }, chain);
                }
                (Event::Started(work), _) => owners[work as usize].1 = probability,
                (Event::Responded(request), Decision::Respond(last)) => {
                    let mut likely = probability;
                    for (work, waits, probability) in
                        chains.remove(&last).unwrap_or_default().into_iter().rev()
                    {
                        let own = if waits { likely } else { likely * probability };
                        owners[work as usize] = (Some(request), own);
                        likely = if waits { likely * probability } else { likely };
                    }
                }
                _ => {}
            }
        }
        self.give_to_open(chains, &mut owners);
        owners
    }

    /// What is not answered yet: in order.
    fn give_to_open(&self, chains: HashMap<u32, Vec<(u32, bool, f64)>>, owners: &mut [Owner]) {
        let Some(state) = self
            .states
            .iter()
            .min_by(|one, other| one.cost.total_cmp(&other.cost))
        else {
            return;
        };
        for (chain, request) in state.chains.iter().zip(&self.open) {
            for (work, ..) in chains.get(&chain.last).map(Vec::as_slice).unwrap_or_default() {
                owners[*work as usize] = (Some(chain.owner.unwrap_or(*request)), UNANSWERED);
            }
        }
    }
}

/// The chain that has the connection of some work, and waits.
fn holder(chains: &[Chain], work: &Work) -> Option<usize> {
    let holds = |chain: &Chain| chain.connection == Some(work.connection) && chain.ended <= work.started;
    chains.iter().position(holds)
}

fn hash(chains: &[Chain]) -> u64 {
    chains
        .iter()
        .fold(0, |hash, chain| hash.wrapping_add(chain.hash()))
}

/// The cost of one or the other: their probabilities add.
fn either(one: f64, other: f64) -> f64 {
    let (less, more) = if one < other { (one, other) } else { (other, one) };
    if more.is_infinite() {
        less
    } else {
        less - (less - more).exp().ln_1p()
    }
}

fn from_zero(mut costs: Vec<f64>) -> Vec<f64> {
    let least = costs.iter().copied().fold(f64::INFINITY, f64::min);
    costs.iter_mut().for_each(|cost| *cost -= least);
    costs
}

/// What may follow a state.
struct Options {
    from: u32,
    cost: f64,
    waiting: Vec<f64>,
    all_waiting: f64,
    found: Vec<Next>,
}

impl Options {
    fn of(search: &Search<'_>, from: u32, state: &State, at: u64) -> Self {
        let waiting: Vec<f64> = state
            .chains
            .iter()
            .map(|chain| search.waiting(chain, at))
            .collect();
        Self {
            from,
            cost: state.cost,
            all_waiting: waiting.iter().sum(),
            waiting,
            found: Vec::new(),
        }
    }

    fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    fn push(&mut self, chain: usize, decision: Decision, cost: f64, hash: u64) {
        let waiting = self.all_waiting - self.waiting.get(chain).copied().unwrap_or(0.0);
        self.found.push(Next {
            from: self.from,
            chain,
            decision,
            cost,
            rank: self.cost + cost + waiting,
            hash,
        });
    }
}

/// Whether chains, in order of their start, can each have a request that is not answered and arrived before.
struct Fitting<'a> {
    requests: &'a [Request],
    open: std::slice::Iter<'a, u32>,
}

impl<'a> Fitting<'a> {
    fn of(search: &'a Search<'_>) -> Self {
        Self {
            requests: &search.group.requests,
            open: search.open.iter(),
        }
    }

    fn fits(&mut self, chain: &Chain) -> bool {
        let first = self.open.as_slice().first();
        let fits = first.is_some_and(|open| self.requests[*open as usize].arrived <= chain.started);
        if fits {
            self.open.next();
        }
        fits
    }
}

/// Observes what an assignment says about pauses, order and statements.
fn learn(group: &Group, owners: &[Owner], likelihood: &mut Likelihood) {
    likelihood.forget_current();
    let mut learning = Learning {
        group,
        open: Vec::new(),
        arrivals: Vec::new(),
        begun: 0,
        active: Vec::new(),
    };
    for (at, event) in events(group) {
        match event {
            Event::Arrived(request) => {
                learning.open.push(request);
                learning.arrivals.push(at);
            }
            Event::Started(work) => {
                if let (Some(owner), _) = owners[work as usize] {
                    learning.started(owner, &group.work[work as usize], likelihood);
                }
            }
            Event::Responded(request) => learning.responded(request, at, likelihood),
        }
    }
}

struct Learning<'a> {
    group: &'a Group,
    open: Vec<u32>,
    arrivals: Vec<u64>,
    begun: usize,
    active: Vec<Active>,
}

/// A request whose work has begun.
struct Active {
    request: u32,
    ended: u64,
    last_started: u64,
    connection: u32,
    kinds: Vec<u32>,
}

impl Learning<'_> {
    fn rank(&self, ended: u64) -> usize {
        self.active.iter().filter(|active| active.ended < ended).count()
    }

    fn waiting(&self, ended: u64) -> usize {
        let waiting = self.arrivals.get(self.begun..).unwrap_or_default();
        waiting
            .iter()
            .take(MAX_RANK)
            .take_while(|arrived| **arrived < ended)
            .count()
    }

    fn started(&mut self, owner: u32, work: &Work, likelihood: &mut Likelihood) {
        let Some(position) = self.active.iter().position(|active| active.request == owner) else {
            let arrived = self.arrivals.get(self.begun).copied().unwrap_or(work.started);
            likelihood.observe_pause(
                Pause::BeforeFirst,
                work.started.saturating_sub(arrived),
                self.rank(arrived),
            );
            self.begun += 1;
            self.active.push(Active {
                request: owner,
                ended: work.ended,
                last_started: work.started,
                connection: work.connection,
                kinds: vec![work.kind],
            });
            return;
        };
        let active = &self.active[position];
        let (ended, last_started) = (active.ended, active.last_started);
        if ended <= work.started {
            let pause = match active.connection == work.connection {
                true => Pause::SameConnection,
                false => Pause::OtherConnection,
            };
            likelihood.observe_pause(
                pause,
                work.started - ended,
                self.rank(ended) + self.waiting(ended),
            );
        } else {
            likelihood.observe_pause(Pause::AtOnce, work.started.saturating_sub(last_started), 0);
        }
        let active = &mut self.active[position];
        active.kinds.push(work.kind);
        active.last_started = work.started;
        if work.ended >= active.ended {
            active.ended = work.ended;
            active.connection = work.connection;
        }
    }

    fn responded(&mut self, request: u32, at: u64, likelihood: &mut Likelihood) {
        let place = self.open.iter().position(|open| *open == request).unwrap_or(0);
        self.open.retain(|open| *open != request);
        let Request { name, asker, .. } = self.group.requests[request as usize];
        let Some(position) = self.active.iter().position(|active| active.request == request) else {
            self.begun += 1;
            likelihood.observe_request(name, &[]);
            return;
        };
        likelihood.observe_place(position, place);
        let rank = self.rank(self.active[position].ended);
        let active = self.active.remove(position);
        if active.ended <= at {
            likelihood.observe_pause(Pause::BeforeResponse, at - active.ended, rank);
        }
        likelihood.observe_request(name, &active.kinds);
        likelihood.affinity.observe(request, asker, active.connection);
    }
}

/// How often the assignment is searched for, each time with what the one before taught.
const ROUNDS: usize = 3;
/// The order in which requests have waited has to make an assignment more likely than this to count.
const QUEUED_DISCOUNT: f64 = 0.95;
/// States that are kept, fewer where there are many chains in each.
const MAX_BEAM: usize = 48;
const MIN_BEAM: usize = 8;
const MAX_CHAINS: usize = 1_024;
/// States less likely than the best by this are not kept.
const MAX_DISTANCE: f64 = 30.0;
const MAX_RANK: usize = 32;
/// What it costs that work is nobody's, that a chain fits no request any more, is left at the end, and that a request had no work.
const COST_NOBODYS: f64 = 9.0;
const COST_DROPPED: f64 = 12.0;
const COST_LEFT: f64 = 2.0;
const COST_WITHOUT_WORK: f64 = 2.0;
/// How likely it is that work of a request that is not answered is that one's.
const UNANSWERED: f64 = 0.5;
