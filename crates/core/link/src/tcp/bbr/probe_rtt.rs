//! The minimum round-trip time, and the pause in which it is measured anew (`bbr_update_min_rtt`).

use super::{Ack, Bbr, MIN_WINDOW, Mode, ProbeRtt, Sample};
use model::{Nanos, Timestamp};

impl Bbr {
    pub(super) fn update_min_rtt(&mut self, ack: Ack, sample: Option<Sample>) {
        let is_expired = ack.at > self.min_rtt_at.plus(MIN_RTT_HOLDS);
        if let Some(rtt) = ack
            .rtt
            .filter(|rtt| is_expired || self.min_rtt.is_none_or(|least| *rtt < least))
        {
            (self.min_rtt, self.min_rtt_at) = (Some(rtt), ack.at);
        }
        if is_expired && self.rounds > 1 && !self.restarts_idle && self.mode != Mode::ProbeRtt {
            self.save_window();
            self.mode = Mode::ProbeRtt;
            self.probing = ProbeRtt::default();
        }
        if self.mode == Mode::ProbeRtt {
            self.probe_rtt(ack);
        }
        if sample.is_some_and(|sample| sample.delivered > 0) {
            self.restarts_idle = false;
        }
    }

    fn probe_rtt(&mut self, ack: Ack) {
        self.delivery.app_limited(ack.in_flight);
        if self.probing.until.is_none() {
            if ack.in_flight <= MIN_WINDOW {
                self.probing.until = Some(ack.at.plus(PROBE_RTT_LASTS));
                self.round_ends = self.delivery.delivered;
            }
            return;
        }
        self.probing.round_over |= self.round_started;
        if self.probing.round_over {
            self.end_probe_rtt(ack.at);
        }
    }

    pub(super) fn end_probe_rtt(&mut self, at: Timestamp) {
        if self.probing.until.is_none_or(|until| at <= until) {
            return;
        }
        self.min_rtt_at = at;
        self.window = self.window.max(self.window_before);
        if self.is_full() {
            self.probe_bandwidth();
        } else {
            self.mode = Mode::Startup;
        }
    }
}

const MIN_RTT_HOLDS: Nanos = Nanos::from_millis(10_000);
const PROBE_RTT_LASTS: Nanos = Nanos::from_millis(200);
