//! Numbers of connections and flows.

use model::Direction;

/// A connection's number in a network, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConnectionNumber(u32);

impl ConnectionNumber {
    /// The number of the connection at `index`.
    pub const fn new(index: usize) -> Self {
        Self(index as u32)
    }

    /// The index in arrays of connections.
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// Its flows, to the server and to the client.
    pub const fn flows(self) -> [FlowId; 2] {
        [
            FlowId::new(self, Direction::ClientToServer),
            FlowId::new(self, Direction::ServerToClient),
        ]
    }
}

/// One direction of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct FlowId(u32);

impl FlowId {
    /// The flow of `connection` in `direction`.
    pub const fn new(connection: ConnectionNumber, direction: Direction) -> Self {
        Self(2 * connection.0 + direction.index() as u32)
    }

    /// The connection of this flow.
    pub const fn connection(self) -> ConnectionNumber {
        ConnectionNumber(self.0 / 2)
    }

    /// The direction of this flow.
    pub const fn direction(self) -> Direction {
        if self.0.is_multiple_of(2) {
            Direction::ClientToServer
        } else {
            Direction::ServerToClient
        }
    }

    /// The flow of the same connection in the opposite direction.
    #[must_use]
    pub const fn reverse(self) -> Self {
        Self(self.0 ^ 1)
    }

    /// The index in arrays of flows.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}
