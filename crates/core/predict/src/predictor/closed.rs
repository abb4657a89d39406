//! Closed connections, kept for operations that may follow.

use model::ConnectionId;
use std::collections::VecDeque;

#[derive(Debug, Default)]
pub(super) struct ClosedConnections {
    /// Oldest first, with the number of operations added before.
    connections: VecDeque<(u64, ConnectionId)>,
    operations: u64,
}

impl ClosedConnections {
    pub(super) fn operation_added(&mut self) {
        self.operations += 1;
    }

    /// Returns the oldest connection if there are too many.
    pub(super) fn push(&mut self, connection: ConnectionId) -> Option<ConnectionId> {
        self.connections.push_back((self.operations, connection));
        match self.connections.len() > MAX_CLOSED {
            true => self.connections.pop_front().map(|(_, oldest)| oldest),
            false => None,
        }
    }

    /// A connection to be forgotten with all but the last `waiting` operations replayed.
    pub(super) fn due(&mut self, waiting: usize) -> Option<ConnectionId> {
        let replayed = self.operations - waiting as u64;
        let oldest = self
            .connections
            .pop_front_if(|(before, _)| *before + OPERATIONS_AFTER <= replayed);
        oldest.map(|(_, connection)| connection)
    }
}

/// Requests end after connections that they used.
const OPERATIONS_AFTER: u64 = 1_000;

/// More than close while [`super::LEARNED_OPERATIONS`] wait.
const MAX_CLOSED: usize = 20_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_is_forgotten_a_thousand_replayed_operations_later() {
        let mut closed = ClosedConnections::default();
        closed.operation_added();
        assert_eq!(closed.push(ConnectionId(7)), None);
        (0..OPERATIONS_AFTER).for_each(|_| closed.operation_added());
        assert_eq!(closed.due(1), None, "the last one waits still");
        assert_eq!(closed.due(0), Some(ConnectionId(7)));
        assert_eq!(closed.due(0), None);
    }

    #[test]
    fn without_operations_the_oldest_makes_room() {
        let mut closed = ClosedConnections::default();
        let connections = (0..MAX_CLOSED as u32).map(ConnectionId);
        assert!(connections.into_iter().all(|id| closed.push(id).is_none()));
        assert_eq!(closed.push(ConnectionId(u32::MAX)), Some(ConnectionId(0)));
    }
}
