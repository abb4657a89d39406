//! One direction of a connection: sender, receiver and waiters.

use super::congestion::{Acknowledged, Congestion};
use super::receiver::{Reaction, Receiver};
use super::round_trip::RttEstimator;
use std::collections::VecDeque;

/// One direction of one connection.
#[derive(Debug, Clone)]
pub struct Flow {
    /// Payload bytes of a full packet.
    packet_bytes: u32,
    /// Round trip of a minimal packet.
    base_rtt: u64,
    round_trip: RttEstimator,
    /// Stream offsets of four stages; `written` means taken by the network stack.
    produced: u64,
    written: u64,
    sent: u64,
    acked: u64,
    /// Offset up to which the receiver allows sending.
    allowed: u64,
    in_flight: u32,
    packets: VecDeque<Packet>,
    last_sent: u64,
    recovering_until: Option<u64>,
    timeouts: u32,
    probed: bool,
    congestion: Congestion,
    receiver: Receiver,
    /// Offset and waiter in ascending order of offsets.
    marks: VecDeque<(u64, u64)>,
    /// Offset up to which bytes are announced (written now or later).
    announced: u64,
}

/// A packet not yet acknowledged.
#[derive(Debug, Clone)]
struct Packet {
    start: u64,
    end: u64,
    sent_at: u64,
    state: PacketState,
    resent: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PacketState {
    InFlight,
    Arrived,
    Lost,
}

/// A packet that a flow puts on the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sending {
    /// Offset of its first byte.
    pub start: u64,
    /// The offset after its last byte.
    pub end: u64,
}

impl Flow {
    /// A flow of a new connection.
    pub fn new(packet_bytes: u32, base_rtt: u64) -> Self {
        Self {
            packet_bytes,
            base_rtt,
            round_trip: RttEstimator::known(base_rtt),
            produced: 0,
            written: 0,
            sent: 0,
            acked: 0,
            allowed: FIRST_ALLOWED,
            in_flight: 0,
            packets: VecDeque::new(),
            last_sent: 0,
            recovering_until: None,
            timeouts: 0,
            probed: false,
            congestion: Congestion::default(),
            receiver: Receiver::default(),
            marks: VecDeque::new(),
            announced: 0,
        }
    }

    /// Records the end of the handshake.
    pub fn opened(&mut self) {
        self.receiver.opened();
        self.round_trip = RttEstimator::first(self.base_rtt);
    }

    /// Limits the receive window to `most` bytes.
    pub fn limit_window(&mut self, most: u64) {
        self.receiver.limit(most);
    }

    /// Sets the initial window to at least `packets`, also after idle time.
    pub fn begin_with(&mut self, packets: u32) {
        self.congestion.begin_with(packets);
    }

    /// Whether it has never sent data.
    pub const fn is_unused(&self) -> bool {
        self.announced == 0
    }

    /// Shifts all times by `by` nanoseconds.
    pub fn shift(&mut self, by: i64) {
        self.last_sent = self.last_sent.saturating_add_signed(by);
        self.packets
            .iter_mut()
            .for_each(|packet| packet.sent_at = packet.sent_at.saturating_add_signed(by));
        self.congestion.shift(by);
        self.receiver.shift(by);
    }

    /// Announces `bytes` to be written; `waiter` waits for their arrival.
    pub fn announce(&mut self, bytes: u64, waiter: u64) {
        self.announced += bytes;
        self.marks.push_back((self.announced, waiter));
    }

    /// Writes `bytes` at `at`.
    pub fn write(&mut self, at: u64, bytes: u64) {
        if self.in_flight == 0 && self.sent == self.written && self.sent > 0 {
            self.congestion
                .after_idle(at, at.saturating_sub(self.last_sent), self.round_trip.timeout());
        }
        self.produced += bytes;
        if self.written - self.acked < MAX_BUFFER {
            self.fill_buffer();
        }
    }

    /// A blocked application continues when a third of the buffer is free
    /// (`sk_stream_write_space`).
    fn fill_buffer(&mut self) {
        self.written = self.produced.min(self.written.max(self.acked + MAX_BUFFER));
    }

    /// The next packet to send, if any. Call until `None`, then call [`Flow::sent_all_it_can`].
    pub fn next_packet(&mut self, at: u64) -> Option<Sending> {
        if self.in_flight >= self.congestion.window {
            return None;
        }
        if let Some(lost) = self.next_lost(at) {
            return Some(lost);
        }
        let end = self.written.min(self.sent + u64::from(self.packet_bytes));
        if end == self.sent || end > self.allowed {
            return None;
        }
        let sending = Sending {
            start: self.sent,
            end,
        };
        self.sent = end;
        self.in_flight += 1;
        self.last_sent = at;
        let packet = Packet {
            start: sending.start,
            end,
            sent_at: at,
            state: PacketState::InFlight,
            resent: false,
        };
        self.packets.push_back(packet);
        Some(sending)
    }

    /// Ends a burst of [`Flow::next_packet`].
    pub fn sent_all_it_can(&mut self, at: u64) {
        let timeout = self.round_trip.timeout();
        let limited = self.in_flight >= self.congestion.window;
        self.congestion
            .after_sending(at, self.in_flight, limited, self.acked, self.sent, timeout);
    }

    /// A packet reached the receiver.
    pub fn arrives(&mut self, at: u64, start: u64, end: u64) -> Reaction {
        self.receiver.packet(at, start, end, self.base_rtt)
    }

    /// The next waiter with all bytes arrived.
    pub fn satisfied(&mut self) -> Option<u64> {
        let received = self.receiver.received;
        self.marks
            .pop_front_if(|(end, _)| *end <= received)
            .map(|(_, waiter)| waiter)
    }

    /// Sends an acknowledgement, and returns received and allowed offset.
    pub fn acknowledge(&mut self) -> (u64, u64) {
        let allowed = self.receiver.acknowledge();
        (self.receiver.received, allowed)
    }

    /// Sends a delayed acknowledgement; returns received and allowed offset.
    pub fn acknowledge_late(&mut self) -> (u64, u64) {
        let allowed = self.receiver.acknowledge_late();
        (self.receiver.received, allowed)
    }

    /// Acknowledges with data of the receiver's side; returns received and allowed offset.
    pub fn acknowledge_with_data(&mut self, at: u64) -> (u64, u64) {
        let allowed = self.receiver.acknowledge_with_data(at);
        (self.receiver.received, allowed)
    }

    /// Time of a delayed acknowledgement; `None` unless the sender waits for it.
    pub fn acknowledges_at(&self) -> Option<u64> {
        if self.sent == self.written {
            None
        } else {
            self.receiver.acknowledges_at()
        }
    }

    /// Offset up to which all bytes have arrived.
    pub const fn received(&self) -> u64 {
        self.receiver.received
    }

    /// Free bytes in the sender's buffer.
    pub const fn room(&self) -> u64 {
        MAX_BUFFER.saturating_sub(self.produced - self.acked)
    }

    /// When the sender ran out of data; `None` if it has more or never sent.
    pub const fn ran_dry_at(&self) -> Option<u64> {
        if self.sent == self.produced && self.sent > 0 {
            Some(self.last_sent)
        } else {
            None
        }
    }

    /// Sets the arrived but unread bytes.
    pub fn set_unread(&mut self, unread: u64) -> bool {
        self.receiver.set_unread(unread)
    }

    /// Processes a delayed acknowledgement that left before `at` and travels for `delay`.
    pub fn resolve_timer(&mut self, at: u64, delay: u64) {
        if let Some(left_at) = self.receiver.acknowledges_at().filter(|left_at| *left_at <= at) {
            let (received, allowed) = self.acknowledge_late();
            self.acknowledged(left_at + delay, received, allowed, None);
        }
    }

    /// An acknowledgement reached the sender. `beyond` is the packet that caused it, if beyond a
    /// gap.
    pub fn acknowledged(&mut self, at: u64, received: u64, allowed: u64, beyond: Option<u64>) {
        self.allowed = self.allowed.max(allowed);
        let (packets, rtt) = self.take_acknowledged(at, received);
        self.acked = self.acked.max(received);
        if self.written < self.produced && self.written - self.acked <= MAX_BUFFER - WAKE_AT_FREE {
            self.fill_buffer();
        }
        if let Some(beyond) = beyond {
            self.mark_arrived(beyond);
        }
        if packets > 0 {
            (self.timeouts, self.probed) = (0, false);
        }
        if let Some(rtt) = rtt {
            self.round_trip.sample(rtt, self.acked, self.sent);
        }
        if self.recovering_until.is_some_and(|until| self.acked >= until) {
            self.recovering_until = None;
        }
        if packets > 0 && self.recovering_until.is_none() {
            let ack = Acknowledged {
                at,
                packets,
                rtt,
                acked: self.acked,
                sent: self.sent,
            };
            self.congestion.acknowledged(ack);
        }
    }

    /// First retransmits the last packet as a probe (the tail loss probe of RFC 8985), next time
    /// marks all packets lost for [`Flow::next_packet`]. Due at [`Flow::gives_up_at`].
    pub fn gives_up(&mut self, at: u64) -> Option<Sending> {
        if self.may_probe() {
            self.probed = true;
            self.last_sent = at;
            let packet = self.packets.back_mut()?;
            (packet.resent, packet.sent_at) = (true, at);
            return Some(Sending {
                start: packet.start,
                end: packet.end,
            });
        }
        self.timeouts += 1;
        self.congestion.timed_out();
        self.recovering_until = Some(self.sent);
        for packet in self
            .packets
            .iter_mut()
            .filter(|packet| packet.state == PacketState::InFlight)
        {
            packet.state = PacketState::Lost;
        }
        self.in_flight = 0;
        None
    }

    /// The sender's timeout: two round trips for the probe, then doubled each time (RFC 6298).
    /// `None` without a pending acknowledgement.
    pub fn gives_up_at(&self) -> Option<u64> {
        if self.acked >= self.sent {
            return None;
        }
        let mut patience = (self.round_trip.timeout() << self.timeouts.min(MAX_TIMEOUTS)).min(MAX_TIMEOUT);
        if self.may_probe() {
            let alone = if self.packets.len() == 1 {
                SINGLE_PACKET_TIMEOUT
            } else {
                PROBE_MARGIN
            };
            patience = patience.min(2 * self.round_trip.smoothed() + alone);
        }
        Some(self.last_sent + patience)
    }

    /// Whether a real connection would break after so many timeouts.
    pub const fn has_lost_patience(&self) -> bool {
        self.timeouts >= MAX_TIMEOUTS
    }

    const fn may_probe(&self) -> bool {
        !self.probed && self.timeouts == 0 && self.recovering_until.is_none()
    }

    fn take_acknowledged(&mut self, at: u64, received: u64) -> (u32, Option<u64>) {
        let (mut count, mut rtt) = (0, None);
        while let Some(packet) = self.packets.pop_front_if(|packet| packet.end <= received) {
            if packet.state == PacketState::InFlight {
                self.in_flight = self.in_flight.saturating_sub(1);
            }
            count += 1;
            // One that had arrived before, known or not, has waited for others since.
            if !packet.resent && packet.state == PacketState::InFlight {
                rtt = Some(at.saturating_sub(packet.sent_at));
            }
        }
        (count, rtt)
    }

    /// Packets are lost if three later ones have arrived, or one sent a quarter of a round trip
    /// later (RFC 8985).
    fn mark_arrived(&mut self, beyond: u64) {
        let place = self.packets.partition_point(|packet| packet.end < beyond);
        let Some(packet) = self.packets.get_mut(place) else {
            return;
        };
        if packet.state == PacketState::InFlight {
            self.in_flight = self.in_flight.saturating_sub(1);
        }
        packet.state = PacketState::Arrived;
        let sent_at = packet.sent_at;
        let mut any_lost = false;
        let reordering = self.base_rtt / 4;
        for (behind, packet) in self.packets.iter_mut().take(place).rev().enumerate() {
            let overtaken = behind + 1 >= DUPLICATES_BEFORE_LOSS || packet.sent_at + reordering < sent_at;
            if packet.state == PacketState::InFlight && packet.sent_at <= sent_at && overtaken {
                packet.state = PacketState::Lost;
                self.in_flight = self.in_flight.saturating_sub(1);
                any_lost = true;
            } else if packet.state == PacketState::Lost {
                break;
            }
        }
        if any_lost && self.recovering_until.is_none() {
            self.recovering_until = Some(self.sent);
            self.congestion.lost();
        }
    }

    fn next_lost(&mut self, at: u64) -> Option<Sending> {
        self.recovering_until?;
        let packet = self
            .packets
            .iter_mut()
            .find(|packet| packet.state == PacketState::Lost)?;
        packet.state = PacketState::InFlight;
        packet.resent = true;
        packet.sent_at = at;
        let sending = Sending {
            start: packet.start,
            end: packet.end,
        };
        self.in_flight += 1;
        self.last_sent = at;
        Some(sending)
    }
}

/// The receiver's window in its SYN.
const FIRST_ALLOWED: u64 = 64_240;
/// Payload that tcp_wmem's maximum of 4 MiB holds besides overhead: about 95 %.
const MAX_BUFFER: u64 = 4_000_000;
/// Room at which a waiting application continues: a third, less one piece of 64 KiB in
/// transmission.
const WAKE_AT_FREE: u64 = MAX_BUFFER / 3 - 65_536;
/// Two ticks of a clock of 250 Hz (`TCP_TIMEOUT_MIN`).
const PROBE_MARGIN: u64 = 8_000_000;
/// A single packet's acknowledgement may be delayed (`tcp_rto_min`).
const SINGLE_PACKET_TIMEOUT: u64 = 200_000_000;
/// As `TCP_RTO_MAX` in Linux.
const MAX_TIMEOUT: u64 = 120_000_000_000;
/// As `tcp_retries2` in Linux.
const MAX_TIMEOUTS: u32 = 15;
const DUPLICATES_BEFORE_LOSS: usize = 3;
