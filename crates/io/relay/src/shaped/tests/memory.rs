//! An outside in memory: a clock that stands until nothing is left to do, and peers that do as told.

mod world;

pub(super) use world::World;

use crate::counters::AtomicCounters;
use crate::recorder::Recorder;
use crate::shaped::outside::{Call, Outside, Readiness};
use model::{ConnectionId, Endpoint, Observer, ObserverFactory, PerSide, Side, Timestamp};
use std::collections::VecDeque;
use std::io::Read;
use std::time::Duration;
use sys::clock::WallStamp;
use sys::error::{LiveError, OsError};
use sys::socket::{Received, Sent};

pub(super) struct Memory {
    now: Timestamp,
    /// Who has a slot.
    seats: Vec<usize>,
    connections: Vec<Connection>,
    ready: VecDeque<(usize, Side, Readiness)>,
    /// Connections in the order of their observers.
    opened: Vec<usize>,
    counters: AtomicCounters,
    recorder: Recorder,
    /// Splits what the kernel takes and gives.
    split: Option<Random>,
}

struct Connection {
    slot: usize,
    server: Server,
    has_answered: bool,
    is_watched: bool,
    is_closed: bool,
    peers: PerSide<Peer>,
}

/// How a server meets the relay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Server {
    Answers,
    AnswersAt(Timestamp),
    Refuses,
    IsSilent,
}

/// A client or a server, with the kernel's buffers between it and the relay.
#[derive(Debug, Default)]
pub(super) struct Peer {
    to_relay: VecDeque<u8>,
    to_peer: VecDeque<u8>,
    /// What the peer has done.
    finished: bool,
    broken: bool,
    left: bool,
    /// What it sees behind the bytes.
    pub(super) sees_end: bool,
    pub(super) sees_reset: bool,
}

impl Peer {
    fn readiness(&self) -> Readiness {
        Readiness {
            readable: !self.to_relay.is_empty() || self.finished || self.broken,
            writable: self.to_peer.len() < KERNEL_BUFFER || self.broken,
            ending: self.finished || self.broken,
        }
    }

    /// Bytes that the relay has not read.
    pub(super) fn unsent(&self) -> usize {
        self.to_relay.len()
    }

    pub(super) fn unread(&self) -> usize {
        self.to_peer.len()
    }
}

impl Memory {
    fn peer(&mut self, slot: usize, side: Side) -> &mut Peer {
        &mut self.connections[self.seats[slot]].peers[side]
    }

    fn most_at_once(&mut self) -> usize {
        let random = self.split.as_mut();
        random.map_or(usize::MAX, |random| {
            1 + random.up_to_one_of([3, 2_000, 100_000, 100_000, 100_000])
        })
    }

    fn report_readable(&mut self, connection: usize, side: Side) {
        let Connection {
            slot,
            is_watched,
            is_closed,
            peers,
            ..
        } = &self.connections[connection];
        if !is_closed && (*is_watched || side == Side::Server) {
            self.ready.push_back((*slot, side, peers[side].readiness()));
        }
    }

    fn next_answer(&self) -> Option<Timestamp> {
        let answers = self
            .connections
            .iter()
            .filter_map(|connection| match connection.server {
                Server::AnswersAt(at) if !connection.is_closed && at > self.now => Some(at),
                _ => None,
            });
        answers.min()
    }

    fn answer(&mut self) {
        for connection in 0..self.connections.len() {
            if self.connections[connection].server == Server::AnswersAt(self.now) {
                self.report_readable(connection, Side::Server);
            }
        }
    }
}

impl Outside for Memory {
    fn now(&self) -> Timestamp {
        self.now
    }

    fn timestamp(&self, stamp: WallStamp) -> Timestamp {
        Timestamp::from_nanos(stamp.0)
    }

    fn call(&mut self, slot: usize) -> Call {
        self.call_progress(slot)
    }

    fn call_progress(&mut self, slot: usize) -> Call {
        let connection = &mut self.connections[self.seats[slot]];
        match connection.server {
            Server::AnswersAt(at) if at > self.now => Call::Waits(self.now),
            Server::IsSilent => Call::Waits(self.now),
            Server::Refuses => Call::Refused(refused()),
            Server::Answers | Server::AnswersAt(_) => {
                connection.has_answered = true;
                Call::Answered
            }
        }
    }

    fn call_next(&mut self, _: usize) -> Call {
        Call::Refused(refused())
    }

    fn watch_client(&mut self, slot: usize) -> Result<PerSide<Endpoint>, LiveError> {
        let connection = self.seats[slot];
        self.opened.push(connection);
        self.connections[connection].is_watched = true;
        self.report_readable(connection, Side::Client);
        Ok(PerSide::splat(crate::connection::UNKNOWN))
    }

    fn receive(&mut self, slot: usize, from: Side, buffer: &mut [u8]) -> Received {
        let (most, stamp) = (self.most_at_once(), WallStamp(self.now.as_nanos()));
        let peer = self.peer(slot, from);
        let room = buffer.len().min(most);
        let count = peer.to_relay.read(&mut buffer[..room]).expect("memory");
        if count > 0 {
            return Received::Bytes {
                count,
                emptied: peer.to_relay.is_empty(),
                stamp: Some(stamp),
            };
        }
        match peer {
            Peer { broken: true, .. } => Received::Broken(RESET),
            Peer { finished: true, .. } => Received::End,
            _ => Received::Nothing,
        }
    }

    fn send(&mut self, slot: usize, to: Side, bytes: &[u8]) -> Sent {
        let most = self.most_at_once();
        let peer = self.peer(slot, to);
        if peer.broken {
            return Sent::Broken(RESET);
        }
        if peer.left {
            // The first bytes are taken, and answered by a reset.
            peer.broken = true;
            self.report_readable(self.seats[slot], to);
            return Sent::Bytes(bytes.len());
        }
        let count = bytes.len().min(KERNEL_BUFFER - peer.to_peer.len()).min(most);
        peer.to_peer.extend(&bytes[..count]);
        Sent::Bytes(count)
    }

    fn finish(&mut self, slot: usize, to: Side) {
        self.peer(slot, to).sees_end = true;
    }

    fn reset(&mut self, slot: usize) {
        for side in [Side::Client, Side::Server] {
            self.peer(slot, side).sees_reset = true;
        }
    }

    fn close(&mut self, slot: usize) {
        let connection = &mut self.connections[self.seats[slot]];
        connection.is_closed = true;
        for peer in &mut connection.peers {
            // Unread bytes make the kernel answer with a reset.
            peer.sees_reset |= !peer.to_relay.is_empty();
            peer.sees_end = true;
        }
    }

    fn server_rtt(&self, _: usize) -> Option<Duration> {
        None
    }

    fn counters(&self) -> &AtomicCounters {
        &self.counters
    }

    fn observe(&mut self) -> (ConnectionId, Box<dyn Observer + Send>) {
        let id = ConnectionId(self.opened.len() as u32 - 1);
        (id, self.recorder.observe(id))
    }
}

fn refused() -> LiveError {
    LiveError::NoSuchHost {
        host: "server".to_owned(),
    }
}

const RESET: OsError = OsError(libc::ECONNRESET);
/// In each direction between a peer and the relay.
pub(super) const KERNEL_BUFFER: usize = 512 * 1024;
const FOREVER: Timestamp = Timestamp::from_nanos(u64::MAX);
const START: Timestamp = Timestamp::from_nanos(1_000_000_000_000);

/// Pseudorandom numbers (splitmix64).
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    pub(super) fn up_to_one_of<const N: usize>(&mut self, most: [usize; N]) -> usize {
        let most = most[self.up_to(N)];
        self.up_to(most)
    }

    /// Below `most`.
    pub(super) fn up_to(&mut self, most: usize) -> usize {
        (self.next() % most.max(1) as u64) as usize
    }
}
