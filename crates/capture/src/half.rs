//! One direction of a connection: its bytes put in order, each exactly once.

use crate::duplicate::{Recent, Sightings};
use crate::edges::Edges;
use crate::flights::Flights;
use crate::hosts::Hosts;
use crate::keep_alive::Probe;
use crate::pending::Pending;
use crate::settle::Settling;
use crate::tcp::{Head, Packet, SynOptions};
use model::{ConnectionEvent, ConnectionId, Direction, Segment, Timestamp};
use std::time::Duration;

/// Where events go, and what all connections share.
pub(crate) struct Output<'o> {
    /// The receiver of the events.
    pub observer: Settling<'o>,
    /// How far hosts are.
    pub hosts: Hosts,
    /// Memory that bytes out of order take on all connections.
    pub memory: usize,
    /// What becomes warnings.
    pub faults: Faults,
}

/// What went wrong inside connections.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Faults {
    /// Packets captured more than once.
    pub duplicates: u64,
    /// Packets dropped because their sequence numbers fit nowhere.
    pub misplaced: u64,
    /// Gaps given up because too many bytes waited behind them.
    pub overflows: u64,
    /// Bytes known to be missing.
    pub unseen: u64,
    /// Connections of which one direction is missing, though the other one acknowledges it.
    pub one_sided: u64,
    /// Connections whose beginning is missing.
    pub midway: u64,
    /// Connections seen under several pairs of addresses.
    pub translated: u64,
    /// Packets that are several on the wire.
    pub offloaded: u64,
    /// How many those are there.
    pub cut: u64,
}

/// One direction. Places on the stream are sequence numbers continued to 64 bits.
pub(crate) struct Half {
    pub direction: Direction,
    /// Whether `next` is known.
    pub started: bool,
    /// Whether a packet without payload began it, which may have been a keep-alive: one place before the next
    /// byte.
    pub tentative: bool,
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
    /// Highest places the other side was ready to receive.
    pub edges: Edges,
    /// Initial sequence number.
    pub isn: Option<u32>,
    pub options: SynOptions,
    /// Payload of a full packet; `None` if the handshake was not seen.
    pub segment_size: Option<u32>,
    /// Shift of the windows this side announces; `None` if the handshake was not seen.
    pub window_shift: Option<u8>,
    /// Largest payload of one packet so far.
    pub largest: u32,
    /// Place of a FIN that is not in order yet.
    pub fin: Option<u64>,
    pub fin_passed: bool,
    /// A FIN was acknowledged that was not captured, as far as is known.
    pub fin_believed: bool,
    /// It was reported that nothing follows.
    end_told: bool,
    pub flights: Flights,
    pub pending: Option<Box<Pending>>,
    /// When the last new payload passed, and how much.
    pub sent: Option<(Timestamp, u32)>,
    /// Bytes the receiver's window had room for after it, as far as the sender knew; `None` while the
    /// window's scale is not known.
    pub room: Option<u64>,
    /// When this direction last repeated itself.
    pub repeated_at: Timestamp,
    /// End of the last recovery that was reported.
    recovered: Timestamp,
    pub recent: Recent,
    pub sightings: Sightings,
    /// A keep-alive probe that was not answered yet.
    pub probe: Option<Probe>,
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
            tentative: false,
            first: 0,
            next: 0,
            acked: 0,
            acked_at: Timestamp::default(),
            acked_purely: false,
            claimed: None,
            edges: Edges::default(),
            isn: None,
            options: SynOptions::default(),
            segment_size: None,
            window_shift: None,
            largest: 0,
            fin: None,
            fin_passed: false,
            fin_believed: false,
            end_told: false,
            flights: Flights::default(),
            pending: None,
            sent: None,
            room: None,
            repeated_at: Timestamp::default(),
            recovered: Timestamp::default(),
            recent: Recent::default(),
            sightings: Sightings::default(),
            probe: None,
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

    /// Begins the stream in the middle, with the first packet seen. Bytes the other side had acknowledged
    /// before are old: a keep-alive probe or a retransmission. So is a single byte that was not pushed.
    pub fn start_midway(&mut self, head: &Head) {
        let end = head.sequence.wrapping_add(head.length);
        match self.claimed {
            Some(claimed) if claimed.wrapping_sub(end) < MAX_OLD => self.start(claimed),
            _ if head.may_be_probe() && head.length == 1 => self.start(end),
            _ => {
                self.start(head.sequence);
                self.tentative = head.may_be_probe() && self.claimed.is_none();
            }
        }
        self.recent.add(head);
    }

    /// Takes the place of the first byte that passes, or is acknowledged, where only the packet before it
    /// said where the stream goes on: when it is one further, that packet was a keep-alive.
    #[cold]
    pub fn settle_start(&mut self, place: u64) {
        self.tentative = false;
        if place == self.next + 1 {
            self.first = place;
            self.next = place;
            self.acked = place;
        }
    }

    /// Place of a sequence number: the nearest one to `next`.
    #[inline]
    pub fn stream_offset(&self, sequence: u32) -> u64 {
        let ahead = sequence.wrapping_sub(self.next as u32) as i32;
        self.next.wrapping_add_signed(i64::from(ahead))
    }

    /// Whether bytes or a FIN wait behind a gap.
    #[inline]
    pub fn has_gap(&self) -> bool {
        self.pending.is_some() || self.fin.is_some()
    }

    /// Counts a packet. One with more payload than the sides agreed on is several on the wire: segmentation
    /// offload cuts it up behind the observation point, or has put it together before. Not one whose
    /// fragments were seen.
    #[inline]
    pub fn count(&mut self, head: &Head, faults: &mut Faults) {
        self.packets += head.packets;
        self.wire_bytes += head.wire_bytes;
        if let Some(size) = self.segment_size
            && head.length > size
            && head.packets == 1
        {
            faults.offloaded += 1;
            faults.cut += u64::from(head.length.div_ceil(size));
        }
    }

    /// Takes a packet's bytes that are next in order, with nothing waiting behind them.
    #[inline]
    pub fn take_next(
        &mut self,
        id: ConnectionId,
        packet: &Packet<'_>,
        near: Option<Duration>,
        idle: Option<Duration>,
        out: &mut Output<'_>,
    ) {
        let head = &packet.head;
        if head.length > 0 {
            let end = self.next + u64::from(head.length);
            if end > self.acked {
                self.flights.push(end, head.at);
            }
            self.recent.add(head);
            self.deliver(id, head.at, packet.payload, u64::from(head.length), idle, out);
            self.largest = self.largest.max(head.length);
            self.sent = Some((head.at, head.length));
            let edge = self.edges.known(head.at, near.unwrap_or_default());
            self.room = edge.map(|edge| edge.saturating_sub(self.next));
        }
    }

    /// Counts a packet that brings bytes already seen, unless it is the same packet captured again. When they
    /// were not acknowledged, they had waited for it since they passed first.
    #[cold]
    pub fn repeat(&mut self, id: ConnectionId, head: &Head, start: u64, out: &mut Output<'_>) {
        if self.recent.has(head) {
            out.faults.duplicates += 1;
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
        self.recent.add(head);
    }

    /// Notes where the stream ends.
    pub fn note_fin(&mut self, place: u64) {
        if self.fin.is_none() && !self.fin_passed {
            self.fin = Some(place);
        }
        self.pass_fin();
    }

    /// Moves past the FIN when it is next in order; forgets one that payload contradicts.
    pub fn pass_fin(&mut self) {
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

    /// Reports that nothing follows, once.
    #[cold]
    pub fn emit_end(&mut self, id: ConnectionId, at: Timestamp, out: &mut Output<'_>) {
        if std::mem::replace(&mut self.end_told, true) {
            return;
        }
        self.emitted = self.emitted.max(at);
        let event = ConnectionEvent::Ended {
            at: self.emitted,
            direction: self.direction,
        };
        out.observer.event(id, event);
    }

    /// Reports the next `length` bytes, of which `payload` was captured.
    #[inline]
    pub fn deliver(
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
        out.faults.unseen += unseen;
        let segment = Segment {
            direction: self.direction,
            at: self.emitted,
            payload,
            unseen,
            sender_idle,
        };
        out.observer.event(id, ConnectionEvent::Segment(segment));
    }

    /// Reports that bytes waited from `from` to `to`; time that was reported before is not reported again.
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
}

/// A moment after all others.
pub(crate) const LATEST: Timestamp = Timestamp::from_nanos(u64::MAX);
/// Where place 0 would be, so that bytes before the first one seen have places too.
const ORIGIN: u64 = 1 << 40;
/// Half of the sequence space: what is nearer counts as old, what is farther as new.
const MAX_OLD: u32 = 1 << 31;
/// Payload below which no packet counts as full: the smallest default MSS (RFC 9293 section 3.7.1).
const SMALLEST_FULL: u32 = 536;
