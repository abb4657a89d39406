//! Names of clients, and of the nodes of their plans.

use crate::plan::NodeId;
use link::tcp::Waiter;

/// A client's number from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientId(u32);

impl ClientId {
    pub const fn new(index: usize) -> Self {
        Self(index as u32)
    }

    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Number of plans that a client has begun, truncated to fit a [`ClientNode`]: distinguishes late
/// events of earlier plans.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Generation(u64);

impl Generation {
    pub const fn next(self) -> Self {
        Self((self.0 + 1) & GENERATIONS)
    }
}

/// A node of a client's plan, ordered by client, generation and node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClientNode(u64);

impl ClientNode {
    pub const fn new(client: ClientId, generation: Generation, node: NodeId) -> Self {
        let client = (client.0 as u64) << (GENERATION_BITS + NODE_BITS);
        Self(client | generation.0 << NODE_BITS | node.index() as u64)
    }

    pub const fn client(self) -> ClientId {
        ClientId((self.0 >> (GENERATION_BITS + NODE_BITS)) as u32)
    }

    pub const fn generation(self) -> Generation {
        Generation(self.0 >> NODE_BITS & GENERATIONS)
    }

    pub const fn node(self) -> NodeId {
        NodeId::new((self.0 & NODES) as usize)
    }

    pub const fn waiter(self) -> Waiter {
        Waiter(self.0)
    }

    /// `None` if it is [`NOBODY`].
    pub fn from_waiter(waiter: Waiter) -> Option<Self> {
        (waiter != NOBODY).then_some(Self(waiter.0))
    }
}

/// Waiter of bytes without a waiter.
pub const NOBODY: Waiter = Waiter(u64::MAX);

const NODE_BITS: u32 = 32;
const NODES: u64 = (1 << NODE_BITS) - 1;
const GENERATION_BITS: u32 = 12;
const GENERATIONS: u64 = (1 << GENERATION_BITS) - 1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clients_node_names_all_of_its_parts() {
        let (client, node) = (ClientId::new(70_000), NodeId::new(123_456));
        let last = (0..GENERATIONS).fold(Generation::default(), |before, _| before.next());
        for generation in [Generation::default(), last] {
            let id = ClientNode::new(client, generation, node);
            assert_eq!(
                (id.client(), id.generation(), id.node()),
                (client, generation, node)
            );
            assert_eq!(ClientNode::from_waiter(id.waiter()), Some(id));
        }
        assert_eq!(last.next(), Generation::default());
        assert_eq!(ClientNode::from_waiter(NOBODY), None);
    }
}
