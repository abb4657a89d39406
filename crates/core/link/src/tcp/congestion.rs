//! Congestion window of a sender by slow start with early exit, then cubic.

use super::stream_offset::StreamOffset;
use super::{Unacknowledged, shift};
use model::{Nanos, Timestamp};

#[derive(Debug, Clone)]
pub struct Congestion {
    pub window: u32,
    initial: u32,
    slow_start_until: u32,
    /// Most packets out in the current round.
    max_in_flight: u32,
    limited: bool,
    limited_until: StreamOffset,
    /// Most packets out since the window was last filled.
    used: u32,
    used_since: Timestamp,
    cubic: Cubic,
    early_exit: EarlyExit,
}

#[derive(Debug, Clone, Default)]
struct Cubic {
    last_max: u32,
    epoch: Option<Epoch>,
    credit: u32,
    updated_at: Timestamp,
    updated_window: u32,
    /// Acknowledged packets that grow the window by one.
    packets_per_step: u32,
    min_rtt: Option<Nanos>,
}

/// Since the last loss, or since congestion avoidance began.
#[derive(Debug, Clone)]
struct Epoch {
    start: Timestamp,
    /// Seconds until the window is back at `origin`.
    k: f64,
    origin: f64,
    acked: u32,
    reno_window: u32,
}

/// Hybrid slow start, which exits when acknowledgements show a growing queue.
#[derive(Debug, Clone, Default)]
struct EarlyExit {
    found: bool,
    round_end: StreamOffset,
    round_start: Timestamp,
    last_ack: Timestamp,
    round_rtt: Option<Nanos>,
    samples: u32,
}

#[derive(Debug, Clone, Copy)]
pub struct Acknowledged {
    pub at: Timestamp,
    pub packets: u32,
    /// Of the newest packet that was not retransmitted.
    pub rtt: Option<Nanos>,
    pub unacknowledged: Unacknowledged,
}

impl Default for Congestion {
    fn default() -> Self {
        Self {
            window: INITIAL_WINDOW,
            initial: INITIAL_WINDOW,
            slow_start_until: u32::MAX,
            max_in_flight: 0,
            limited: false,
            limited_until: StreamOffset::START,
            used: 0,
            used_since: Timestamp::default(),
            cubic: Cubic::default(),
            early_exit: EarlyExit::default(),
        }
    }
}

impl Congestion {
    /// Also applies after idle time.
    pub fn begin_with(&mut self, packets: u32) {
        self.initial = self.initial.max(packets);
        self.window = self.window.max(self.initial);
    }

    pub const fn in_slow_start(&self) -> bool {
        self.window < self.slow_start_until
    }

    /// Tracks window use by RFC 7661 (`tcp_cwnd_validate`).
    pub fn after_sending(&mut self, at: Timestamp, out: u32, unacknowledged: Unacknowledged, timeout: Nanos) {
        let limited = out >= self.window;
        if unacknowledged.acked >= self.limited_until
            || limited
            || (!self.limited && out > self.max_in_flight)
        {
            self.limited = limited;
            self.max_in_flight = out;
            self.limited_until = unacknowledged.sent;
        }
        if self.is_limiting() {
            self.used = 0;
            self.used_since = at;
            return;
        }
        self.used = self.used.max(out);
        if at.nanos_since(self.used_since) >= timeout {
            let used = self.used.max(self.initial);
            if used < self.window {
                self.remember_window();
                self.window = u32::midpoint(self.window, used);
            }
            self.used = 0;
            self.used_since = at;
        }
    }

    /// Halves the window per timeout, down to the initial one (RFC 5681 section 4.1,
    /// `tcp_cwnd_restart`).
    pub fn after_idle(&mut self, at: Timestamp, idle: Nanos, timeout: Nanos) {
        if idle <= timeout {
            return;
        }
        self.remember_window();
        let floor = self.window.min(self.initial);
        let mut left = idle;
        while left > timeout && self.window > floor {
            left -= timeout;
            self.window /= 2;
        }
        self.window = self.window.max(floor);
        self.used = 0;
        self.used_since = at;
        self.cubic.epoch = None;
    }

    pub fn shift(&mut self, by: i64) {
        let moved = [
            &mut self.used_since,
            &mut self.cubic.updated_at,
            &mut self.early_exit.round_start,
            &mut self.early_exit.last_ack,
        ];
        moved.into_iter().for_each(|time| *time = shift(*time, by));
        if let Some(epoch) = &mut self.cubic.epoch {
            epoch.start = shift(epoch.start, by);
        }
    }

    pub fn acknowledged(&mut self, ack: Acknowledged) {
        if let Some(rtt) = ack.rtt {
            let least = self.cubic.min_rtt.get_or_insert(rtt);
            *least = rtt.min(*least);
            let least = *least;
            if !self.early_exit.found
                && self.in_slow_start()
                && self.early_exit.is_found(ack, rtt, least, self.window)
            {
                self.early_exit.found = true;
                self.slow_start_until = self.window;
            }
        }
        if !self.is_limiting() {
            return;
        }
        let mut packets = ack.packets;
        if self.in_slow_start() {
            let grown = self.window.saturating_add(packets).min(self.slow_start_until);
            packets -= grown - self.window;
            self.window = grown;
        }
        if packets > 0 {
            self.window += self.cubic.growth(ack.at, self.window, packets);
        }
    }

    /// A loss shrinks the window to 0.7 of itself (RFC 9438 section 4.6).
    pub fn lost(&mut self) {
        let window = self.window;
        self.cubic.last_max = if window < self.cubic.last_max {
            window * (1024 + BETA) / 2048
        } else {
            window
        };
        self.cubic.epoch = None;
        self.slow_start_until = (window * BETA / 1024).max(2);
        self.window = self.slow_start_until;
        self.early_exit.found = true;
    }

    /// A timeout restarts slow start from one packet.
    pub fn timed_out(&mut self) {
        self.lost();
        self.window = 1;
        self.early_exit = EarlyExit::default();
    }

    /// As `tcp_is_cwnd_limited` in Linux.
    const fn is_limiting(&self) -> bool {
        self.limited || (self.in_slow_start() && self.window < 2 * self.max_in_flight)
    }

    /// `tcp_current_ssthresh`: slow start may return to three quarters of a used window.
    fn remember_window(&mut self) {
        self.slow_start_until = self.slow_start_until.max(self.window / 2 + self.window / 4);
    }
}

impl EarlyExit {
    /// `hystart_update`: the acknowledgements of a round arrive for longer than half the minimum
    /// round trip, or the round's minimum clearly exceeds the overall one.
    fn is_found(&mut self, ack: Acknowledged, rtt: Nanos, least: Nanos, window: u32) -> bool {
        if ack.unacknowledged.acked > self.round_end {
            *self = Self {
                found: false,
                round_end: ack.unacknowledged.sent,
                round_start: ack.at,
                last_ack: ack.at,
                round_rtt: None,
                samples: 0,
            };
        }
        if window < MIN_EXIT_WINDOW {
            return false;
        }
        let mut found = false;
        if ack.at.nanos_since(self.last_ack) <= ACK_TRAIN_GAP {
            self.last_ack = ack.at;
            found = ack.at.nanos_since(self.round_start) > least / 2;
        }
        let round_rtt = self.round_rtt.map_or(rtt, |known| known.min(rtt));
        self.round_rtt = Some(round_rtt);
        if self.samples < SAMPLES_TO_EXIT {
            self.samples += 1;
        } else {
            found |= round_rtt > least + (least / 8).clamp(MIN_EXIT_DELAY, MAX_EXIT_DELAY);
        }
        found
    }
}

impl Cubic {
    /// Packets to add to a window of `window` for `acked` packets (`bictcp_update`,
    /// `tcp_cong_avoid_ai`).
    fn growth(&mut self, at: Timestamp, window: u32, acked: u32) -> u32 {
        self.update(at, window, acked);
        let step = self.packets_per_step.max(2);
        let mut grown = 0;
        if self.credit >= step {
            self.credit = 0;
            grown += 1;
        }
        self.credit += acked;
        if self.credit >= step {
            grown += self.credit / step;
            self.credit %= step;
        }
        grown
    }

    fn update(&mut self, at: Timestamp, window: u32, acked: u32) {
        let epoch = self.epoch.get_or_insert_with(|| {
            let below = f64::from(self.last_max.saturating_sub(window));
            Epoch {
                start: at,
                k: (below / CUBIC_SCALE).cbrt(),
                origin: f64::from(self.last_max.max(window)),
                acked: 0,
                reno_window: window,
            }
        });
        epoch.acked += acked;
        if self.updated_window == window && at.nanos_since(self.updated_at) <= UPDATE_PERIOD {
            return;
        }
        (self.updated_window, self.updated_at) = (window, at);
        let since = at.nanos_since(epoch.start) + self.min_rtt.unwrap_or_default();
        let offset = since.as_f64() / 1e9 - epoch.k;
        let target = epoch.origin + CUBIC_SCALE * offset * offset * offset;
        let missing = target - f64::from(window);
        let mut step = if missing >= 1.0 {
            (f64::from(window) / missing) as u32
        } else {
            100 * window
        };
        if self.last_max == 0 {
            step = step.min(MAX_COUNT_BEFORE_LOSS);
        }
        let reno_step = ((window * RENO_SCALE) >> 3).max(1);
        epoch.reno_window += epoch.acked / reno_step;
        epoch.acked %= reno_step;
        if epoch.reno_window > window {
            step = step.min(window / (epoch.reno_window - window));
        }
        self.packets_per_step = step;
    }
}

/// Initial window in packets (RFC 6928).
pub const INITIAL_WINDOW: u32 = 10;
/// Share of the window kept at a loss, in 1024ths.
const BETA: u32 = 717;
/// Packets per cubed second.
const CUBIC_SCALE: f64 = 0.4;
/// `beta_scale`: 8 * (1024 + beta) / 3 / (1024 - beta).
const RENO_SCALE: u32 = 15;
/// Until the first loss, the window grows by at least one per 20 acknowledged packets.
const MAX_COUNT_BEFORE_LOSS: u32 = 20;
/// As `HZ / 32` in Linux.
const UPDATE_PERIOD: Nanos = Nanos::new(31_250_000);
const MIN_EXIT_WINDOW: u32 = 16;
const SAMPLES_TO_EXIT: u32 = 8;
const ACK_TRAIN_GAP: Nanos = Nanos::from_millis(2);
const MIN_EXIT_DELAY: Nanos = Nanos::from_millis(4);
const MAX_EXIT_DELAY: Nanos = Nanos::from_millis(16);
