//! Receiving side of a flow, with acknowledgements and window.

use super::shift;
use super::stream_offset::StreamOffset;
use super::{Acknowledgement, Sending};
use model::{Nanos, Timestamp};
use std::collections::BTreeMap;

#[derive(Debug, Clone)]
pub struct Receiver {
    pub received: StreamOffset,
    /// Bytes received and not yet acknowledged.
    unacknowledged: u64,
    /// When the oldest of them arrived.
    waiting_since: Timestamp,
    /// Remaining immediate acknowledgements, as Linux sends at a connection's start.
    at_once: u32,
    newest_at: Option<Timestamp>,
    /// Whether replies carry the acknowledgements, so none is sent immediately.
    answering: bool,
    /// Largest packet seen, an estimate of the sender's full size.
    full_size: u32,
    /// Smaller packets since the last acknowledgement.
    small: u32,
    window: Window,
    /// Received bytes not yet read by the application; they occupy the window.
    unread: u64,
    /// The allowed offset last sent, which never decreases.
    edge: StreamOffset,
    /// Pieces beyond a gap: start and end.
    beyond: BTreeMap<StreamOffset, StreamOffset>,
}

#[derive(Debug, Clone)]
struct Window {
    buffer: u64,
    most: u64,
    /// Grows with arriving bytes up to `buffer`.
    granted: u64,
    /// Bytes received in the last measured round trip.
    copied: u64,
    measured_at: Timestamp,
    measured_from: StreamOffset,
}

/// A receiver's reaction to a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reaction {
    /// Acknowledges the packet immediately.
    Acknowledge,
    /// It waits for a second packet or outgoing data.
    Wait,
}

impl Default for Receiver {
    fn default() -> Self {
        Self {
            received: StreamOffset::START,
            unacknowledged: 0,
            waiting_since: Timestamp::default(),
            at_once: 0,
            newest_at: None,
            answering: true,
            full_size: FIRST_GUESS_OF_FULL_SIZE,
            small: 0,
            window: Window {
                buffer: INITIAL_BUFFER,
                most: MAX_BUFFER,
                granted: FIRST_GRANTED,
                copied: INITIAL_COPIED,
                measured_at: Timestamp::default(),
                measured_from: StreamOffset::START,
            },
            unread: 0,
            edge: StreamOffset::START,
            beyond: BTreeMap::new(),
        }
    }
}

impl Receiver {
    /// After opening, the first packets are acknowledged immediately (`tcp_enter_quickack_mode`).
    pub fn opened(&mut self) {
        self.at_once = ACKS_AT_ONCE;
        self.answering = false;
    }

    /// Without window scaling, 65,535 (RFC 9293 section 3.1).
    pub fn limit(&mut self, most: u64) {
        let window = &mut self.window;
        window.most = window.most.min(most);
        window.buffer = window.buffer.min(most);
        window.granted = window.granted.min(most);
    }

    pub fn shift(&mut self, by: i64) {
        self.waiting_since = shift(self.waiting_since, by);
        self.newest_at = self.newest_at.map(|at| shift(at, by));
        self.window.measured_at = shift(self.window.measured_at, by);
    }

    /// Whether it lets so many bytes be sent once everything before them is acknowledged, now and
    /// later.
    pub fn grants(&self, bytes: u64) -> bool {
        self.beyond.is_empty() && self.unread == 0 && bytes <= self.window.granted
    }

    pub fn packet(&mut self, at: Timestamp, Sending { start, end }: Sending, rtt: Nanos) -> Reaction {
        let length = (end - start) as u32;
        self.newest_at = Some(at);
        self.full_size = self.full_size.max(length);
        self.small += u32::from(length < self.full_size);
        if start > self.received {
            self.beyond.insert(start, end);
            return Reaction::Acknowledge;
        }
        if end <= self.received {
            // Unneeded retransmission: acknowledged immediately (RFC 9293 section 3.10.7.4).
            return Reaction::Acknowledge;
        }
        let had_gap = !self.beyond.is_empty();
        if self.unacknowledged == 0 {
            self.waiting_since = at;
        }
        let before = self.received;
        self.unacknowledged += end.bytes_since(self.received);
        self.received = self.received.max(end);
        while let Some(piece) = self
            .beyond
            .first_entry()
            .filter(|piece| *piece.key() <= self.received)
        {
            self.received = self.received.max(piece.remove());
        }
        if self.unread > 0 {
            // A slow reader does not read this immediately.
            self.unread += self.received - before;
        }
        let widened = self.window.arrived(at, self.received, length, rtt);
        if !self.answering && (widened || self.at_once > 0) {
            self.at_once -= u32::from(!widened);
            return Reaction::Acknowledge;
        }
        // `tcp_cleanup_rbuf`: an application that has read all of two small packets acknowledges
        // both (`ICSK_ACK_PUSHED2`).
        let has_read_small = self.small >= SMALL_ACKNOWLEDGED && self.unread == 0;
        if had_gap || has_read_small || self.unacknowledged > u64::from(self.full_size) {
            Reaction::Acknowledge
        } else {
            Reaction::Wait
        }
    }

    /// Sends an acknowledgement without data.
    pub fn acknowledge(&mut self) -> Acknowledgement {
        (self.unacknowledged, self.small) = (0, 0);
        self.edge = self.edge.max(self.room_until());
        Acknowledgement {
            received: self.received,
            allowed: self.edge,
        }
    }

    /// Sets the unread bytes. Returns whether to send a window update: for two full packets, or
    /// half of the window (RFC 9293 section 3.8.6.2.2).
    pub fn set_unread(&mut self, unread: u64) -> bool {
        let more_room = unread < self.unread;
        self.unread = unread;
        let gain = self.room_until().bytes_since(self.edge);
        more_room && gain > 0 && gain >= (2 * u64::from(self.full_size)).min(self.window.granted / 2)
    }

    /// Offset up to which there is room.
    fn room_until(&self) -> StreamOffset {
        (self.received + self.window.granted).back(self.unread)
    }

    /// Sends a delayed acknowledgement after an expected reply did not come
    /// (`tcp_delack_timer_handler`).
    pub fn acknowledge_late(&mut self) -> Acknowledgement {
        self.answering = false;
        self.acknowledge()
    }

    /// Data soon after an arrival count as a reply (`tcp_event_data_sent`).
    pub fn acknowledge_with_data(&mut self, at: Timestamp) -> Acknowledgement {
        if self
            .newest_at
            .is_some_and(|newest| at.nanos_since(newest) < ACK_DELAY)
        {
            self.answering = true;
        }
        self.acknowledge()
    }

    pub fn acknowledges_at(&self) -> Option<Timestamp> {
        (self.unacknowledged > 0).then_some(self.waiting_since.plus(ACK_DELAY))
    }
}

impl Window {
    /// `tcp_grow_window`: each full packet widens the grant by two. `tcp_rcv_space_adjust`: once
    /// per round trip the buffer is sized for twice the arrived bytes, more while they grow.
    /// Returns whether the grant grew.
    fn arrived(&mut self, at: Timestamp, received: StreamOffset, length: u32, rtt: Nanos) -> bool {
        if at.nanos_since(self.measured_at) >= rtt {
            let copied = received - self.measured_from;
            if copied > self.copied {
                let growth = 2 * copied * (copied - self.copied) / self.copied;
                self.buffer = self.buffer.max((2 * copied + 2 * growth).min(self.most));
                self.copied = copied;
            }
            (self.measured_at, self.measured_from) = (at, received);
        }
        let before = self.granted;
        self.granted = (before + 2 * u64::from(length)).min(self.buffer);
        self.granted > before
    }
}

/// As `TCP_MAX_QUICKACKS` in Linux.
const ACKS_AT_ONCE: u32 = 16;
/// `TCP_MSS_DEFAULT`, the receiver's first estimate of a full packet.
const FIRST_GUESS_OF_FULL_SIZE: u32 = 536;
/// Small packets that are acknowledged together once they are read.
const SMALL_ACKNOWLEDGED: u32 = 2;
/// As `TCP_DELACK_MIN` in Linux.
const ACK_DELAY: Nanos = Nanos::from_millis(40);
/// The window that Linux advertises in its handshake at an mtu of 1500.
const FIRST_GRANTED: u64 = 65_160;
/// Grant of tcp_rmem's default of 131072: 0.625 of it, see [`MAX_BUFFER`].
const INITIAL_BUFFER: u64 = 81_920;
/// Ten full packets, expected in the first round trip.
const INITIAL_COPIED: u64 = 14_480;
/// Grant of tcp_rmem's maximum of 6 MiB: 0.625 of it, the payload share of full packets of 1500
/// bytes in memory (measured: a window of 3,930,752 is advertised).
const MAX_BUFFER: u64 = 3_932_160;
