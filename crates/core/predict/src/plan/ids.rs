//! Numbers of nodes and connections within a plan.

use std::num::NonZeroU32;

/// A node's number from 0; `Option<NodeId>` is no larger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(NonZeroU32);

impl NodeId {
    /// Saturates, because plans have fewer nodes than numbers.
    pub const fn new(number: usize) -> Self {
        Self(NonZeroU32::MIN.saturating_add(number as u32))
    }

    pub const fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}

/// A connection's number from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlanConnection(u32);

impl PlanConnection {
    pub const fn new(index: usize) -> Self {
        Self(index as u32)
    }

    pub const fn index(self) -> usize {
        self.0 as usize
    }
}
