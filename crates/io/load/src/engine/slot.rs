//! A client in the event loop, with the state of its operation.

use super::connection::Connection;
use std::time::{Duration, Instant};

pub(super) struct Slot<M> {
    pub number: u32,
    pub machine: M,
    pub connection: Option<Connection>,
    pub state: State,
    /// Start of connecting, if that is part of the operation.
    pub connecting: Instant,
    pub began: Instant,
    /// Delay of an open loop's start.
    pub lag: Duration,
    /// The current operation times out then.
    pub deadline: Instant,
    /// The operation uses a connection from before it.
    pub reused: bool,
    pub waited: bool,
    /// Other heap entries of this client are out of date.
    pub wake: Option<Instant>,
    /// `None` without a limit.
    pub left: Option<u64>,
    pub joined: Instant,
    pub count: u64,
    pub last: Instant,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Idle,
    /// The request is sent when the connection is open.
    Connecting,
    Waiting,
    Sleeping,
    /// The operation is done; the server is about to close the connection.
    Ending,
    /// Pauses after a failure.
    Pausing,
    Opening,
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

    pub fn has_deadline(&self) -> bool {
        match self.state {
            State::Connecting | State::Waiting | State::Ending => true,
            State::Idle | State::Sleeping | State::Pausing | State::Opening | State::Over => false,
        }
    }
}
