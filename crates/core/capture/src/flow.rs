//! Turns packets of both directions of a TCP connection into events.

mod hold;
mod keep_alive;
mod opening;
mod resting;

use crate::half::{Half, Output};
use crate::hosts::{Estimate, HostPair};
use crate::idle;
use crate::key::Key;
use crate::round_trip::{self, Pair};
use crate::tcp::{ACK, FIN, Head, Packet, RST, SYN, SynOptions};
use hold::Hold;
use model::{
    Closing, ConnectionEvent, ConnectionId, ConnectionTotals, Direction, PerDirection, PerSide, Side,
    Timestamp,
};
use opening::HandshakeSeen;
pub(crate) use resting::Resting;
use std::time::Duration;

pub(crate) struct Flow {
    pub id: ConnectionId,
    /// Index of the source that shows it.
    pub owner: usize,
    pub client_first: bool,
    pub last_at: Timestamp,
    pub listed: bool,
    pub drained: bool,
    pub closing: Option<(Timestamp, Closing)>,
    pub opening: HandshakeSeen,
    pub halves: PerDirection<Half>,
    pub least: PerSide<Option<Duration>>,
    pub host_pair: Option<HostPair>,
    pub borrowed: PerSide<Option<Estimate>>,
    pub hold: Option<Box<Hold>>,
    pub copies: Vec<Key>,
}

impl Flow {
    pub fn new(id: ConnectionId, owner: usize, client_first: bool, at: Timestamp) -> Self {
        Self {
            id,
            owner,
            client_first,
            last_at: at,
            listed: false,
            drained: false,
            closing: None,
            opening: HandshakeSeen::default(),
            halves: PerDirection::from_fn(Half::new),
            least: PerSide::default(),
            host_pair: None,
            borrowed: PerSide::default(),
            hold: None,
            copies: Vec::new(),
        }
    }

    #[inline]
    pub fn direction(&self, from_first: bool) -> Direction {
        if from_first == self.client_first {
            Direction::ClientToServer
        } else {
            Direction::ServerToClient
        }
    }

    /// Whether a SYN opens another connection between the same endpoints: its initial sequence
    /// number differs. If this connection's own SYN was not seen, a SYN that fits shortly before
    /// its first packet in place and time is this connection's late one. So is a SYN sent before
    /// the handshake completed.
    pub fn is_succeeded_by(&self, direction: Direction, head: &Head) -> bool {
        let half = &self.halves[direction];
        match half.isn {
            Some(isn) => isn != head.sequence && !self.is_tried_again(direction, head),
            None => {
                let behind = (half.first as u32).wrapping_sub(head.sequence.wrapping_add(1));
                let fits =
                    behind == 0 || (behind < LATE_SYN_BYTES && head.at <= self.last_at.after(LATE_SYN));
                half.started && !fits
            }
        }
    }

    /// Whether a SYN with another sequence number is a further attempt to open this connection.
    fn is_tried_again(&self, direction: Direction, head: &Head) -> bool {
        let is_of_its_side = head.has(ACK) == (direction == Direction::ServerToClient);
        let nothing_passed = self.halves.iter().all(|half| half.payload_bytes == 0);
        is_of_its_side
            && nothing_passed
            && self.closing.is_none()
            && !self.opening.is_done()
            && head.at <= self.last_at.after(MAX_SYN_RETRY)
    }

    /// Whether a packet contains only old bytes and is not a keep-alive probe.
    pub fn has_seen(&self, direction: Direction, head: &Head) -> bool {
        let half = &self.halves[direction];
        half.started && (head.has(SYN) || half.stream_offset(head.sequence) + 1 < half.next)
    }

    /// Whether a packet answers the other direction, and is the first of its own direction.
    pub fn is_answered_by(&self, direction: Direction, head: &Head) -> bool {
        let (own, other) = (&self.halves[direction], &self.halves[direction.reverse()]);
        let acknowledged = other.stream_offset(head.acknowledgement);
        !own.started && other.started && head.has(ACK) && (other.first..=other.next).contains(&acknowledged)
    }

    /// The direction in which a packet with these numbers would be exactly the next one.
    pub fn expecting(&self, head: &Head) -> Option<Direction> {
        if !head.has(ACK) || self.closing.is_some() {
            return None;
        }
        Direction::ALL.into_iter().find(|&direction| {
            let (own, other) = (&self.halves[direction], &self.halves[direction.reverse()]);
            own.started
                && other.started
                && own.next as u32 == head.sequence
                && other.next as u32 == head.acknowledgement
        })
    }

    pub fn held_until(&self) -> Option<Timestamp> {
        self.hold.as_ref().map(|hold| hold.until)
    }

    #[inline]
    pub fn accept(
        &mut self,
        direction: Direction,
        packet: &Packet<'_>,
        options: &SynOptions,
        out: &mut Output<'_>,
    ) {
        self.last_at = self.last_at.max(packet.head.at);
        let half = &mut self.halves[direction];
        let is_copy = match self.copies.is_empty() {
            true => half.sightings.has_elsewhere(&packet.head),
            false => half.sightings.has_translated(&packet.head),
        };
        if is_copy {
            return;
        }
        half.count(&packet.head, &mut out.faults);
        if self.hold.is_some() {
            self.accept_while_holding(direction, packet, options, out);
        } else if self.acknowledges_unknown(direction, &packet.head) {
            self.hold_back(direction, packet, out);
        } else {
            self.process(direction, packet, options, out);
        }
    }

    #[inline]
    pub fn process(
        &mut self,
        direction: Direction,
        packet: &Packet<'_>,
        options: &SynOptions,
        out: &mut Output<'_>,
    ) {
        let head = &packet.head;
        if head.has(SYN) {
            self.synchronise(direction, head, options, out);
        } else if !self.halves[direction].started {
            self.halves[direction].start_midway(head);
        }
        if self.opening.awaits_client() && direction == Direction::ClientToServer && !head.has(SYN | RST) {
            self.complete_handshake(head.at, out);
        }
        if head.has(ACK) {
            self.keep_alive(direction, head, out);
            self.acknowledge(direction, head, out);
        }
        if head.length > 0 || head.has(FIN) {
            self.data(direction, packet, out);
        }
        if self.halves[direction].fin_passed {
            self.halves[direction].emit_end(self.id, head.at, out);
        }
        if head.has(RST) {
            for half in &mut self.halves {
                half.emit_end(self.id, head.at, out);
            }
        }
        if head.has(FIN | RST) && self.closing.is_none() {
            let how = if head.has(RST) {
                Closing::Reset
            } else {
                Closing::Finished
            };
            self.closing = Some((head.at, how));
        }
    }

    #[inline]
    pub fn is_midway(&self) -> bool {
        self.halves.iter().all(|half| half.isn.is_none())
    }

    /// Minimum round trip of a side. Without samples, the estimate from its hosts.
    #[inline]
    pub fn least(&self, side: Side) -> Option<Duration> {
        let borrowed = self.borrowed[side].map(|estimate| estimate.rtt);
        self.least[side].or(borrowed)
    }

    /// Whether a pair of payload and acknowledgement is a sample of a side's round trip. Until the
    /// connection has a sample, a reply with payload is none: it only refines the estimate of the
    /// hosts.
    #[inline]
    pub fn is_sample(&self, pair: &Pair, side: Side, full_size: u32) -> bool {
        (pair.pure || self.least[side].is_some()) && round_trip::is_sample(pair, self.least(side), full_size)
    }

    pub fn sample(&mut self, side: Side, at: Timestamp, rtt: Duration, out: &mut Output<'_>) {
        let least = &mut self.least[side];
        *least = Some(least.map_or(rtt, |least| least.min(rtt)));
        if let Some(host_pair) = self.host_pair {
            out.hosts.sampled(host_pair, side, rtt);
        }
        out.observer
            .event(self.id, ConnectionEvent::RoundTrip { at, side, rtt });
    }

    /// Reports the host estimate of a connection that was open before. Only if the estimate changed
    /// and the connection has no lower sample.
    fn borrow_round_trips(&mut self, host_pair: HostPair, at: Timestamp, out: &mut Output<'_>) {
        for side in Side::ALL {
            let Some(estimate) = out.hosts.estimate(host_pair, side) else {
                continue;
            };
            let own = self.least[side].is_some_and(|own| own <= estimate.rtt);
            if !own && self.borrowed[side] != Some(estimate) {
                self.borrowed[side] = Some(estimate);
                out.observer.event(self.id, estimate.event(side, at));
            }
        }
    }

    #[inline]
    fn acknowledge(&mut self, direction: Direction, head: &Head, out: &mut Output<'_>) {
        let hosts = self.host_pair.filter(|_| self.is_midway());
        let (acker, data) = pair(&mut self.halves, direction);
        if !data.started {
            data.claimed = Some(head.acknowledgement);
            return;
        }
        let acknowledged = data.stream_offset(head.acknowledgement);
        if data.tentative && acknowledged > data.next {
            data.settle_start(acknowledged);
        }
        if acknowledged > data.next + BELIEVED_AHEAD {
            return;
        }
        if let Some(shift) = acker.window_shift {
            let shift = if head.has(SYN) { 0 } else { shift };
            data.edges
                .pass(head.at, acknowledged + (u64::from(head.window) << shift));
        }
        if acknowledged <= data.acked {
            return;
        }
        let covered = acknowledged - data.acked;
        data.acked = acknowledged;
        data.acked_at = head.at;
        data.acked_purely = head.length == 0;
        let Some(flight) = data.flights.land(acknowledged) else {
            return;
        };
        if head.at < flight.at {
            return;
        }
        let pair = Pair {
            span: head.at.since(flight.at),
            pure: head.length == 0 && !head.has(FIN),
            covered,
            exact: flight.end == acknowledged,
        };
        let side = direction.sender();
        if let Some(host_pair) = hosts {
            out.hosts.answered(host_pair, side, pair.span);
        }
        let full_size = data.full_size();
        if self.is_sample(&pair, side, full_size) {
            self.sample(side, head.at, pair.span, out);
        }
    }

    #[inline]
    fn data(&mut self, direction: Direction, packet: &Packet<'_>, out: &mut Output<'_>) {
        let head = &packet.head;
        if let Some(host_pair) = self.host_pair.filter(|_| self.is_midway()) {
            self.borrow_round_trips(host_pair, head.at, out);
        }
        let near = self.least(direction.sender());
        let (sender, receiver) = pair(&mut self.halves, direction);
        let start = sender.stream_offset(head.payload_sequence());
        if sender.tentative {
            sender.settle_start(start);
        }
        let end = start + u64::from(head.length);
        if start == sender.next && !sender.has_gap() {
            let idle = idle::before(sender, receiver, head, near);
            sender.take_next(self.id, packet, near, idle, out);
        } else if end + u64::from(head.has(FIN)) <= sender.next {
            // A keep-alive probe repeats the last byte, or none, on purpose (RFC 9293 section
            // 3.8.4).
            let probe = head.length == 1 && end == sender.next && !head.has(FIN);
            if !probe {
                sender.repeat(self.id, head, start, out);
            }
            return;
        } else if start <= sender.next {
            self.overlap(direction, packet, start, out);
        } else {
            self.early(direction, packet, start, out);
        }
        if head.has(FIN) {
            self.halves[direction].note_fin(end);
        }
    }

    #[cold]
    fn overlap(&mut self, direction: Direction, packet: &Packet<'_>, start: u64, out: &mut Output<'_>) {
        let soon = self.soon();
        let half = &mut self.halves[direction];
        let at = packet.head.at;
        let late = half
            .missed_since(half.next)
            .is_some_and(|since| at.since(since) >= soon);
        if start < half.next {
            half.repeat(self.id, &packet.head, start, out);
        } else if late {
            half.retransmitted += packet.head.packets;
        }
        let waited_since = half.take_overlap(self.id, packet, start, out);
        if let Some(from) = waited_since.filter(|_| late) {
            half.recover(self.id, from, at, out);
            half.repeated_at = at;
        }
    }

    #[cold]
    fn early(&mut self, direction: Direction, packet: &Packet<'_>, start: u64, out: &mut Output<'_>) {
        let soon = self.soon();
        let other_seen = self.halves[direction.reverse()].packets > 0;
        let half = &mut self.halves[direction];
        let at = packet.head.at;
        if start - half.next > MAX_WINDOW {
            out.faults.misplaced += 1;
            return;
        }
        let late = half
            .missed_since(start)
            .is_some_and(|since| at.since(since) >= soon);
        let packet = if packet.head.may_be_probe() {
            // A keep-alive after bytes that were not captured: its byte is not part of the stream.
            &Packet {
                payload: &[],
                ..*packet
            }
        } else {
            packet
        };
        if !half.take_early(packet, start, out) {
            half.repeat(self.id, &packet.head, start, out);
        } else if late {
            half.retransmitted += packet.head.packets;
        }
        while half.charge() > MAX_WAITING || (out.memory > MAX_MEMORY && half.charge() > 0) {
            out.faults.overflows += 1;
            if !half.settle_gap(self.id, at, other_seen, out) {
                break;
            }
        }
    }

    /// Maximum delay of a reordered packet; a retransmission takes at least a round trip. Wireshark
    /// uses the same limit.
    fn soon(&self) -> Duration {
        let whole = self.least[Side::Client]
            .zip(self.least[Side::Server])
            .map(|(client, server)| client + server);
        whole.filter(|rtt| !rtt.is_zero()).unwrap_or(REORDERING)
    }

    /// Flushes waiting bytes and reports the totals. `end` is the end of the observation.
    pub fn close(&mut self, end: Timestamp, out: &mut Output<'_>) {
        if let Some(hold) = self.hold.as_mut() {
            hold.until = Timestamp::default();
        }
        self.flush_held(end, out);
        for direction in Direction::ALL {
            let other_seen = self.halves[direction.reverse()].packets > 0;
            let half = &mut self.halves[direction];
            while half.settle_gap(self.id, self.last_at, other_seen, out) {}
        }
        let one_sided = self
            .halves
            .iter()
            .any(|half| !half.started && half.claimed.is_some());
        out.faults.one_sided += u64::from(one_sided);
        let (at, how) = self.closing.unwrap_or((end, Closing::Unfinished));
        let totals = self.totals();
        out.observer
            .event(self.id, ConnectionEvent::Closed { at, how, totals });
    }

    fn totals(&self) -> ConnectionTotals {
        let both =
            |count: fn(&Half) -> u64| PerDirection::from_fn(|direction| count(&self.halves[direction]));
        ConnectionTotals {
            payload_bytes: both(|half| half.payload_bytes),
            packets: Some(both(|half| half.packets)),
            wire_bytes: Some(both(|half| half.wire_bytes)),
            retransmitted_packets: Some(self.halves.iter().map(|half| half.retransmitted).sum()),
            unseen_bytes: both(|half| half.unseen_bytes),
            seen: PerDirection::from_fn(|direction| self.halves[direction].packets > 0),
        }
    }
}

#[inline]
fn pair(halves: &mut PerDirection<Half>, direction: Direction) -> (&mut Half, &mut Half) {
    let [client, server] = halves.each_mut().into_array();
    match direction {
        Direction::ClientToServer => (client, server),
        Direction::ServerToClient => (server, client),
    }
}

/// Maximum TCP window (RFC 7323). Bytes farther ahead do not belong to the connection.
const MAX_WINDOW: u64 = 1 << 30;
/// Maximum distance ahead of seen bytes at which an acknowledgement is accepted at once.
const BELIEVED_AHEAD: u64 = 1 << 20;
/// Bytes behind a gap, per direction of a connection. Beyond it the gap is given up.
const MAX_WAITING: usize = 4 << 20;
/// The same for all connections together.
const MAX_MEMORY: usize = 64 << 20;
/// The same without a known round trip. Wireshark has this limit too.
const REORDERING: Duration = Duration::from_millis(3);

/// Maximum time between two SYNs of one attempt: Linux doubles it from 1 s, six times.
const MAX_SYN_RETRY: Duration = Duration::from_secs(65);

/// Maximum bytes and time by which a captured SYN may follow packets that it should precede.
const LATE_SYN_BYTES: u32 = 1 << 16;
const LATE_SYN: Duration = Duration::from_millis(100);
