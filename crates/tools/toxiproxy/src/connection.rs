//! A client and a server with the toxics of both directions.

use crate::toxics::{Chain, Passing, StreamEnd, Toxic};
use model::{Direction, PerDirection, PerSide, Side, Timestamp};
use sys::Clock;
use sys::clock::WallOffset;
use sys::socket::{Received, Sent, Socket};

pub(crate) struct Connection {
    sockets: PerSide<Socket>,
    /// To the server and to the client.
    lanes: PerDirection<ForwardedDirection>,
    /// Whether work was left after one pass.
    busy: bool,
}

struct ForwardedDirection {
    chain: Chain,
    /// A partly written piece, from `sent` on.
    sending: Vec<u8>,
    sent: usize,
    /// When the last bytes entered the toxics.
    entered_at: Timestamp,
    /// Whether the source may be readable.
    readable: bool,
    source_ended: bool,
    /// The sink is full until reported writable.
    sink_full: bool,
    /// The sink accepts no bytes any more; further bytes are dropped.
    sink_gone: bool,
    /// Whether the sink has received the end.
    finished: bool,
}

/// The current time, and the mapping of kernel timestamps to the toxics' timeline.
pub(crate) struct Moment {
    pub(crate) at: Timestamp,
    pub(crate) clock: Clock,
    pub(crate) offset: WallOffset,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    Open,
    Close,
    Reset,
}

pub(crate) type PassedOn = PerDirection<u64>;

impl ForwardedDirection {
    fn new(chain: Chain, at: Timestamp) -> Self {
        Self {
            chain,
            sending: Vec::new(),
            sent: 0,
            entered_at: at,
            readable: true,
            source_ended: false,
            sink_full: false,
            sink_gone: false,
            finished: false,
        }
    }

    fn reads(&self) -> bool {
        self.readable && !self.source_ended && self.chain.room()
    }

    /// Reads as far as there is room. Bytes enter the toxics with the kernel's receive time.
    fn read_source(&mut self, source: &Socket, now: &Moment, buffer: &mut [u8]) {
        while self.reads() {
            let mut at = now.at;
            let passing = match source.receive(buffer) {
                Received::Bytes { count, stamp, .. } => {
                    let stamped = stamp.map(|stamp| now.clock.to_timestamp(stamp, now.offset));
                    at = stamped.unwrap_or(at).clamp(self.entered_at, at);
                    self.entered_at = at;
                    Passing::Bytes(buffer.get(..count).unwrap_or_default().to_vec())
                }
                Received::Nothing => {
                    self.readable = false;
                    return;
                }
                Received::End => Passing::End(StreamEnd::Finished),
                Received::Broken(_) => Passing::End(StreamEnd::Reset),
            };
            self.source_ended = matches!(passing, Passing::End(_));
            self.chain.accept(at, passing);
            if self.chain.next_wake().is_some_and(|wake| wake <= now.at) {
                return;
            }
        }
    }

    /// Returns the end, if it is reached.
    fn write(&mut self, sink: &Socket, at: Timestamp, passed_on: &mut u64) -> Option<StreamEnd> {
        loop {
            while self.sent < self.sending.len() {
                if self.sink_full {
                    return None;
                }
                match sink.send(self.sending.get(self.sent..).unwrap_or_default()) {
                    Sent::Bytes(0) => self.sink_full = true,
                    Sent::Bytes(count) => {
                        self.sent += count;
                        *passed_on += count as u64;
                    }
                    Sent::Broken(_) => {
                        self.sink_gone = true;
                        self.sent = self.sending.len();
                    }
                }
            }
            match self.chain.release(at)? {
                Passing::Bytes(_) if self.sink_gone => {}
                Passing::Bytes(bytes) => (self.sending, self.sent) = (bytes, 0),
                Passing::End(ending) => return Some(ending),
            }
        }
    }
}

impl Connection {
    /// The toxics' draws are a function of `seed`.
    pub(crate) fn new(sockets: PerSide<Socket>, toxics: &[Toxic], seed: u64, at: Timestamp) -> Self {
        let lane = |direction: Direction| {
            let of = toxics.iter().filter(|toxic| toxic.direction == direction);
            let seed = seed.wrapping_mul(2) ^ direction.index() as u64;
            ForwardedDirection::new(Chain::new(of, seed, at), at)
        };
        Self {
            sockets,
            lanes: PerDirection::from_fn(lane),
            busy: false,
        }
    }

    pub(crate) fn sockets(&self) -> &PerSide<Socket> {
        &self.sockets
    }

    pub(crate) fn chain(&mut self, direction: Direction) -> &mut Chain {
        &mut self.lanes[direction].chain
    }

    /// The client's socket is number 0.
    pub(crate) fn ready(&mut self, side: Side, readable: bool, writable: bool) {
        let direction = side.sends();
        self.lanes[direction].readable |= readable;
        if writable {
            self.lanes[direction.reverse()].sink_full = false;
        }
    }

    pub(crate) fn pump(&mut self, now: &Moment, buffer: &mut [u8], passed_on: &mut PassedOn) -> Fate {
        self.busy = false;
        for direction in Direction::ALL {
            let lane = &mut self.lanes[direction];
            let (source, sink) = (
                &self.sockets[direction.sender()],
                &self.sockets[direction.receiver()],
            );
            for round in 0..=ROUNDS {
                lane.read_source(source, now, buffer);
                match lane.write(sink, now.at, &mut passed_on[direction]) {
                    Some(StreamEnd::Closed) => return Fate::Close,
                    Some(StreamEnd::Reset) => return Fate::Reset,
                    Some(StreamEnd::Finished) => {
                        sink.finish();
                        lane.finished = true;
                    }
                    None => {}
                }
                if lane.finished || lane.sink_full || !lane.reads() {
                    break;
                }
                self.busy |= round == ROUNDS;
            }
        }
        match self.lanes.iter().all(|lane| lane.finished) {
            true => Fate::Close,
            false => Fate::Open,
        }
    }

    pub(crate) fn next_wake(&self) -> Option<Timestamp> {
        if self.busy {
            return Some(Timestamp::default());
        }
        let lanes = self.lanes.iter().filter(|lane| !lane.sink_full && !lane.finished);
        lanes.filter_map(|lane| lane.chain.next_wake()).min()
    }

    pub(crate) fn held_bytes(&self) -> usize {
        let held = self
            .lanes
            .iter()
            .map(|lane| lane.chain.held_bytes() + lane.sending.len() - lane.sent);
        held.sum()
    }

    /// Whether delays may buffer much.
    pub(crate) fn set_generous(&mut self, generous: bool) {
        self.lanes
            .iter_mut()
            .for_each(|lane| lane.chain.set_generous(generous));
    }

    /// Unread bytes are read first: otherwise close resets the connection, and the peer may lose
    /// unread bytes.
    pub(crate) fn close(self, buffer: &mut [u8]) {
        for socket in &self.sockets {
            socket.finish();
            let mut left = MAX_DISCARDED_BYTES;
            while let Received::Bytes { count, .. } = socket.receive_bytes(buffer) {
                left = left.saturating_sub(count);
                if left == 0 {
                    break;
                }
            }
        }
    }

    pub(crate) fn reset(self) {
        self.sockets.into_iter().for_each(Socket::reset);
    }
}

/// Consecutive reads of one direction before other connections are served.
const ROUNDS: usize = 16;

/// Bytes per side read before a close.
const MAX_DISCARDED_BYTES: usize = 4 * 1024 * 1024;
