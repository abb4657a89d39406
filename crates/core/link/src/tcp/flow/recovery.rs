//! Detects lost packets, and sends them again.

use super::{Flow, PacketState, Sending};
use crate::tcp::StreamOffset;
use model::{Nanos, Timestamp};

impl Flow {
    /// First retransmits the last packet as a probe (the tail loss probe of RFC 8985), next time
    /// marks all packets lost for [`Flow::next_packet`]. Due at [`Flow::gives_up_at`].
    pub fn gives_up(&mut self, at: Timestamp) -> Option<Sending> {
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
    pub fn gives_up_at(&self) -> Option<Timestamp> {
        if self.acked >= self.sent {
            return None;
        }
        let mut timeout = self
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
            timeout = timeout.min(self.round_trip.smoothed() * 2 + alone);
        }
        Some(self.last_sent.plus(timeout))
    }

    /// Whether a real connection would break after so many timeouts.
    pub const fn has_lost_patience(&self) -> bool {
        self.timeouts >= MAX_TIMEOUTS
    }

    const fn may_probe(&self) -> bool {
        !self.probed && self.timeouts == 0 && self.recovering_until.is_none()
    }

    /// Packets are lost if three later ones have arrived, or one sent a quarter of a round trip
    /// later (RFC 8985).
    pub(super) fn mark_arrived(&mut self, beyond: StreamOffset) {
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
            let overtaken = behind + 1 >= DUPLICATES_BEFORE_LOSS || packet.sent_at.plus(reordering) < sent_at;
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

    pub(super) fn next_lost(&mut self, at: Timestamp) -> Option<Sending> {
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

/// Two ticks of a clock of 250 Hz (`TCP_TIMEOUT_MIN`).
const PROBE_MARGIN: Nanos = Nanos::from_millis(8);

/// A single packet's acknowledgement may be delayed (`tcp_rto_min`).
const SINGLE_PACKET_TIMEOUT: Nanos = Nanos::from_millis(200);

/// As `TCP_RTO_MAX` in Linux.
const MAX_TIMEOUT: Nanos = Nanos::from_millis(120_000);

/// As `tcp_retries2` in Linux.
const MAX_TIMEOUTS: u32 = 15;

const DUPLICATES_BEFORE_LOSS: usize = 3;
