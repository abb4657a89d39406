//! One direction of a connection: its bytes put in order, each exactly once.

use crate::flights::Flights;
use crate::pending::{Chunk, Pending};
use crate::tcp::{Head, Packet, SynOptions};
use model::{ConnectionEvent, ConnectionId, Direction, Observer, Segment, Timestamp};
use std::time::Duration;

/// Where events go, and what all connections share.
pub(crate) struct Output<'o> {
    /// Who takes the events.
    pub observer: &'o mut dyn Observer,
    /// Memory that bytes waiting for their turn take on all connections.
    pub memory: usize,
    /// What becomes warnings.
    pub tally: Tally,
}

/// What went wrong inside connections.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Tally {
    /// Packets captured more than once.
    pub duplicates: u64,
    /// Packets dropped because their sequence numbers fit nowhere.
    pub misplaced: u64,
    /// Gaps given up because too many bytes waited behind them.
    pub overflows: u64,
    /// Bytes known to be missing.
    pub unseen: u64,
}

/// One direction. Places on the stream are sequence numbers continued to 64 bits.
pub(crate) struct Half {
    pub direction: Direction,
    /// Whether `next` is known.
    pub started: bool,
    /// Place of the first byte.
    pub first: u64,
    /// Place of the next byte in order.
    pub next: u64,
    /// Highest place the other side acknowledged.
    pub acked: u64,
    /// When it did.
    pub acked_at: Timestamp,
    /// Whether the acknowledgement came without payload.
    pub acked_purely: bool,
    /// What the other side acknowledged before the first packet of this direction was seen.
    pub claimed: Option<u32>,
    /// Highest place the other side is ready to receive; absent while its window's scale is not known.
    pub edge: Option<u64>,
    /// Initial sequence number.
    pub isn: Option<u32>,
    pub options: SynOptions,
    /// Payload of a full packet; absent when the handshake was not seen.
    pub segment_size: Option<u32>,
    /// Shift of the windows this side announces; absent when the handshake was not seen.
    pub window_shift: Option<u8>,
    /// Largest payload of one packet so far.
    pub largest: u32,
    /// Place of a FIN that has not had its turn.
    fin: Option<u64>,
    pub fin_passed: bool,
    pub flights: Flights,
    pending: Option<Box<Pending>>,
    /// When the last new payload passed, and how much.
    pub sent: Option<(Timestamp, u32)>,
    /// Whether the window was used up then.
    pub window_used_up: bool,
    /// When this direction last repeated itself.
    pub repeated_at: Timestamp,
    /// End of the last recovery told.
    recovered: Timestamp,
    /// Interface that new bytes came from.
    interface: u32,
    recent: [u32; RECENT],
    recent_next: u8,
    emitted: Timestamp,
    pub packets: u64,
    pub wire_bytes: u64,
    pub payload_bytes: u64,
    pub unseen_bytes: u64,
    pub retransmitted: u64,
}

impl Half {
    pub fn new(direction: Direction) -> Self {
        Self {
            direction,
            started: false,
            first: 0,
            next: 0,
            acked: 0,
            acked_at: Timestamp::default(),
            acked_purely: false,
            claimed: None,
            edge: None,
            isn: None,
            options: SynOptions::default(),
            segment_size: None,
            window_shift: None,
            largest: 0,
            fin: None,
            fin_passed: false,
            flights: Flights::default(),
            pending: None,
            sent: None,
            window_used_up: false,
            repeated_at: Timestamp::default(),
            recovered: Timestamp::default(),
            interface: 0,
            recent: [0; RECENT],
            recent_next: 0,
            emitted: Timestamp::default(),
            packets: 0,
            wire_bytes: 0,
            payload_bytes: 0,
            unseen_bytes: 0,
            retransmitted: 0,
        }
    }

    /// Begins the stream at `sequence`.
    pub fn start(&mut self, sequence: u32) {
        self.started = true;
        self.first = ORIGIN + u64::from(sequence);
        self.next = self.first;
        self.acked = self.first;
    }

    /// Begins the stream in the middle, with the first packet seen. Bytes the other side had acknowledged before
    /// are old: a keep-alive probe or a retransmission.
    pub fn start_midway(&mut self, head: &Head) {
        let end = head.sequence.wrapping_add(head.length);
        match self.claimed {
            Some(claimed) if claimed.wrapping_sub(end) < MAX_OLD => self.start(claimed),
            _ => self.start(head.sequence),
        }
        self.interface = head.interface;
    }

    /// Place of a sequence number: the nearest one to `next`.
    #[inline]
    pub fn place(&self, sequence: u32) -> u64 {
        let ahead = sequence.wrapping_sub(self.next as u32) as i32;
        self.next.wrapping_add_signed(i64::from(ahead))
    }

    /// Whether bytes or a FIN wait behind a gap.
    #[inline]
    pub fn has_gap(&self) -> bool {
        self.pending.is_some() || self.fin.is_some()
    }

    /// Counts a packet.
    #[inline]
    pub fn count(&mut self, head: &Head) {
        self.packets += head.packets;
        self.wire_bytes += head.wire_bytes;
    }

    /// Takes a packet's bytes that are next in order, with nothing waiting behind them.
    #[inline]
    pub fn take_next(
        &mut self,
        id: ConnectionId,
        packet: &Packet<'_>,
        idle: Option<Duration>,
        out: &mut Output<'_>,
    ) {
        let head = &packet.head;
        if head.length > 0 {
            let end = self.next + u64::from(head.length);
            if end > self.acked {
                self.flights.push(end, head.at);
            }
            self.remember(head);
            self.deliver(id, head.at, packet.payload, u64::from(head.length), idle, out);
            self.largest = self.largest.max(head.length);
            self.sent = Some((head.at, head.length));
            self.window_used_up = self
                .edge
                .is_some_and(|edge| edge < self.next + u64::from(self.full_size()));
        }
    }

    /// Takes a packet whose first bytes are old, or that closes a gap; gives the time since when the bytes behind
    /// the gap waited.
    pub fn take_overlap(
        &mut self,
        id: ConnectionId,
        packet: &Packet<'_>,
        start: u64,
        out: &mut Output<'_>,
    ) -> Option<Timestamp> {
        let head = &packet.head;
        let since = self.pending.as_ref().and_then(|pending| pending.since());
        let old = self.next.saturating_sub(start);
        let fresh = u64::from(head.length).saturating_sub(old);
        if fresh > 0 {
            let payload = packet.payload.get(old as usize..).unwrap_or_default();
            self.remember(head);
            self.sent = Some((head.at, head.length));
            self.largest = self.largest.max(head.length);
            if self.pending.is_some() {
                self.wait(head.at, self.next, fresh, payload, out);
            } else {
                self.deliver(id, head.at, payload, fresh, Some(Duration::ZERO), out);
            }
        }
        let before = self.charge();
        self.drain(id, Some(head.at), out);
        since.filter(|_| self.charge() < before)
    }

    /// Counts a packet that brings bytes already seen, unless it is the same packet captured again. When they were
    /// not acknowledged, they had waited for it since they passed first.
    #[cold]
    pub fn repeat(&mut self, id: ConnectionId, head: &Head, start: u64, out: &mut Output<'_>) {
        if self.is_duplicate(head) {
            out.tally.duplicates += 1;
            return;
        }
        self.retransmitted += head.packets;
        if start >= self.acked && head.length > 0 {
            let again = (self.repeated_at > Timestamp::default()).then_some(self.repeated_at);
            let from = self
                .flights
                .passed(start)
                .or(again)
                .or(self.sent.map(|(at, _)| at));
            self.recover(id, from.unwrap_or(head.at), head.at, out);
        }
        self.flights.clear();
        self.repeated_at = head.at;
        self.remember(head);
    }

    /// Keeps a packet that is ahead of its turn; whether it brought new bytes.
    pub fn take_early(&mut self, packet: &Packet<'_>, start: u64, out: &mut Output<'_>) -> bool {
        let head = &packet.head;
        if head.length == 0 {
            return true;
        }
        let added = self.wait(head.at, start, u64::from(head.length), packet.payload, out);
        self.largest = self.largest.max(head.length);
        self.sent = Some((head.at, head.length));
        self.flights.clear();
        if added {
            self.remember(head);
        }
        added
    }

    /// Keeps bytes until their turn; whether some of them are new.
    fn wait(&mut self, at: Timestamp, start: u64, length: u64, payload: &[u8], out: &mut Output<'_>) -> bool {
        let pending = self.pending.get_or_insert_default();
        let before = pending.charge();
        let added = pending.insert(at, start, length, payload);
        out.memory += pending.charge() - before;
        added
    }

    /// Notes where the stream ends.
    pub fn note_fin(&mut self, place: u64) {
        if self.fin.is_none() && !self.fin_passed {
            self.fin = Some(place);
        }
        self.pass_fin();
    }

    /// Moves past the FIN when it has its turn; forgets one that payload contradicts.
    fn pass_fin(&mut self) {
        match self.fin {
            Some(fin) if fin == self.next => {
                self.next += 1;
                self.fin = None;
                self.fin_passed = true;
            }
            Some(fin) if fin < self.next => self.fin = None,
            _ => {}
        }
    }

    /// Delivers what has its turn now. `at` is when the gap before it was closed; without it the gap was only in the
    /// capture, and each chunk has its own time.
    fn drain(&mut self, id: ConnectionId, at: Option<Timestamp>, out: &mut Output<'_>) {
        while let Some(chunk) = self.take_pending(out) {
            self.deliver_chunk(id, at, &chunk, out);
        }
        self.pass_fin();
    }

    fn take_pending(&mut self, out: &mut Output<'_>) -> Option<Chunk> {
        let pending = self.pending.as_mut()?;
        let before = pending.charge();
        let chunk = pending.take_at(self.next);
        out.memory = out.memory.saturating_sub(before - pending.charge());
        if pending.charge() == 0 {
            self.pending = None;
        }
        chunk
    }

    fn deliver_chunk(
        &mut self,
        id: ConnectionId,
        at: Option<Timestamp>,
        chunk: &Chunk,
        out: &mut Output<'_>,
    ) {
        let old = self.next.saturating_sub(chunk.start);
        let fresh = chunk.length.saturating_sub(old);
        if fresh > 0 {
            let bytes = chunk.bytes.get(old as usize..).unwrap_or_default();
            self.deliver(
                id,
                at.unwrap_or(chunk.at),
                bytes,
                fresh,
                Some(Duration::ZERO),
                out,
            );
        }
    }

    /// Gives up what is missing before `place`: it passed, but is not in the capture. Bytes that wait behind a gap
    /// passed when they were seen, so a gap before them had passed by then; otherwise it had by `at`.
    pub fn give_up(&mut self, id: ConnectionId, place: u64, at: Timestamp, out: &mut Output<'_>) {
        let place = self.fin.map_or(place, |fin| place.min(fin));
        while self.next < place {
            let waiting = self.pending.as_ref().and_then(|pending| pending.first_start());
            let (until, at) = match waiting {
                Some(start) if start < place => {
                    (start, self.pending.as_ref().and_then(|p| p.since()).unwrap_or(at))
                }
                _ => (place, at),
            };
            self.deliver(id, at, &[], until - self.next, None, out);
            self.drain(id, None, out);
        }
        self.drain(id, None, out);
    }

    /// Settles the first gap: gives it up when the bytes behind it are believable, drops those otherwise.
    /// Whether there was one.
    ///
    /// Believable are bytes that the other side acknowledged, that a one-sided capture shows, or that lie within
    /// a window of the last acknowledgement.
    pub fn settle_gap(
        &mut self,
        id: ConnectionId,
        at: Timestamp,
        other_seen: bool,
        out: &mut Output<'_>,
    ) -> bool {
        let waiting = self.pending.as_ref().and_then(|pending| pending.first_start());
        let Some(start) = waiting.or(self.fin) else {
            return false;
        };
        let reach = self.edge.unwrap_or(0).max(self.acked.max(self.next) + BELIEVABLE);
        if !other_seen || start <= reach {
            self.give_up(id, start, at, out);
        } else {
            out.memory = out.memory.saturating_sub(self.charge());
            out.tally.misplaced += 1;
            (self.pending, self.fin) = (None, None);
        }
        true
    }

    /// Memory that waiting bytes take.
    pub fn charge(&self) -> usize {
        self.pending.as_ref().map_or(0, |pending| pending.charge())
    }

    #[inline]
    fn deliver(
        &mut self,
        id: ConnectionId,
        at: Timestamp,
        payload: &[u8],
        length: u64,
        sender_idle: Option<Duration>,
        out: &mut Output<'_>,
    ) {
        let unseen = length.saturating_sub(payload.len() as u64);
        self.emitted = self.emitted.max(at);
        self.next += length;
        self.payload_bytes += length;
        self.unseen_bytes += unseen;
        out.tally.unseen += unseen;
        let segment = Segment {
            direction: self.direction,
            at: self.emitted,
            payload,
            unseen,
            sender_idle,
        };
        out.observer.event(id, ConnectionEvent::Segment(segment));
    }

    /// Tells that bytes waited from `from` to `to`; time told before is not told again.
    pub fn recover(&mut self, id: ConnectionId, from: Timestamp, to: Timestamp, out: &mut Output<'_>) {
        let from = from.max(self.recovered);
        if from < to {
            self.recovered = to;
            out.observer.event(
                id,
                ConnectionEvent::Recovery {
                    direction: self.direction,
                    from,
                    to,
                },
            );
        }
    }

    /// Payload of a full packet, as far as known.
    pub fn full_size(&self) -> u32 {
        self.segment_size.unwrap_or(self.largest.max(SMALLEST_FULL))
    }

    #[inline]
    pub fn remember(&mut self, head: &Head) {
        self.interface = head.interface;
        self.recent[usize::from(self.recent_next) % RECENT] = mark(head);
        self.recent_next = self.recent_next.wrapping_add(1);
    }

    /// Whether a packet that repeats old bytes is the same packet captured again, not sent again. It is when
    ///
    /// 1. it was captured on another interface than the new bytes of this direction, or
    /// 2. one of the last few packets had the same header, IP identification and checksum, and either the
    ///    identification is in use (each transmission gets another one) or the two are within [`SAME_PACKET`].
    pub fn is_duplicate(&self, head: &Head) -> bool {
        if head.interface != self.interface {
            return true;
        }
        let near = self.sent.is_none_or(|(at, _)| head.at.since(at) < SAME_PACKET);
        (head.identification != 0 || near) && self.recent.contains(&mark(head))
    }
}

/// A number that two transmissions hardly share.
#[inline]
fn mark(head: &Head) -> u32 {
    let mut mark = u64::from(head.sequence) << 32 | u64::from(head.acknowledgement);
    mark = mark.wrapping_mul(MIX) ^ (u64::from(head.checksum) << 32 | u64::from(head.identification) << 16);
    mark = mark.wrapping_mul(MIX)
        ^ (u64::from(head.length) << 24 | u64::from(head.window) << 8 | u64::from(head.flags));
    (mark.wrapping_mul(MIX) >> 32) as u32
}

/// Where place 0 would be, so that bytes before the first one seen have places too.
const ORIGIN: u64 = 1 << 40;
/// Half of the sequence space: what is nearer counts as old, what is farther as new.
const MAX_OLD: u32 = 1 << 31;
/// Packets whose marks are kept.
const RECENT: usize = 8;
/// How far apart in time copies of one packet without IP identification may be: below any retransmission timeout.
const SAME_PACKET: Duration = Duration::from_millis(3);
/// How far beyond the last acknowledgement bytes may lie when the window is not known.
const BELIEVABLE: u64 = 16 << 20;
/// Payload below which no packet counts as full: the smallest default MSS (RFC 9293 section 3.7.1).
const SMALLEST_FULL: u32 = 536;
/// An odd number without pattern (2^64 divided by the golden ratio).
pub(crate) const MIX: u64 = 0x9e37_79b9_7f4a_7c15;
