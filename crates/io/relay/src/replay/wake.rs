//! Events that a replay waits for.

use model::Side;

/// A node of an operation of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Tag {
    pub(super) client: u32,
    /// Operations of this client before this one.
    pub(super) run: u32,
    pub(super) node: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Wake {
    /// The next operation of a client starts.
    Begin(u32),
    /// The client of a node starts to send.
    Start(Tag),
    /// A timed request reaches its server.
    Arrive(Tag),
    /// The server of a node starts to answer.
    Reply(Tag),
    Free(Tag),
    /// A node completes by time alone.
    Complete(Tag),
    /// More bytes of this end of this connection are due.
    Flush(u32, Side),
}
