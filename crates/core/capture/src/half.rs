//! Puts the bytes of one direction in order, each exactly once.

use crate::duplicate::{Recent, Sightings};
use crate::edges::Edges;
use crate::flights::Flights;
use crate::hosts::Hosts;
use crate::pending::Pending;
use crate::settle::Settling;
use crate::tcp::{Head, Packet, SynOptions};
use model::{ConnectionEvent, ConnectionId, Direction, Segment, Timestamp};
use std::time::Duration;

pub(crate) struct Output<'o> {
    pub observer: Settling<'o>,
    pub hosts: Hosts,
    pub memory: usize,
    pub faults: Faults,
}

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Faults {
    pub duplicates: u64,
    /// Packets dropped because of impossible sequence numbers.
    pub misplaced: u64,
    /// Gaps given up because too many bytes waited behind them.
    pub overflows: u64,
    pub unseen: u64,
    /// Connections with one direction missing, although the other one acknowledges it.
    pub one_sided: u64,
    pub midway: u64,
    pub translated: u64,
    /// Captured packets that are several on the wire.
    pub offloaded: u64,
    /// Number of wire packets of those.
    pub cut: u64,
}

/// A keep-alive probe that waits for its reply.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Probe {
    pub at: Timestamp,
    pub stamp: Option<u32>,
}

/// Stream offsets are sequence numbers extended to 64 bits.
pub(crate) struct Half {
    pub direction: Direction,
    pub started: bool,
    /// Whether it began with a packet without payload. That may be a keep-alive, one before the
    /// next byte.
    pub tentative: bool,
    pub first: u64,
    pub next: u64,
    pub acked: u64,
    pub acked_at: Timestamp,
    pub acked_purely: bool,
    /// Acknowledgement by the other side before the first packet of this direction was seen.
    pub claimed: Option<u32>,
    pub edges: Edges,
    pub isn: Option<u32>,
    pub options: SynOptions,
    /// Payload of a full packet; `None` without a handshake.
    pub segment_size: Option<u32>,
    /// Shift of this side's announced windows; `None` without a handshake.
    pub window_shift: Option<u8>,
    pub largest: u32,
    /// Offset of a FIN that is not in order yet.
    pub fin: Option<u64>,
    pub fin_passed: bool,
    /// An acknowledged FIN that was probably not captured.
    pub fin_believed: bool,
    pub end_told: bool,
    pub flights: Flights,
    pub pending: Option<Box<Pending>>,
    /// Time and length of the last new payload.
    pub sent: Option<(Timestamp, u32)>,
    /// Room in the receiver's window after `sent`, as known to the sender. `None` while the
    /// window's scale is unknown.
    pub room: Option<u64>,
    pub repeated_at: Timestamp,
    /// End of the last reported recovery.
    recovered: Timestamp,
    pub recent: Recent,
    pub sightings: Sightings,
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

    pub fn start(&mut self, sequence: u32) {
        self.started = true;
        self.first = ORIGIN + u64::from(sequence);
        self.next = self.first;
        self.acked = self.first;
    }

    /// Starts the stream in the middle. Bytes that the other side had acknowledged are old: a
    /// keep-alive probe or a retransmission. So is a single byte without PSH.
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

    /// Corrects the start of a stream that began with a packet without payload. If the first byte
    /// is one further, that packet was a keep-alive.
    #[cold]
    pub fn settle_start(&mut self, place: u64) {
        self.tentative = false;
        if place == self.next + 1 {
            self.first = place;
            self.next = place;
            self.acked = place;
        }
    }

    /// The offset of a sequence number that is nearest to `next`.
    #[inline]
    pub fn stream_offset(&self, sequence: u32) -> u64 {
        let ahead = sequence.wrapping_sub(self.next as u32) as i32;
        self.next.wrapping_add_signed(i64::from(ahead))
    }

    #[inline]
    pub fn has_gap(&self) -> bool {
        self.pending.is_some() || self.fin.is_some()
    }

    /// Packets above the agreed segment size are several on the wire: segmentation offload splits
    /// or merges them. Packets with known fragments are exempt.
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

    /// Processes a packet in order, with none waiting after it.
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

    /// Counts a packet with old bytes, unless it is captured twice. Bytes without acknowledgement
    /// had waited for it since they first passed.
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

    pub fn note_fin(&mut self, place: u64) {
        if self.fin.is_none() && !self.fin_passed {
            self.fin = Some(place);
        }
        self.pass_fin();
    }

    /// Moves past a FIN in order. Drops one that payload contradicts.
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

    /// Reports the next `length` bytes; `payload` is the captured part.
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
        let segment = Segment {
            direction: self.direction,
            at,
            payload,
            unseen: length.saturating_sub(payload.len() as u64),
            is_gap: false,
            sender_idle,
        };
        self.emit_segment(id, segment, out);
    }

    /// Reports that no packet with the next `length` bytes was captured.
    pub fn deliver_gap(&mut self, id: ConnectionId, at: Timestamp, length: u64, out: &mut Output<'_>) {
        let segment = Segment {
            direction: self.direction,
            at,
            payload: &[],
            unseen: length,
            is_gap: true,
            sender_idle: None,
        };
        self.emit_segment(id, segment, out);
    }

    #[inline]
    fn emit_segment(&mut self, id: ConnectionId, mut segment: Segment<'_>, out: &mut Output<'_>) {
        let length = segment.payload.len() as u64 + segment.unseen;
        self.emitted = self.emitted.max(segment.at);
        self.next += length;
        self.payload_bytes += length;
        self.unseen_bytes += segment.unseen;
        out.faults.unseen += segment.unseen;
        segment.at = self.emitted;
        out.observer.event(id, ConnectionEvent::Segment(segment));
    }

    /// Reports that bytes waited from `from` to `to`, without time that was reported before.
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

    pub fn full_size(&self) -> u32 {
        self.segment_size.unwrap_or(self.largest.max(MIN_FULL_SEGMENT))
    }
}

pub(crate) const LATEST: Timestamp = Timestamp::from_nanos(u64::MAX);
/// The offset 0 of the extended sequence numbers, so that bytes before the first one seen have
/// offsets.
const ORIGIN: u64 = 1 << 40;
/// Half of the sequence space: lower distances count as old, higher ones as new.
const MAX_OLD: u32 = 1 << 31;
/// Minimum payload of a full packet: the smallest default MSS (RFC 9293 section 3.7.1).
const MIN_FULL_SEGMENT: u32 = 536;
