//! Congestion window of a sender by slow start with early exit, then cubic.

use super::stream_offset::StreamOffset;
use super::{TICK, TICKS_PER_SECOND, Unacknowledged, shift, ticks};
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
    reduction: Option<Reduction>,
    cubic: Cubic,
    early_exit: EarlyExit,
}

/// Proportional rate reduction in fast recovery (RFC 6937), in packets.
#[derive(Debug, Clone)]
struct Reduction {
    window_before: u32,
    delivered: u32,
    sent: u32,
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
    origin: u32,
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
            reduction: None,
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

    pub fn window_after_idle(&self) -> u32 {
        self.window.min(self.initial)
    }

    pub const fn in_slow_start(&self) -> bool {
        self.window < self.slow_start_until
    }

    /// Tracks window use by RFC 7661 (`tcp_cwnd_validate`). An unused window does not shrink while
    /// acknowledgements arrive, as each moves `snd_cwnd_stamp`.
    pub fn after_sending(&mut self, out: u32, unacknowledged: Unacknowledged) {
        let limited = out >= self.window;
        if unacknowledged.acked >= self.limited_until
            || limited
            || (!self.limited && out > self.max_in_flight)
        {
            self.limited = limited;
            self.max_in_flight = out;
            self.limited_until = unacknowledged.sent;
        }
    }

    /// Halves the window per timeout, down to the initial one (RFC 5681 section 4.1,
    /// `tcp_cwnd_restart`), and moves cubic's epoch by the idle time (`CA_EVENT_TX_START`).
    pub fn after_idle(&mut self, at: Timestamp, idle: Nanos, timeout: Nanos) {
        if let Some(epoch) = &mut self.cubic.epoch {
            epoch.start = epoch.start.plus(idle).min(at);
        }
        if idle <= timeout {
            return;
        }
        self.remember_window();
        let floor = self.window_after_idle();
        let mut left = idle;
        while left > timeout && self.window > floor {
            left -= timeout;
            self.window /= 2;
        }
        self.window = self.window.max(floor);
    }

    pub fn shift(&mut self, by: i64) {
        let moved = [
            &mut self.cubic.updated_at,
            &mut self.early_exit.round_start,
            &mut self.early_exit.last_ack,
        ];
        moved.into_iter().for_each(|time| *time = shift(*time, by));
        if let Some(epoch) = &mut self.cubic.epoch {
            epoch.start = shift(epoch.start, by);
        }
    }

    #[inline]
    pub fn acknowledged(&mut self, ack: &Acknowledged) {
        if let Some(rtt) = ack.rtt.filter(|_| self.cubic.takes_round_trips(ack.at)) {
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

    /// A loss shrinks the window to 0.7 of itself (RFC 9438 section 4.6), by
    /// [`Congestion::reduce`].
    pub fn lost(&mut self) {
        let window = self.window;
        self.cubic.last_max = if window < self.cubic.last_max {
            window * (1024 + BETA) / 2048
        } else {
            window
        };
        self.cubic.epoch = None;
        self.cubic.credit = 0;
        self.slow_start_until = (window * BETA / 1024).max(2);
        self.early_exit.found = true;
        self.reduction = Some(Reduction {
            window_before: window,
            delivered: 0,
            sent: 0,
        });
    }

    /// `tcp_cwnd_reduction`: the window after an acknowledgement during fast recovery. `advanced`
    /// if it acknowledges the oldest packet, and no loss is new.
    pub fn reduce(&mut self, in_flight: u32, delivered: u32, advanced: bool) {
        let goal = self.slow_start_until;
        let Some(reduction) = self.reduction.as_mut().filter(|_| delivered > 0) else {
            return;
        };
        reduction.delivered += delivered;
        let allowed = if in_flight > goal {
            let share = u64::from(goal) * u64::from(reduction.delivered);
            (share.div_ceil(u64::from(reduction.window_before)) as u32).saturating_sub(reduction.sent)
        } else {
            let undone = reduction.delivered.saturating_sub(reduction.sent).max(delivered);
            (undone + u32::from(advanced)).min(goal - in_flight)
        };
        // The first packet is sent again at once.
        let at_least = u32::from(reduction.sent == 0);
        self.window = in_flight + allowed.max(at_least);
    }

    pub fn sent_packet(&mut self) {
        if let Some(reduction) = &mut self.reduction {
            reduction.sent += 1;
        }
    }

    pub fn recovered(&mut self) {
        if self.reduction.take().is_some() {
            self.window = self.slow_start_until;
        }
    }

    /// A timeout restarts slow start from one packet, and forgets all of cubic (`bictcp_reset`).
    pub fn timed_out(&mut self) {
        self.window = 1;
        self.reduction = None;
        self.cubic = Cubic::default();
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
    fn is_found(&mut self, ack: &Acknowledged, rtt: Nanos, least: Nanos, window: u32) -> bool {
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
            found = ack.at.nanos_since(self.round_start) > (least + ACK_DELAY_BY_PACING) / 2;
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
    /// `bictcp_acked` ignores those of an epoch's first second.
    fn takes_round_trips(&self, at: Timestamp) -> bool {
        self.epoch
            .as_ref()
            .is_none_or(|epoch| at.nanos_since(epoch.start) >= IGNORED_AFTER_EPOCH)
    }

    /// Packets to add to a window of `window` for `acked` packets (`bictcp_update`,
    /// `tcp_cong_avoid_ai`).
    fn growth(&mut self, at: Timestamp, window: u32, acked: u32) -> u32 {
        self.update(at, window, acked);
        let step = self.packets_per_step;
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

    /// Once per window and 32 ms; the curve is read once per tick of the kernel's clock.
    fn update(&mut self, at: Timestamp, window: u32, acked: u32) {
        if let Some(epoch) = &mut self.epoch {
            epoch.acked += acked;
        }
        let ticks_since = ticks(at).saturating_sub(ticks(self.updated_at));
        if self.updated_window == window && ticks_since <= UPDATE_TICKS {
            return;
        }
        if self.epoch.is_none() || ticks_since > 0 {
            (self.updated_window, self.updated_at) = (window, at);
            let last_max = self.last_max;
            self.epoch
                .get_or_insert_with(|| Epoch::begins(at, window, last_max, acked));
            self.packets_per_step = self.step_by_curve(at, window);
        }
        if let Some(epoch) = &mut self.epoch {
            let most = epoch.step_by_reno(window);
            self.packets_per_step = self.packets_per_step.min(most);
        }
        self.packets_per_step = self.packets_per_step.max(2);
    }

    fn step_by_curve(&self, at: Timestamp, window: u32) -> u32 {
        let Some(epoch) = &self.epoch else {
            return MAX_COUNT_BEFORE_LOSS;
        };
        let min_rtt = self.min_rtt.unwrap_or_default().get().div_ceil(TICK.get());
        let since = (ticks(at).saturating_sub(ticks(epoch.start)) + min_rtt) * 1024 / TICKS_PER_SECOND;
        let distance = CUBIC_SCALE * (since as f64 / 1024.0 - epoch.k).abs().powi(3);
        let target = if (since as f64) < epoch.k * 1024.0 {
            epoch.origin.saturating_sub(distance as u32)
        } else {
            epoch.origin.saturating_add(distance as u32)
        };
        let step = if target > window {
            window / (target - window)
        } else {
            100 * window
        };
        if self.last_max == 0 {
            step.min(MAX_COUNT_BEFORE_LOSS)
        } else {
            step
        }
    }
}

impl Epoch {
    fn begins(at: Timestamp, window: u32, last_max: u32, acked: u32) -> Self {
        let below = f64::from(last_max.saturating_sub(window));
        Self {
            start: at,
            k: (below / CUBIC_SCALE).cbrt(),
            origin: last_max.max(window),
            acked,
            reno_window: window,
        }
    }

    /// Packets per step of Reno's window, where that is larger.
    fn step_by_reno(&mut self, window: u32) -> u32 {
        let reno_step = ((window * RENO_SCALE) >> 3).max(1);
        // Not `%`: the kernel keeps a whole step until one more packet is acknowledged.
        let reno_steps = self.acked.saturating_sub(1) / reno_step;
        self.reno_window += reno_steps;
        self.acked -= reno_steps * reno_step;
        window
            .checked_div(self.reno_window.saturating_sub(window))
            .unwrap_or(u32::MAX)
    }
}

/// Initial window in packets (RFC 6928).
pub const INITIAL_WINDOW: u32 = 10;
/// Share of the window kept at a loss, in 1024ths.
const BETA: u32 = 717;
/// Packets per cubed second.
const CUBIC_SCALE: f64 = 410.0 / 1024.0;
/// `beta_scale`: 8 * (1024 + beta) / 3 / (1024 - beta).
const RENO_SCALE: u32 = 15;
/// Until the first loss, the window grows by at least one per 20 acknowledged packets.
const MAX_COUNT_BEFORE_LOSS: u32 = 20;
/// As `HZ / 32` in Linux.
const UPDATE_TICKS: u64 = TICKS_PER_SECOND / 32;
const MIN_EXIT_WINDOW: u32 = 16;
const SAMPLES_TO_EXIT: u32 = 8;
/// `hystart_ack_delay`: 1 ms up to a pacing rate of 2 Gbit/s.
const ACK_DELAY_BY_PACING: Nanos = Nanos::from_millis(1);
const IGNORED_AFTER_EPOCH: Nanos = Nanos::from_millis(1_000);
const ACK_TRAIN_GAP: Nanos = Nanos::from_millis(2);
const MIN_EXIT_DELAY: Nanos = Nanos::from_millis(4);
const MAX_EXIT_DELAY: Nanos = Nanos::from_millis(16);
