//! States of the search: groupings of statements, and their transitions.

use super::super::likelihood::Prefix;
use super::{Event, Work, mixed};

#[derive(Debug, Clone)]
pub(super) struct Chain {
    pub(super) last: u32,
    pub(super) ended: u64,
    pub(super) started: u64,
    pub(super) last_started: u64,
    pub(super) prefix: Prefix,
    pub(super) connection: Option<u32>,
    pub(super) owner: Option<u32>,
}

impl Chain {
    pub(super) fn hash(&self) -> u64 {
        let owner = self.owner.map_or(0, |owner| u64::from(owner) + 1);
        let kept = u64::from(self.connection.is_some());
        mixed((u64::from(self.last) << 32) ^ u64::from(self.prefix) ^ (owner << 17) ^ (kept << 63))
    }

    pub(super) fn with(&self, index: u32, work: &Work, prefix: Prefix) -> Self {
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

    pub(super) fn new(index: u32, work: &Work, prefix: Prefix) -> Self {
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

#[derive(Debug, Clone, Default)]
pub(super) struct State {
    pub(super) chains: Vec<Chain>,
    /// Requests with work begun, or known to have none.
    pub(super) begun: usize,
    pub(super) cost: f64,
    pub(super) hash: u64,
}

/// A decision about a statement or response. A chain is identified by its last work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decision {
    Begin,
    Continue(u32),
    AtOnce(u32),
    Nobodys,
    Respond(u32),
    WithoutWork,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Edge {
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) decision: Decision,
    pub(super) cost: f64,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Next {
    pub(super) from: u32,
    pub(super) chain: usize,
    pub(super) decision: Decision,
    pub(super) cost: f64,
    /// Total cost, with the minimum future cost of waiting chains.
    pub(super) rank: f64,
    pub(super) hash: u64,
}

pub(super) struct Layer {
    pub(super) event: Event,
    pub(super) edges: Vec<Edge>,
    pub(super) cheapest: Vec<usize>,
}

pub(super) fn holder(chains: &[Chain], work: &Work) -> Option<usize> {
    let holds = |chain: &Chain| chain.connection == Some(work.connection) && chain.ended <= work.started;
    chains.iter().position(holds)
}

pub(super) fn hash(chains: &[Chain]) -> u64 {
    chains
        .iter()
        .fold(0, |hash, chain| hash.wrapping_add(chain.hash()))
}
