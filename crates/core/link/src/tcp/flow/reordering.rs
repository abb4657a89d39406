//! Tells lost packets from reordered ones (RACK, RFC 8985 section 6.2).

use super::{Flow, PacketState, Recovery};
use crate::tcp::{StreamOffset, TICK, shift, ticks};
use model::{Nanos, Timestamp};

#[derive(Debug, Clone, Default)]
pub(super) struct Reordering {
    /// Packets that arrived beyond a gap.
    pub(super) beyond_gap: u32,
    newest: Option<Delivered>,
    /// When packets before the newest count as lost.
    until: Option<Timestamp>,
}

/// The packet sent last of those that arrived.
#[derive(Debug, Clone, Copy)]
struct Delivered {
    sent_at: Timestamp,
    end: StreamOffset,
    rtt: Nanos,
}

impl Reordering {
    pub(super) fn is_over(&self, at: Timestamp) -> bool {
        self.until.is_some_and(|until| until <= at)
    }

    pub(super) fn ends_before(&self, timeout: Timestamp) -> Timestamp {
        self.until.map_or(timeout, |until| until.min(timeout))
    }

    /// `tcp_rack_advance`. The acknowledgement of a packet that was sent again may be for the first
    /// of both, if it comes within `least`.
    pub(super) fn delivered(
        &mut self,
        at: Timestamp,
        sent_at: Timestamp,
        end: StreamOffset,
        least: Option<Nanos>,
    ) {
        let rtt = at.nanos_since(sent_at);
        let is_newest = self
            .newest
            .is_none_or(|newest| (newest.sent_at, newest.end) < (sent_at, end));
        if is_newest && least.is_none_or(|least| rtt >= least) {
            self.newest = Some(Delivered { sent_at, end, rtt });
        }
    }

    pub(super) fn shift(&mut self, by: i64) {
        self.until = self.until.map(|until| shift(until, by));
        if let Some(newest) = &mut self.newest {
            newest.sent_at = shift(newest.sent_at, by);
        }
    }
}

impl Flow {
    /// Returns the packets newly known to have arrived, and whether any is newly lost.
    pub(super) fn mark_arrived(&mut self, at: Timestamp, beyond: StreamOffset) -> (u32, bool) {
        let place = self.packets.partition_point(|packet| packet.end < beyond);
        let Some(packet) = self
            .packets
            .get_mut(place)
            .filter(|packet| packet.state != PacketState::Arrived)
        else {
            return (0, false);
        };
        if packet.state == PacketState::InFlight {
            self.in_flight = self.in_flight.saturating_sub(1);
        }
        packet.state = PacketState::Arrived;
        let (sent_at, end) = (packet.sent_at, packet.end);
        self.reordering.beyond_gap += 1;
        self.reordering.delivered(at, sent_at, end, None);
        self.congestion.delivered(end);
        (1, self.mark_lost(at))
    }

    /// Marks packets lost that were sent before the newest that arrived, after a quarter of a
    /// round trip, or at once if three packets arrived beyond them. Returns whether any is.
    pub(super) fn mark_lost(&mut self, at: Timestamp) -> bool {
        self.reordering.until = None;
        let Some(newest) = self.reordering.newest else {
            return false;
        };
        let at_once = self.recovery.is_some() || self.reordering.beyond_gap >= DUPLICATES_BEFORE_LOSS;
        let wait = if at_once { Nanos::ZERO } else { self.base_rtt / 4 };
        let mut any_lost = false;
        let before_newest = self.packets.iter_mut().filter(|packet| {
            packet.state == PacketState::InFlight
                && (packet.sent_at, packet.end) < (newest.sent_at, newest.end)
        });
        for packet in before_newest {
            let due = packet.sent_at.plus(newest.rtt + wait);
            if due <= at {
                packet.state = PacketState::Lost;
                self.in_flight = self.in_flight.saturating_sub(1);
                any_lost = true;
                self.congestion.lost_packet();
            } else {
                let ticks_later = (due.nanos_since(at) + MIN_TIMER).get().div_ceil(TICK.get());
                // A timer expires with the tick after its own.
                let until = Timestamp::from_nanos((ticks(at) + ticks_later + 1) * TICK.get());
                self.reordering.until = self.reordering.until.max(Some(until));
            }
        }
        if any_lost && self.recovery.is_none() {
            self.recovery = Some(Recovery {
                until: self.sent,
                by_timeout: false,
            });
            self.congestion.lost();
        }
        any_lost
    }
}

/// `TCP_TIMEOUT_MIN_US`.
const MIN_TIMER: Nanos = Nanos::from_millis(2);
/// As `sysctl_tcp_reordering` in Linux.
const DUPLICATES_BEFORE_LOSS: u32 = 3;
