//! Nodes of a plan by their number, and which wait for further ones.

use std::num::NonZeroU32;

/// The number of a node in its plan, from 0. Where there is none, `Option<NodeIndex>` is no larger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct NodeIndex(NonZeroU32);

impl NodeIndex {
    /// The node of that number. Plans have fewer nodes than numbers: beyond is the last of them.
    pub const fn new(number: usize) -> Self {
        Self(NonZeroU32::MIN.saturating_add(number as u32))
    }

    /// Its place among the nodes.
    pub const fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}

/// Further nodes that nodes wait for.
#[derive(Debug, Default, Clone)]
pub struct Joins {
    /// Which node waits and for which, sorted by the node that waits.
    by_waiter: Vec<(NodeIndex, NodeIndex)>,
    /// Which node is waited for and by which node, sorted by the former.
    by_waited: Vec<(NodeIndex, NodeIndex)>,
}

impl Joins {
    /// Of pairs of who waits and for which.
    pub fn new(mut pairs: Vec<(NodeIndex, NodeIndex)>) -> Self {
        pairs.sort_unstable();
        let mut by_waited: Vec<_> = pairs.iter().map(|(waiter, waited)| (*waited, *waiter)).collect();
        by_waited.sort_unstable();
        Self {
            by_waiter: pairs,
            by_waited,
        }
    }

    /// The nodes that this one waits for.
    pub fn joined_with(&self, waiter: NodeIndex) -> impl Iterator<Item = NodeIndex> + '_ {
        pairs_with(&self.by_waiter, waiter)
    }

    /// The nodes that wait for this one.
    pub fn waiters(&self, waited: NodeIndex) -> impl Iterator<Item = NodeIndex> + '_ {
        pairs_with(&self.by_waited, waited)
    }
}

fn pairs_with(pairs: &[(NodeIndex, NodeIndex)], one: NodeIndex) -> impl Iterator<Item = NodeIndex> + '_ {
    let from = pairs.partition_point(|(first, _)| *first < one);
    let pairs = pairs[from..].iter().take_while(move |(first, _)| *first == one);
    pairs.map(|(_, second)| *second)
}
