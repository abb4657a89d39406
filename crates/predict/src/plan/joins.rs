//! Node numbers of a plan, and additional dependencies.

use std::num::NonZeroU32;

/// A node's number from 0; `Option<NodeIndex>` is no larger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct NodeIndex(NonZeroU32);

impl NodeIndex {
    /// Saturates, because plans have fewer nodes than numbers.
    pub const fn new(number: usize) -> Self {
        Self(NonZeroU32::MIN.saturating_add(number as u32))
    }

    pub const fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}

#[derive(Debug, Default, Clone)]
pub struct Joins {
    /// Waiter and awaited node, sorted by waiter.
    by_waiter: Vec<(NodeIndex, NodeIndex)>,
    /// Awaited node and waiter, sorted by awaited node.
    by_waited: Vec<(NodeIndex, NodeIndex)>,
}

impl Joins {
    pub fn new(mut pairs: Vec<(NodeIndex, NodeIndex)>) -> Self {
        pairs.sort_unstable();
        let mut by_waited: Vec<_> = pairs.iter().map(|(waiter, waited)| (*waited, *waiter)).collect();
        by_waited.sort_unstable();
        Self {
            by_waiter: pairs,
            by_waited,
        }
    }

    pub fn joined_with(&self, waiter: NodeIndex) -> impl Iterator<Item = NodeIndex> + '_ {
        pairs_with(&self.by_waiter, waiter)
    }

    pub fn waiters(&self, waited: NodeIndex) -> impl Iterator<Item = NodeIndex> + '_ {
        pairs_with(&self.by_waited, waited)
    }
}

fn pairs_with(pairs: &[(NodeIndex, NodeIndex)], one: NodeIndex) -> impl Iterator<Item = NodeIndex> + '_ {
    let from = pairs.partition_point(|(first, _)| *first < one);
    let pairs = pairs[from..].iter().take_while(move |(first, _)| *first == one);
    pairs.map(|(_, second)| *second)
}
