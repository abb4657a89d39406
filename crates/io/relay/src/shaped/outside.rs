//! A shaper's outside: the time, the sockets of its slots, and who is told.

use crate::counters::AtomicCounters;
use model::{ConnectionId, Endpoint, Observer, PerSide, Side, Timestamp};
use std::time::Duration;
use sys::clock::WallStamp;
use sys::error::LiveError;
use sys::socket::{Received, Sent};

/// A slot has a client's socket, and a server's once [`Outside::call`] has succeeded.
pub(crate) trait Outside {
    fn now(&self) -> Timestamp;
    fn timestamp(&self, stamp: WallStamp) -> Timestamp;

    /// Connects to the server for the client of a slot.
    fn call(&mut self, slot: usize) -> Call;
    /// Asks again after an event of [`Call::Waits`].
    fn call_progress(&mut self, slot: usize) -> Call;
    /// Gives up an address of the server, and tries the next.
    fn call_next(&mut self, slot: usize) -> Call;

    /// Reports events of the client's socket from now on. Returns both peers.
    fn watch_client(&mut self, slot: usize) -> Result<PerSide<Endpoint>, LiveError>;
    fn receive(&mut self, slot: usize, from: Side, buffer: &mut [u8]) -> Received;
    fn send(&mut self, slot: usize, to: Side, bytes: &[u8]) -> Sent;
    fn finish(&mut self, slot: usize, to: Side);
    fn reset(&mut self, slot: usize);
    /// Ends what is left of a slot, after which it may be used again.
    fn close(&mut self, slot: usize);
    fn server_rtt(&self, slot: usize) -> Option<Duration>;

    fn counters(&self) -> &AtomicCounters;
    fn observe(&mut self) -> (ConnectionId, Box<dyn Observer + Send>);
}

pub(crate) enum Call {
    /// Since then, for the same address.
    Waits(Timestamp),
    Answered,
    Refused(LiveError),
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Readiness {
    pub(crate) readable: bool,
    pub(crate) writable: bool,
    /// Whether an end or an error may be read.
    pub(crate) ending: bool,
}
