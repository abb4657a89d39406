//! One direction of a connection: sender, receiver and waiters.

mod recovery;
mod reordering;

use super::bbr::Bbr;
use super::congestion::{Acknowledged, Congestion};
use super::control::{Control, Delivered, Recovering};
use super::receiver::{Reaction, Receiver};
use super::round_trip::RttEstimator;
use super::stream_offset::StreamOffset;
use super::{Acknowledgement, Sending, Unacknowledged, shift};
use model::{Nanos, Timestamp};
use reordering::Reordering;
use std::collections::VecDeque;

/// Names bytes whose arrival a flow's user waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Waiter(pub u64);

/// One direction of one connection.
#[derive(Debug, Clone)]
pub struct Flow {
    /// Payload bytes of a full packet.
    packet_bytes: u32,
    /// Round trip of a minimal packet.
    base_rtt: Nanos,
    round_trip: RttEstimator,
    /// Stream offsets of four stages; `written` means taken by the network stack.
    produced: StreamOffset,
    written: StreamOffset,
    sent: StreamOffset,
    acked: StreamOffset,
    /// Offset up to which the receiver allows sending.
    allowed: StreamOffset,
    in_flight: u32,
    packets: VecDeque<Packet>,
    last_sent: Timestamp,
    /// When the retransmission timer was last set (`tcp_rearm_rto`).
    timer_from: Timestamp,
    recovery: Option<Recovery>,
    reordering: Reordering,
    timeouts: u32,
    probed: bool,
    congestion: Control,
    /// When a paced sender continues.
    continues_at: Option<Timestamp>,
    receiver: Receiver,
    /// Offset and waiter in ascending order of offsets.
    marks: VecDeque<(StreamOffset, Waiter)>,
    /// Offset up to which bytes are announced (written now or later).
    announced: StreamOffset,
}

/// A packet not yet acknowledged.
#[derive(Debug, Clone)]
struct Packet {
    start: StreamOffset,
    end: StreamOffset,
    sent_at: Timestamp,
    state: PacketState,
    resent: bool,
}

/// From the detection of a loss until all bytes sent before it are acknowledged.
#[derive(Debug, Clone, Copy)]
struct Recovery {
    until: StreamOffset,
    /// Whether the window grows during it (`TCP_CA_Loss`).
    by_timeout: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PacketState {
    InFlight,
    Arrived,
    Lost,
}

impl Flow {
    /// A flow of a new connection.
    pub fn new(packet_bytes: u32, base_rtt: Nanos) -> Self {
        Self {
            packet_bytes,
            base_rtt,
            round_trip: RttEstimator::known(base_rtt),
            produced: StreamOffset::START,
            written: StreamOffset::START,
            sent: StreamOffset::START,
            acked: StreamOffset::START,
            allowed: StreamOffset::after(FIRST_ALLOWED),
            in_flight: 0,
            packets: VecDeque::new(),
            last_sent: Timestamp::default(),
            timer_from: Timestamp::default(),
            recovery: None,
            reordering: Reordering::default(),
            timeouts: 0,
            probed: false,
            congestion: Control::Cubic(Congestion::default()),
            continues_at: None,
            receiver: Receiver::default(),
            marks: VecDeque::new(),
            announced: StreamOffset::START,
        }
    }

    /// Records the end of the handshake.
    pub fn opened(&mut self) {
        self.receiver.opened();
        self.round_trip = RttEstimator::first(self.base_rtt);
        self.congestion.end_handshake();
    }

    /// Lets an unused flow send as BBR does.
    pub fn use_bbr(&mut self) {
        if self.is_unused() && matches!(self.congestion, Control::Cubic(_)) {
            self.congestion = Control::Bbr(Box::new(Bbr::new(self.packet_bytes, self.base_rtt)));
        }
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
    pub fn is_unused(&self) -> bool {
        self.announced == StreamOffset::START
    }

    /// Whether messages of at most `bytes`, each acknowledged before the next, leave at once: they
    /// fit the congestion window, also after idle time, and the receiver's, which never shrinks, and
    /// are not paced. The first is sent at `at`, others a round trip or more apart.
    pub fn sends_at_once(&self, bytes: u64, at: Timestamp) -> bool {
        let is_at_rest = self.sent == self.produced && self.recovery.is_none();
        let packets = bytes.div_ceil(u64::from(self.packet_bytes)) + u64::from(self.in_flight);
        is_at_rest
            && packets <= u64::from(self.congestion.min_window())
            && self.congestion.paces_no_message(bytes, at, self.base_rtt)
            && self.sent + bytes <= self.allowed
            && self.receiver.grants(bytes)
    }

    /// Shifts all times by `by` nanoseconds.
    pub fn shift(&mut self, by: i64) {
        self.continues_at = None;
        self.last_sent = shift(self.last_sent, by);
        self.timer_from = shift(self.timer_from, by);
        self.packets
            .iter_mut()
            .for_each(|packet| packet.sent_at = shift(packet.sent_at, by));
        self.reordering.shift(by);
        self.congestion.shift(by);
        self.receiver.shift(by);
    }

    /// Announces `bytes` to be written; `waiter` waits for their arrival.
    pub fn announce(&mut self, bytes: u64, waiter: Waiter) {
        self.announced += bytes;
        self.marks.push_back((self.announced, waiter));
    }

    /// As [`Flow::announce`] without a waiter.
    pub fn announce_to_nobody(&mut self, bytes: u64) {
        self.announced += bytes;
    }

    /// Writes `bytes` at `at`.
    pub fn write(&mut self, at: Timestamp, bytes: u64) {
        if self.in_flight == 0 && self.sent == self.written && self.sent > StreamOffset::START {
            self.congestion
                .after_idle(at, at.nanos_since(self.last_sent), self.round_trip.timeout());
        }
        self.congestion
            .record_write(self.produced - self.sent, self.in_flight);
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
    pub fn next_packet(&mut self, at: Timestamp) -> Option<Sending> {
        if self.in_flight >= self.congestion.window() || !self.congestion.may_send(at) {
            return None;
        }
        let in_flight = self.in_flight;
        if let Some(lost) = self.next_lost(at) {
            let bytes = (lost.end - lost.start) as u32;
            self.congestion.sent_packet(at, bytes, lost.end, in_flight);
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
        if self.packets.is_empty() {
            self.timer_from = at;
        }
        self.in_flight += 1;
        let bytes = (end - sending.start) as u32;
        self.congestion.sent_packet(at, bytes, end, in_flight);
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
    pub fn sent_all_it_can(&mut self) {
        self.congestion
            .after_sending(self.in_flight, self.unacknowledged());
    }

    /// When a sender that spaces out its packets sends the next; `None` if it waits for something
    /// else, or that time is known.
    pub fn continues_at(&mut self, at: Timestamp) -> Option<Timestamp> {
        let until = self.congestion.paced_until().filter(|until| *until > at)?;
        let may_send_more = self.sent < self.written.min(self.allowed) || self.recovery.is_some();
        let waits = may_send_more && self.in_flight < self.congestion.window();
        (waits && self.continues_at.replace(until) != Some(until)).then_some(until)
    }

    /// A packet reached the receiver.
    pub fn arrives(&mut self, at: Timestamp, packet: Sending) -> Reaction {
        self.receiver.packet(at, packet, self.base_rtt)
    }

    /// The next waiter with all bytes arrived.
    pub fn satisfied(&mut self) -> Option<Waiter> {
        let received = self.receiver.received;
        self.marks
            .pop_front_if(|(end, _)| *end <= received)
            .map(|(_, waiter)| waiter)
    }

    /// Sends an acknowledgement.
    pub fn acknowledge(&mut self) -> Acknowledgement {
        self.receiver.acknowledge()
    }

    /// Sends a delayed acknowledgement.
    pub fn acknowledge_late(&mut self) -> Acknowledgement {
        self.receiver.acknowledge_late()
    }

    /// Acknowledges with data of the receiver's side.
    pub fn acknowledge_with_data(&mut self, at: Timestamp) -> Acknowledgement {
        self.receiver.acknowledge_with_data(at)
    }

    /// Time of a delayed acknowledgement; `None` unless the sender waits for it.
    pub fn acknowledges_at(&self) -> Option<Timestamp> {
        if self.sent == self.written {
            None
        } else {
            self.receiver.acknowledges_at()
        }
    }

    /// Offset up to which all bytes have arrived.
    pub const fn received(&self) -> StreamOffset {
        self.receiver.received
    }

    /// Free bytes in the sender's buffer.
    pub fn room(&self) -> u64 {
        MAX_BUFFER.saturating_sub(self.produced - self.acked)
    }

    /// Bytes in the sender's buffer that have not been sent yet.
    pub fn unsent(&self) -> u64 {
        self.produced - self.sent
    }

    /// When the sender ran out of data; `None` if it has more or never sent.
    pub fn ran_dry_at(&self) -> Option<Timestamp> {
        if self.sent == self.produced && self.sent > StreamOffset::START {
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
    pub fn resolve_timer(&mut self, at: Timestamp, delay: Nanos) {
        if let Some(left_at) = self.receiver.acknowledges_at().filter(|left_at| *left_at <= at) {
            let ack = self.acknowledge_late();
            self.acknowledged(left_at.plus(delay), ack, None);
        }
    }

    /// An acknowledgement reached the sender. `beyond` is the packet that caused it, if beyond a
    /// gap.
    pub fn acknowledged(&mut self, at: Timestamp, ack: Acknowledgement, beyond: Option<StreamOffset>) {
        self.allowed = self.allowed.max(ack.allowed);
        let in_flight_before = self.in_flight;
        let (packets, rtt) = self.take_acknowledged(at, ack.received);
        self.acked = self.acked.max(ack.received);
        if self.written < self.produced && self.written - self.acked <= MAX_BUFFER - WAKE_AT_FREE {
            self.fill_buffer();
        }
        self.recovery = self.recovery.filter(|recovery| self.acked < recovery.until);
        if self.recovery.is_none() {
            self.congestion.recovered();
        }
        let (beyond_gap, lost) = match beyond {
            Some(beyond) => self.mark_arrived(at, beyond),
            None => (0, self.recovery.is_some() && self.mark_lost(at)),
        };
        if packets > 0 {
            (self.timeouts, self.probed) = (0, false);
            self.timer_from = at;
        }
        if let Some(rtt) = rtt {
            self.round_trip.sample(rtt, self.unacknowledged());
        }
        let recovery = self.recovery.map(|recovery| match recovery.by_timeout {
            true => Recovering::AfterTimeout,
            false => Recovering::AfterLoss,
        });
        self.congestion.acknowledged(&Delivered {
            acked: Acknowledged {
                at,
                packets,
                rtt,
                unacknowledged: self.unacknowledged(),
            },
            beyond_gap,
            in_flight: self.in_flight,
            in_flight_before,
            shows_loss: lost,
            recovery,
        });
    }

    /// Congestion window and unacknowledged packets on the way.
    #[cfg(test)]
    pub(super) fn window_and_in_flight(&self) -> (u32, u32) {
        (self.congestion.window(), self.in_flight)
    }

    const fn unacknowledged(&self) -> Unacknowledged {
        Unacknowledged {
            acked: self.acked,
            sent: self.sent,
        }
    }

    /// Returns the packets delivered by this acknowledgement alone, and the round trip of the
    /// newest.
    fn take_acknowledged(&mut self, at: Timestamp, received: StreamOffset) -> (u32, Option<Nanos>) {
        let (mut count, mut rtt) = (0, None);
        while let Some(packet) = self.packets.pop_front_if(|packet| packet.end <= received) {
            match packet.state {
                PacketState::InFlight => self.in_flight = self.in_flight.saturating_sub(1),
                PacketState::Arrived => self.reordering.beyond_gap -= 1,
                PacketState::Lost => (),
            }
            if packet.state != PacketState::Arrived {
                count += 1;
                self.congestion.delivered(packet.end);
            }
            // One that had arrived before, known or not, has waited for others since.
            if packet.state == PacketState::InFlight {
                self.reordering.delivered(
                    at,
                    packet.sent_at,
                    packet.end,
                    packet.resent.then_some(self.base_rtt),
                );
                if !packet.resent {
                    rtt = Some(at.nanos_since(packet.sent_at));
                }
            }
        }
        (count, rtt)
    }
}

/// The receiver's window in its SYN.
const FIRST_ALLOWED: u64 = 64_240;
/// Payload that tcp_wmem's maximum of 4 MiB holds besides overhead: about 95 %.
const MAX_BUFFER: u64 = 4_000_000;
/// Room at which a waiting application continues: a third, less one piece of 64 KiB in
/// transmission.
const WAKE_AT_FREE: u64 = MAX_BUFFER / 3 - 65_536;
