//! The window (`bbr_set_cwnd`), and packets on the way at the bandwidth.

use super::{Ack, BANDWIDTH_UNIT, Bbr, MIN_WINDOW, Mode, UNIT, micros};
use crate::tcp::congestion::INITIAL_WINDOW;
use model::Timestamp;

impl Bbr {
    pub(super) fn set_window(&mut self, ack: Ack, lost: u32) {
        if ack.delivered > 0 {
            self.window = self.next_window(ack, lost).max(MIN_WINDOW);
        }
        if self.mode == Mode::ProbeRtt {
            self.window = self.window.min(MIN_WINDOW);
        }
    }

    fn next_window(&mut self, ack: Ack, lost: u32) -> u32 {
        let mut window = self.window.saturating_sub(lost).max(1);
        let was_recovering = std::mem::replace(&mut self.was_recovering, ack.is_recovering);
        if ack.is_recovering && !was_recovering {
            self.conserves_packets = true;
            self.round_ends = self.delivery.delivered;
            window = ack.in_flight + ack.delivered;
        } else if was_recovering && !ack.is_recovering {
            window = window.max(self.window_before);
            self.conserves_packets = false;
        }
        if self.conserves_packets {
            return window.max(ack.in_flight + ack.delivered);
        }
        let aggregated = if self.is_full() {
            let most = self.bandwidth.value() * MAX_AGGREGATED_MICROS / BANDWIDTH_UNIT;
            self.aggregation.extra[0]
                .max(self.aggregation.extra[1])
                .min(most as u32)
        } else {
            0
        };
        let target = self.whole_bursts(self.on_the_way(self.window_gain()) + aggregated);
        if self.is_full() {
            (window + ack.delivered).min(target)
        } else if window < target || self.delivery.delivered < u64::from(INITIAL_WINDOW) {
            window + ack.delivered
        } else {
            window
        }
    }

    /// `bbr_bdp`: packets on the way at `gain` times the bandwidth.
    fn on_the_way(&self, gain: u64) -> u32 {
        let Some(min_rtt) = self.min_rtt else {
            return INITIAL_WINDOW;
        };
        let packets = self.bandwidth.value().saturating_mul(micros(min_rtt));
        (packets.saturating_mul(gain) / UNIT).div_ceil(BANDWIDTH_UNIT) as u32
    }

    /// `bbr_quantization_budget`.
    fn whole_bursts(&self, packets: u32) -> u32 {
        let even = (packets + 3 * self.pacing.packets_at_once(self.packet_bytes)).next_multiple_of(2);
        let is_probing_up = self.mode == Mode::ProbeBandwidth && self.cycle.phase == 0;
        even + 2 * u32::from(is_probing_up)
    }

    /// `bbr_inflight`.
    pub(super) fn in_flight_at(&self, gain: u64) -> u32 {
        self.whole_bursts(self.on_the_way(gain))
    }

    /// Packets in flight when the next may leave (`bbr_packets_in_net_at_edt`).
    pub(super) fn in_flight_when_paced(&self, at: Timestamp, in_flight: u32) -> u32 {
        let pause = micros(self.pacing.until().nanos_since(at));
        let delivered = self.bandwidth.value().saturating_mul(pause) / BANDWIDTH_UNIT;
        let more = if self.pacing_gain() > UNIT {
            self.pacing.packets_at_once(self.packet_bytes)
        } else {
            0
        };
        (in_flight + more).saturating_sub(delivered as u32)
    }
}

const MAX_AGGREGATED_MICROS: u64 = 100_000;
