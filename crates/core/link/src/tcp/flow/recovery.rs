//! Detects lost packets, and sends them again.

use super::{Flow, PacketState, Recovery, Sending};
use model::{Nanos, Timestamp};

impl Flow {
    /// Marks packets lost that were not just reordered. Otherwise first retransmits the last packet
    /// as a probe (the tail loss probe of RFC 8985), next time marks all packets lost for
    /// [`Flow::next_packet`]. Due at [`Flow::gives_up_at`].
    pub fn gives_up(&mut self, at: Timestamp) -> Option<Sending> {
        if self.reordering.is_over(at) {
            let is_first = self.recovery.is_none();
            if self.mark_lost(at) && is_first {
                self.congestion.lost_by_timer(self.in_flight);
            }
            return None;
        }
        if self.may_probe() {
            self.probed = true;
            (self.last_sent, self.timer_from) = (at, at);
            let packet = self.packets.back_mut()?;
            (packet.resent, packet.sent_at) = (true, at);
            return Some(Sending {
                start: packet.start,
                end: packet.end,
            });
        }
        // `tcp_enter_loss`: not again for the same loss.
        if self
            .recovery
            .is_none_or(|recovery| recovery.by_timeout && self.timeouts == 0)
        {
            self.congestion.lost();
        }
        self.timeouts += 1;
        self.timer_from = at;
        self.congestion.timed_out();
        self.recovery = Some(Recovery {
            until: self.sent,
            by_timeout: true,
        });
        for packet in self
            .packets
            .iter_mut()
            .filter(|packet| packet.state == PacketState::InFlight)
        {
            packet.state = PacketState::Lost;
            self.congestion.lost_packet();
        }
        self.in_flight = 0;
        None
    }

    /// The sender's timeout: two round trips for the probe, then doubled each time (RFC 6298).
    /// `None` without a pending acknowledgement.
    pub fn gives_up_at(&self) -> Option<Timestamp> {
        if self.acked >= self.sent {
            return None;
        }
        let timeout = self
            .round_trip
            .timeout()
            .saturating_mul(1 << self.timeouts.min(MAX_TIMEOUTS))
            .min(MAX_TIMEOUT);
        if self.may_probe() {
            let alone = if self.packets.len() == 1 {
                SINGLE_PACKET_TIMEOUT
            } else {
                PROBE_MARGIN
            };
            let probe = self.round_trip.smoothed() * 2 + alone;
            return Some(self.timer_from.max(self.last_sent).plus(timeout.min(probe)));
        }
        Some(self.reordering.ends_before(self.timer_from.plus(timeout)))
    }

    /// Whether a real connection would break after so many timeouts.
    pub const fn has_lost_patience(&self) -> bool {
        self.timeouts >= MAX_TIMEOUTS
    }

    const fn may_probe(&self) -> bool {
        !self.probed && self.timeouts == 0 && self.recovery.is_none() && self.reordering.beyond_gap == 0
    }

    pub(super) fn next_lost(&mut self, at: Timestamp) -> Option<Sending> {
        self.recovery?;
        let place = self
            .packets
            .iter()
            .position(|packet| packet.state == PacketState::Lost)?;
        if place == 0 {
            self.timer_from = at;
        }
        let packet = &mut self.packets[place];
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

/// Two ticks of a clock of 250 Hz (`TCP_TIMEOUT_MIN`).
const PROBE_MARGIN: Nanos = Nanos::from_millis(8);

/// A single packet's acknowledgement may be delayed (`tcp_rto_min`).
const SINGLE_PACKET_TIMEOUT: Nanos = Nanos::from_millis(200);

/// As `TCP_RTO_MAX` in Linux.
const MAX_TIMEOUT: Nanos = Nanos::from_millis(120_000);

/// As `tcp_retries2` in Linux.
const MAX_TIMEOUTS: u32 = 15;
