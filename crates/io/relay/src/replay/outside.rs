//! A replay's outside: the time, and the sockets of its connections.

use super::ReplayError;
use model::Side;
use std::time::Duration;
use sys::error::OsError;
use sys::socket::{Received, Sent};

pub(super) trait Outside {
    /// Nanoseconds since the replay began.
    fn now(&self) -> u64;
    /// Makes sockets in advance, so that the clock does not run meanwhile.
    fn stock(&mut self, sockets: usize) -> Result<(), ReplayError>;
    fn connect(&mut self, slot: u32) -> Result<(), ReplayError>;
    fn connected(&mut self, slot: u32) -> Result<bool, OsError>;
    fn send(&mut self, slot: u32, from: Side, bytes: u64) -> Sent;
    fn receive(&mut self, slot: u32, at: Side) -> Received;
    fn close(&mut self, slot: u32);
    /// Waits until something has happened, at most `longest`.
    fn wait(&mut self, longest: Duration, happened: &mut Vec<Happened>) -> Result<(), ReplayError>;
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Happened {
    /// The server has accepted the connection.
    Accepted(u32),
    Ready {
        slot: u32,
        end: Side,
        readable: bool,
        writable: bool,
    },
}
