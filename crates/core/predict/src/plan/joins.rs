//! Additional dependencies.

use super::NodeId;

#[derive(Debug, Default, Clone)]
pub struct Joins {
    /// Waiter and awaited node, sorted by waiter.
    by_waiter: Vec<(NodeId, NodeId)>,
    /// Awaited node and waiter, sorted by awaited node.
    by_waited: Vec<(NodeId, NodeId)>,
}

impl Joins {
    pub fn new(mut pairs: Vec<(NodeId, NodeId)>) -> Self {
        pairs.sort_unstable();
        let mut by_waited: Vec<_> = pairs.iter().map(|(waiter, waited)| (*waited, *waiter)).collect();
        by_waited.sort_unstable();
        Self {
            by_waiter: pairs,
            by_waited,
        }
    }

    pub fn map(&self, waiter: impl Fn(NodeId) -> NodeId, waited: impl Fn(NodeId) -> NodeId) -> Self {
        let pairs = self
            .by_waiter
            .iter()
            .map(|(one, other)| (waiter(*one), waited(*other)));
        Self::new(pairs.collect())
    }

    pub const fn is_empty(&self) -> bool {
        self.by_waiter.is_empty()
    }

    pub fn joined_with(&self, waiter: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        pairs_with(&self.by_waiter, waiter)
    }

    pub fn waiters(&self, waited: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        pairs_with(&self.by_waited, waited)
    }
}

fn pairs_with(pairs: &[(NodeId, NodeId)], one: NodeId) -> impl Iterator<Item = NodeId> + '_ {
    let from = pairs.partition_point(|(first, _)| *first < one);
    let pairs = pairs[from..].iter().take_while(move |(first, _)| *first == one);
    pairs.map(|(_, second)| *second)
}
