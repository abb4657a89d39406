//! A relay between peers in memory, and its steps through time.

use super::{Connection, FOREVER, KERNEL_BUFFER, Memory, Peer, Random, START, Server};
use crate::counters::AtomicCounters;
use crate::recorder::{Recorder, Story};
use crate::shaped::{Check, Shaper};
use crate::sparing::Sparing;
use link::LinkDescription;
use model::{PerDirection, PerSide, Side, Timestamp};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// A relay between peers in memory. Connections are numbered in the order in which they come.
pub(crate) struct World {
    pub(crate) shaper: Shaper<Memory>,
    pub(crate) check: Arc<Check>,
}

impl World {
    pub(crate) fn new(link: &str) -> Self {
        let link: LinkDescription = link.parse().expect("a link");
        let check = Arc::new(Check::new(link, "clients".to_owned(), None));
        let memory = Memory {
            now: START,
            seats: Vec::new(),
            connections: Vec::new(),
            ready: VecDeque::new(),
            opened: Vec::new(),
            counters: AtomicCounters::default(),
            recorder: Recorder::default(),
            split: None,
        };
        Self {
            shaper: Shaper::new(memory, link, check.clone()),
            check,
        }
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.shaper.outside.now.since(START)
    }

    pub(crate) fn connect(&mut self, server: Server) -> usize {
        let slot = self.shaper.knock(self.shaper.outside.now);
        let memory = &mut self.shaper.outside;
        let connection = memory.connections.len();
        if memory.seats.len() <= slot {
            memory.seats.resize(slot + 1, connection);
        }
        memory.seats[slot] = connection;
        memory.connections.push(Connection {
            slot,
            server,
            has_answered: false,
            is_watched: false,
            is_closed: false,
            peers: PerSide::default(),
        });
        connection
    }

    /// A connection whose server knows it.
    pub(crate) fn connected(&mut self) -> usize {
        let connection = self.connect(Server::Answers);
        self.rest();
        connection
    }

    pub(crate) fn peer(&self, connection: usize, side: Side) -> &Peer {
        &self.shaper.outside.connections[connection].peers[side]
    }

    fn peer_mut(&mut self, connection: usize, side: Side) -> &mut Peer {
        &mut self.shaper.outside.connections[connection].peers[side]
    }

    /// Returns the number of bytes that the kernel took.
    pub(crate) fn write(&mut self, connection: usize, side: Side, bytes: &[u8]) -> usize {
        let peer = self.peer_mut(connection, side);
        let count = bytes.len().min(KERNEL_BUFFER - peer.to_relay.len());
        peer.to_relay.extend(&bytes[..count]);
        self.shaper.outside.report_readable(connection, side);
        count
    }

    pub(crate) fn read(&mut self, connection: usize, side: Side, most: usize) -> Vec<u8> {
        let peer = self.peer_mut(connection, side);
        let was_full = peer.to_peer.len() == KERNEL_BUFFER;
        let count = most.min(peer.to_peer.len());
        let bytes = peer.to_peer.drain(..count).collect();
        if was_full {
            self.shaper.outside.report_readable(connection, side);
        }
        bytes
    }

    pub(crate) fn finish(&mut self, connection: usize, side: Side) {
        self.peer_mut(connection, side).finished = true;
        self.shaper.outside.report_readable(connection, side);
    }

    pub(crate) fn reset(&mut self, connection: usize, side: Side) {
        self.peer_mut(connection, side).broken = true;
        self.shaper.outside.report_readable(connection, side);
    }

    /// Closes the peer's socket, as the kernel does when a process ends.
    pub(crate) fn leave(&mut self, connection: usize, side: Side) {
        let peer = self.peer_mut(connection, side);
        (peer.finished, peer.left) = (true, true);
        peer.broken |= !peer.to_peer.is_empty();
        self.shaper.outside.report_readable(connection, side);
    }

    fn round(&mut self) {
        for (slot, side, readiness) in std::mem::take(&mut self.shaper.outside.ready) {
            self.shaper.ready(slot, side, readiness);
        }
        self.shaper.read_all();
        self.shaper.settle();
    }

    /// Lets time pass to the next round, at most to `limit`. Returns false if nothing is left to do
    /// by then.
    fn move_on(&mut self, limit: Timestamp) -> bool {
        let memory = &self.shaper.outside;
        let calls = self.shaper.is_calling();
        let next = [
            (!memory.ready.is_empty()).then_some(memory.now),
            self.shaper.next_due(),
            memory.next_answer(),
            calls.then(|| memory.now.after(Duration::from_millis(100))),
        ];
        let next = next.into_iter().flatten().min().filter(|next| *next <= limit);
        if let Some(next) = next {
            let memory = &mut self.shaper.outside;
            memory.now = memory.now.max(next);
            memory.answer();
        }
        next.is_some()
    }

    /// Returns false if nothing is left to do until `limit`.
    pub(crate) fn step(&mut self, limit: Timestamp) -> bool {
        self.round();
        self.move_on(limit)
    }

    pub(crate) fn until(&mut self, holds: impl Fn(&Self) -> bool) {
        self.round();
        while !holds(self) {
            assert!(self.move_on(FOREVER), "nothing is left to do");
            self.round();
        }
    }

    /// Until nothing is left to do.
    pub(crate) fn rest(&mut self) {
        while self.step(FOREVER) {}
    }

    pub(crate) fn pass(&mut self, span: Duration) {
        let limit = self.shaper.outside.now.after(span);
        while self.step(limit) {}
        self.shaper.outside.now = limit;
    }

    pub(crate) fn pass_to(&mut self, at: Timestamp) {
        self.shaper.outside.now = at;
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.shaper.outside.now
    }

    /// Splits what the kernel takes and gives, as the seed says.
    pub(crate) fn split(mut self, seed: u64) -> Self {
        self.shaper.outside.split = Some(Random::new(seed));
        self
    }

    pub(crate) fn sparing(self, sparing: impl Sparing + 'static) -> Self {
        Self {
            shaper: self.shaper.with_sparing(Some(Arc::new(sparing))),
            ..self
        }
    }

    pub(crate) fn has_answered(&self, connection: usize) -> bool {
        self.shaper.outside.connections[connection].has_answered
    }

    pub(crate) fn is_closed(&self, connection: usize) -> bool {
        self.shaper.outside.connections[connection].is_closed
    }

    pub(crate) fn counters(&self) -> crate::Counters {
        self.shaper.outside.counters.counters()
    }

    /// In the order in which they opened, with the number of each.
    pub(crate) fn stories(&self) -> Vec<(usize, Story)> {
        let memory = &self.shaper.outside;
        memory
            .opened
            .iter()
            .copied()
            .zip(memory.recorder.stories())
            .collect()
    }

    /// Bytes that the relay holds for a connection, in both directions, if it is open.
    pub(crate) fn held(&mut self, connection: usize) -> Option<PerDirection<usize>> {
        let Connection { slot, is_closed, .. } = self.shaper.outside.connections[connection];
        let open = self.shaper.open(slot).filter(|_| !is_closed)?;
        Some(PerDirection::from_fn(|direction| open.lane(direction).held()))
    }
}
