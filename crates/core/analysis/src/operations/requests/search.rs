//! Finds the most likely assignment of all overlapping statements to requests, with a probability
//! for each.
//!
//! Statements and responses are processed in time order. A state is a grouping of statements
//! ([`Chain`]); the response reveals the owner. The most likely states are kept (a beam), states
//! that differ only in finished work are merged, and probabilities of all decisions are computed
//! backwards from the last one (forward-backward on the lattice).
//!
//! A statement lies inside its request; a request waits for one statement at a time unless
//! concurrency was seen; a request answered while a statement is in flight does not own it. A wrong
//! decision ends with its response: states that no longer fit are dropped.

mod lattice;
mod learning;
mod options;
mod states;

use super::likelihood::{Likelihood, NOTHING};
use foldhash::{HashMap, HashMapExt};
use learning::learn;
use options::Fitting;
use states::{Chain, Decision, Edge, Layer, Next, State, hash, holder};

/// Times here and in [`Work`] are in nanoseconds.
#[derive(Debug, Clone)]
pub(super) struct Request {
    pub(super) arrived: u64,
    /// First byte of the response; `None` while the request is unanswered.
    pub(super) responded: Option<u64>,
    pub(super) name: u32,
    /// The HTTP connection it came on.
    pub(super) asker: u32,
}

#[derive(Debug, Clone)]
pub(super) struct Work {
    pub(super) connection: u32,
    pub(super) started: u64,
    pub(super) ended: u64,
    pub(super) kind: u32,
    pub(super) owner: Option<u32>,
}

/// Earlier work for a request, proven and emitted.
#[derive(Debug, Clone)]
pub(super) struct Earlier {
    pub(super) request: u32,
    pub(super) connection: u32,
    pub(super) ended: u64,
    pub(super) kinds: Vec<u32>,
}

#[derive(Debug, Default)]
pub(super) struct Group {
    pub(super) requests: Vec<Request>,
    pub(super) work: Vec<Work>,
    pub(super) earlier: Vec<Earlier>,
}

/// Owner's index and probability; `None` if an owner is unlikely.
pub(super) type Owner = (Option<u32>, f64);

/// Learns from a request that ran alone: all work is its own.
pub(super) fn learn_alone(group: &Group, likelihood: &mut Likelihood) {
    let owners: Vec<Owner> = group.work.iter().map(|_| (Some(0), 1.0)).collect();
    learn(group, &owners, likelihood);
    likelihood.keep_current();
}

/// Finds the owner of each piece of work, starting with `first`; learns from the result.
///
/// Searches twice, with and without the order in which requests wait for a connection or thread;
/// the clearer result counts. If the two differ, the model of the program is in doubt, and so are
/// the probabilities ([`doubted`]).
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

/// Probability of an owner, given agreement with the other search and the share that agrees. Fitted
/// to threads, Node and asyncpg with a pool of eight and 16 concurrent requests
/// (bench/attribution.sh): the share of correct owners with and without agreement.
fn doubted(probability: f64, agrees: bool, agreeing: f64) -> f64 {
    let factor = match agrees {
        true => (0.2 + 1.25 * agreeing).min(1.0),
        false => (1.6 * agreeing - 0.25).clamp(0.1, 0.8),
    };
    (probability * factor).min(MAX_PROBABILITY)
}

/// Of the guesses that the search calls certain, 98.9 % are right (30,000 of bench/attribution.sh).
pub(super) const MAX_PROBABILITY: f64 = 0.99;

/// Deterministic pseudo-random number (D. Steele, G. Lea, C. Flood: SplitMix64, 2014).
fn mixed(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
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

struct Search<'a> {
    group: &'a Group,
    likelihood: &'a mut Likelihood,
    queued: f64,
    open: Vec<u32>,
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

    /// Chains of earlier work. They contain no undecided work, so `last` lies beyond all of it.
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
                    chains.push(Chain::new(index, work, self.likelihood.after(NOTHING, work.kind)));
                }
            }
            Event::Arrived(_) | Event::Responded(_) => {
                if next.chain < chains.len() {
                    chains.remove(next.chain);
                }
                let mut fitting = Fitting::new(self);
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
}

/// Iterations of the search; each learns from the one before.
const ROUNDS: usize = 3;
/// Queue order counts only if it makes the assignment more likely than this.
const QUEUED_DISCOUNT: f64 = 0.95;
/// Maximum states, fewer if each has many chains.
const MAX_BEAM: usize = 48;
const MIN_BEAM: usize = 8;
const MAX_CHAINS: usize = 1_024;
const MAX_DISTANCE: f64 = 30.0;
const MAX_RANK: usize = 32;
/// Costs: work without an owner, a chain that fits no request, a leftover chain, a request without
/// work.
const COST_NOBODYS: f64 = 9.0;
const COST_DROPPED: f64 = 12.0;
const COST_LEFT: f64 = 2.0;
const COST_WITHOUT_WORK: f64 = 2.0;
/// Probability that work belongs to an unanswered request.
const UNANSWERED: f64 = 0.5;
