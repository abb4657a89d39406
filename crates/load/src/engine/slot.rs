//! A client in the event loop, and where its operation stands.

use super::connection::Connection;
use std::time::{Duration, Instant};

/// A client.
pub(super) struct Slot<M> {
    /// Its number in the run, from 0.
    pub number: u32,
    pub machine: M,
    pub connection: Option<Connection>,
    pub state: State,
    /// When its connection was begun, of those that are begun in an operation.
    pub connecting: Instant,
    /// When the operation in progress began.
    pub began: Instant,
    /// Open loop: how much later that was than intended.
    pub lag: Duration,
    /// When the operation in progress has failed for taking too long.
    pub deadline: Instant,
    /// The operation in progress has sent over a connection that was there before it.
    pub reused: bool,
    /// The operation in progress has waited for the server.
    pub waited: bool,
    /// When it is to be woken; anything else that the heap has for it is out of date.
    pub wake: Option<Instant>,
    /// Operations it may still begin; `None` for any number.
    pub left: Option<u64>,
    /// When it joined.
    pub joined: Instant,
    /// Operations that succeeded.
    pub count: u64,
    /// When the last of them ended.
    pub last: Instant,
}

/// Where a client stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// Between operations: it joins later, or has nothing to do yet.
    Idle,
    /// Its connection is being made; the request leaves when it is open.
    Connecting,
    /// Waits for a reply.
    Waiting,
    /// The script sleeps.
    Sleeping,
    /// The operation is done; the server is about to close the connection.
    Ending,
    /// After a failure: pauses.
    Pausing,
    /// Another connection is being made.
    Opening,
    /// Has no more operations to do.
    Over,
}

impl<M> Slot<M> {
    pub fn new(number: u32, machine: M) -> Self {
        let now = Instant::now();
        Self {
            number,
            machine,
            connection: None,
            state: State::Idle,
            connecting: now,
            began: now,
            lag: Duration::ZERO,
            deadline: now,
            reused: false,
            waited: false,
            wake: None,
            left: None,
            joined: now,
            count: 0,
            last: now,
        }
    }

    /// Whether an operation is in progress that can take too long.
    pub fn has_deadline(&self) -> bool {
        match self.state {
            State::Connecting | State::Waiting | State::Ending => true,
            State::Idle | State::Sleeping | State::Pausing | State::Opening | State::Over => false,
        }
    }
}
