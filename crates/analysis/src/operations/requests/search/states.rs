//! States of the search: which statements belong together so far, and how one leads to the next.

use super::super::likelihood::Prefix;
use super::{Event, Work, mixed};

/// Statements of one request, as far as they have begun.
#[derive(Debug, Clone)]
pub(super) struct Chain {
    /// The work that ended last.
    pub(super) last: u32,
    pub(super) ended: u64,
    pub(super) started: u64,
    pub(super) last_started: u64,
    pub(super) prefix: Prefix,
    /// The connection that it has, unless another one has taken it.
    pub(super) connection: Option<u32>,
    /// Whose it is, where that is proven.
    pub(super) owner: Option<u32>,
}

impl Chain {
    pub(super) fn hash(&self) -> u64 {
        let owner = self.owner.map_or(0, |owner| u64::from(owner) + 1);
        let kept = u64::from(self.connection.is_some());
        mixed((u64::from(self.last) << 32) ^ u64::from(self.prefix) ^ (owner << 17) ^ (kept << 63))
    }

    /// With one more.
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
    /// In order of their start.
    pub(super) chains: Vec<Chain>,
    /// Requests whose work has begun, or that had none.
    pub(super) begun: usize,
    pub(super) cost: f64,
    pub(super) hash: u64,
}

/// What is decided about a statement or a response; a chain is named by its last work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decision {
    Begin,
    Continue(u32),
    AtOnce(u32),
    Nobodys,
    Respond(u32),
    WithoutWork,
}

/// A way from a state to one after the next decision.
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
    /// The chain's position.
    pub(super) chain: usize,
    pub(super) decision: Decision,
    pub(super) cost: f64,
    /// With all before, and with what chains that wait will cost at least.
    pub(super) rank: f64,
    pub(super) hash: u64,
}

/// All decisions about one event.
pub(super) struct Layer {
    pub(super) event: Event,
    pub(super) edges: Vec<Edge>,
    /// The cheapest edge to each state.
    pub(super) cheapest: Vec<usize>,
}

/// The chain that has the connection of some work, and waits.
pub(super) fn holder(chains: &[Chain], work: &Work) -> Option<usize> {
    let holds = |chain: &Chain| chain.connection == Some(work.connection) && chain.ended <= work.started;
    chains.iter().position(holds)
}

pub(super) fn hash(chains: &[Chain]) -> u64 {
    chains
        .iter()
        .fold(0, |hash, chain| hash.wrapping_add(chain.hash()))
}
