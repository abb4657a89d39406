//! Successors of a state and their costs: owners of a statement, and the statements that a response
//! waited for.

use super::super::likelihood::{NOTHING, Pause, Prefix};
use super::states::{Chain, Decision, Next, State, holder};
use super::{COST_DROPPED, COST_NOBODYS, COST_WITHOUT_WORK, MAX_RANK, Request, Search, Work, mixed};

impl Search<'_> {
    /// Minimum cost of a waiting chain; grows with the wait.
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

    /// Cost if another request takes the chain's connection: the chain ended or moved.
    fn cost_of_taking(&self, chain: &Chain) -> f64 {
        let end = self.likelihood.chance_of_end(chain.prefix);
        -(end + (1.0 - end) * self.likelihood.chance_of_moving()).ln()
    }

    /// Cost already counted for a chain without its connection.
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

    pub(super) fn started(&self, index: u32) -> Vec<Next> {
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
            let mut next = Options::new(self, from, state, work.started);
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
                let begun = Chain::new(index, work, self.prefix(NOTHING, work.kind));
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

    /// Uses a temporary number for a new prefix.
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

    pub(super) fn responded(&mut self, index: u32, at: u64) -> Vec<Next> {
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
            let mut next = Options::new(self, from, state, at);
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

    fn count_unfit(&self, state: &State, without: Option<usize>) -> usize {
        let others = state
            .chains
            .iter()
            .enumerate()
            .filter(|(position, _)| Some(*position) != without);
        let mut fitting = Fitting::new(self);
        others.filter(|(_, chain)| !fitting.fits(chain)).count()
    }
}

struct Options {
    from: u32,
    cost: f64,
    waiting: Vec<f64>,
    all_waiting: f64,
    found: Vec<Next>,
}

impl Options {
    pub(super) fn new(search: &Search<'_>, from: u32, state: &State, at: u64) -> Self {
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

/// Matches chains, in order of start, with unanswered requests that arrived before.
pub(super) struct Fitting<'a> {
    requests: &'a [Request],
    open: std::slice::Iter<'a, u32>,
}

impl<'a> Fitting<'a> {
    pub(super) fn new(search: &'a Search<'_>) -> Self {
        Self {
            requests: &search.group.requests,
            open: search.open.iter(),
        }
    }

    pub(super) fn fits(&mut self, chain: &Chain) -> bool {
        let first = self.open.as_slice().first();
        let fits = first.is_some_and(|open| self.requests[*open as usize].arrived <= chain.started);
        if fits {
            self.open.next();
        }
        fits
    }
}
