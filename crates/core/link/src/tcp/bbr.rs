//! Congestion control BBR, version 1, as in Linux (`tcp_bbr.c`). Not modelled: its guess that the
//! network polices a rate, which needs a loss of one packet in five.

mod delivery;
mod greatest;
mod pacing;
mod probe_rtt;
mod window;

use super::congestion::INITIAL_WINDOW;
use super::{StreamOffset, shift};
use delivery::{Delivery, Sample};
use greatest::Greatest;
use model::{Nanos, Timestamp};
use pacing::Pacing;

/// Bandwidths are packets per microsecond, times [`BANDWIDTH_UNIT`]; gains are 256ths.
#[derive(Debug, Clone)]
pub struct Bbr {
    pub window: u32,
    packet_bytes: u32,
    mode: Mode,
    delivery: Delivery,
    pacing: Pacing,
    bandwidth: Greatest,
    rounds: u64,
    round_ends: u64,
    round_started: bool,
    full: FullPipe,
    cycle: Cycle,
    min_rtt: Option<Nanos>,
    min_rtt_at: Timestamp,
    lifetime_min_rtt: Nanos,
    probing: ProbeRtt,
    restarts_idle: bool,
    window_before: u32,
    conserves_packets: bool,
    was_recovering: bool,
    lost: u32,
    aggregation: Aggregation,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    ProbeBandwidth,
    ProbeRtt,
}

#[derive(Debug, Clone, Copy, Default)]
struct FullPipe {
    bandwidth: u64,
    rounds: u32,
}

#[derive(Debug, Clone, Copy, Default)]
struct Cycle {
    phase: usize,
    at: Timestamp,
}

#[derive(Debug, Clone, Copy, Default)]
struct ProbeRtt {
    until: Option<Timestamp>,
    round_over: bool,
}

/// Packets acknowledged in excess of the bandwidth.
#[derive(Debug, Clone, Copy, Default)]
struct Aggregation {
    since: Timestamp,
    acked: u64,
    extra: [u32; 2],
    place: usize,
    rounds: u32,
}

/// An acknowledgement as BBR uses it.
#[derive(Debug, Clone, Copy)]
pub struct Ack {
    pub at: Timestamp,
    pub delivered: u32,
    pub rtt: Option<Nanos>,
    pub in_flight: u32,
    pub in_flight_before: u32,
    pub is_recovering: bool,
}

impl Bbr {
    pub fn new(packet_bytes: u32, rtt: Nanos) -> Self {
        let mut bbr = Self {
            window: INITIAL_WINDOW,
            packet_bytes,
            mode: Mode::Startup,
            delivery: Delivery::default(),
            pacing: Pacing::default(),
            bandwidth: Greatest::default(),
            rounds: 0,
            round_ends: 0,
            round_started: false,
            full: FullPipe::default(),
            cycle: Cycle::default(),
            min_rtt: None,
            min_rtt_at: Timestamp::default(),
            lifetime_min_rtt: rtt,
            probing: ProbeRtt::default(),
            restarts_idle: false,
            window_before: 0,
            conserves_packets: false,
            was_recovering: false,
            lost: 0,
            aggregation: Aggregation::default(),
        };
        bbr.pacing = Pacing::established(bbr.first_rate(rtt));
        bbr
    }

    /// Its first packets are not paced.
    pub fn end_handshake(&mut self) {
        self.pacing.opened();
    }

    /// `bbr_init_pacing_rate_from_rtt`: 2.885 windows per round trip.
    fn first_rate(&self, rtt: Nanos) -> u64 {
        let bandwidth = u64::from(self.window) * BANDWIDTH_UNIT / micros(rtt).max(1);
        self.rate(bandwidth, HIGH_GAIN)
    }

    pub fn begin_with(&mut self, packets: u32) {
        self.window = self.window.max(packets);
    }

    pub fn record_write(&mut self, unsent: u64, in_flight: u32) {
        if unsent < u64::from(self.packet_bytes) && in_flight < self.window {
            self.delivery.app_limited(in_flight);
        }
    }

    pub fn may_send(&self, at: Timestamp) -> bool {
        self.pacing.allows(at, self.packets_in_burst())
    }

    pub fn min_window(&self) -> u32 {
        self.window.min(MIN_WINDOW)
    }

    /// Only for single packets: these do not fill the window, so their samples lower no bandwidth.
    pub fn paces_no_message(&self, bytes: u64, at: Timestamp, apart: Nanos) -> bool {
        bytes <= u64::from(self.packet_bytes)
            && self.delivery.all_are_app_limited()
            && self.pacing.until() <= at
            && pacing::pause(bytes, self.min_rate()) <= apart
    }

    fn min_rate(&self) -> u64 {
        match self.is_full() {
            true => self
                .rate(self.bandwidth.value(), DRAIN_GAIN)
                .min(self.pacing.rate),
            false => self.pacing.rate,
        }
    }

    fn packets_in_burst(&self) -> u32 {
        let most = (self.window / 2).max(1);
        self.pacing
            .packets_in_burst(self.packet_bytes, self.lifetime_min_rtt)
            .min(most)
    }

    pub const fn paced_until(&self) -> Timestamp {
        self.pacing.until()
    }

    pub fn sent_packet(&mut self, at: Timestamp, bytes: u32, end: StreamOffset, in_flight_before: u32) {
        if in_flight_before == 0 && self.delivery.is_app_limited() {
            self.begins_after_idle(at);
        }
        self.delivery.sent(at, end);
        self.pacing.sent(at, bytes, self.packets_in_burst());
    }

    /// `CA_EVENT_TX_START`.
    fn begins_after_idle(&mut self, at: Timestamp) {
        self.restarts_idle = true;
        (self.aggregation.since, self.aggregation.acked) = (at, 0);
        match self.mode {
            Mode::ProbeBandwidth => self.set_rate(UNIT),
            Mode::ProbeRtt => self.end_probe_rtt(at),
            Mode::Startup | Mode::Drain => (),
        }
    }

    pub fn sent_all_it_can(&mut self) {
        self.pacing.sent_all_it_can();
    }

    pub fn delivered(&mut self, end: StreamOffset) {
        self.delivery.delivered(end);
    }

    pub fn lost_packet(&mut self) {
        self.lost += 1;
    }

    /// `bbr_save_cwnd`.
    pub fn save_window(&mut self) {
        self.window_before = if self.was_recovering || self.mode == Mode::ProbeRtt {
            self.window_before.max(self.window)
        } else {
            self.window
        };
    }

    pub fn timed_out(&mut self) {
        self.window = 1;
        self.was_recovering = true;
        self.full.bandwidth = 0;
        self.round_started = true;
    }

    /// `bbr_main`.
    pub fn acknowledged(&mut self, ack: Ack) {
        self.lifetime_min_rtt = ack
            .rtt
            .map_or(self.lifetime_min_rtt, |rtt| rtt.min(self.lifetime_min_rtt));
        let sample = self.delivery.sample(ack.at, self.lifetime_min_rtt);
        self.update_bandwidth(sample);
        self.update_aggregation(sample, ack);
        let lost = std::mem::take(&mut self.lost);
        if self.mode == Mode::ProbeBandwidth && self.is_phase_over(ack, lost) {
            self.next_phase();
        }
        self.check_full(sample);
        self.check_drained(ack);
        self.update_min_rtt(ack, sample);
        self.set_rate(self.pacing_gain());
        self.set_window(ack, lost);
    }

    fn update_bandwidth(&mut self, sample: Option<Sample>) {
        self.round_started = false;
        let Some(sample) = sample else {
            return;
        };
        if sample.delivered_before >= self.round_ends {
            self.round_ends = self.delivery.delivered;
            self.rounds += 1;
            self.round_started = true;
            self.conserves_packets = false;
        }
        let bandwidth = sample.delivered * BANDWIDTH_UNIT / micros(sample.interval).max(1);
        if !sample.is_app_limited || bandwidth >= self.bandwidth.value() {
            self.bandwidth.add(self.rounds, bandwidth);
        }
    }

    fn update_aggregation(&mut self, sample: Option<Sample>, ack: Ack) {
        if sample.is_none() || ack.delivered == 0 {
            return;
        }
        let aggregation = &mut self.aggregation;
        if self.round_started {
            aggregation.rounds += 1;
            if aggregation.rounds >= AGGREGATION_ROUNDS {
                aggregation.rounds = 0;
                aggregation.place = 1 - aggregation.place;
                aggregation.extra[aggregation.place] = 0;
            }
        }
        let span = micros(ack.at.nanos_since(aggregation.since));
        let mut expected = self.bandwidth.value().saturating_mul(span) / BANDWIDTH_UNIT;
        if aggregation.acked <= expected {
            (aggregation.acked, aggregation.since, expected) = (0, ack.at, 0);
        }
        aggregation.acked += u64::from(ack.delivered);
        let extra = (aggregation.acked - expected).min(u64::from(self.window)) as u32;
        let known = &mut aggregation.extra[aggregation.place];
        *known = extra.max(*known);
    }

    /// `bbr_is_next_cycle_phase`.
    fn is_phase_over(&self, ack: Ack, lost: u32) -> bool {
        let is_long = ack.at.nanos_since(self.cycle.at) > self.min_rtt.unwrap_or(Nanos::MAX);
        let gain = self.pacing_gain();
        if gain == UNIT {
            return is_long;
        }
        let in_flight = self.in_flight_when_paced(ack.at, ack.in_flight_before);
        if gain > UNIT {
            return is_long && (lost > 0 || in_flight >= self.in_flight_at(gain));
        }
        is_long || in_flight <= self.in_flight_at(UNIT)
    }

    fn next_phase(&mut self) {
        self.cycle.phase = (self.cycle.phase + 1) % PHASES.len();
        self.cycle.at = self.delivery.at;
    }

    const fn is_full(&self) -> bool {
        self.full.rounds >= FULL_ROUNDS
    }

    /// The pipe is full once three rounds did not raise the bandwidth by a quarter.
    fn check_full(&mut self, sample: Option<Sample>) {
        let counts = self.round_started && sample.is_none_or(|sample| !sample.is_app_limited);
        if self.is_full() || !counts {
            return;
        }
        if self.bandwidth.value() >= self.full.bandwidth * 5 / 4 {
            self.full = FullPipe {
                bandwidth: self.bandwidth.value(),
                rounds: 0,
            };
        } else {
            self.full.rounds += 1;
        }
    }

    fn check_drained(&mut self, ack: Ack) {
        if self.mode == Mode::Startup && self.is_full() {
            self.mode = Mode::Drain;
        }
        if self.mode == Mode::Drain
            && self.in_flight_when_paced(ack.at, ack.in_flight) <= self.in_flight_at(UNIT)
        {
            self.probe_bandwidth();
        }
    }

    fn probe_bandwidth(&mut self) {
        self.mode = Mode::ProbeBandwidth;
        self.cycle.phase = FIRST_PHASE;
        self.cycle.at = self.delivery.at;
    }

    const fn pacing_gain(&self) -> u64 {
        match self.mode {
            Mode::Startup => HIGH_GAIN,
            Mode::Drain => DRAIN_GAIN,
            Mode::ProbeBandwidth => PHASES[self.cycle.phase],
            Mode::ProbeRtt => UNIT,
        }
    }

    const fn window_gain(&self) -> u64 {
        match self.mode {
            Mode::Startup | Mode::Drain => HIGH_GAIN,
            Mode::ProbeBandwidth => 2 * UNIT,
            Mode::ProbeRtt => UNIT,
        }
    }

    fn rate(&self, bandwidth: u64, gain: u64) -> u64 {
        let rate = bandwidth * u64::from(self.packet_bytes) * gain / UNIT;
        // A percent less, so that no queue grows.
        rate.saturating_mul(990_000) / BANDWIDTH_UNIT
    }

    fn set_rate(&mut self, gain: u64) {
        let rate = self.rate(self.bandwidth.value(), gain);
        if self.is_full() || rate > self.pacing.rate {
            self.pacing.rate = rate;
        }
    }

    pub fn shift(&mut self, by: i64) {
        let times = [
            &mut self.cycle.at,
            &mut self.min_rtt_at,
            &mut self.aggregation.since,
        ];
        times.into_iter().for_each(|time| *time = shift(*time, by));
        self.probing.until = self.probing.until.map(|until| shift(until, by));
        self.delivery.shift(by);
        self.pacing.shift(by);
    }
}

const fn micros(nanos: Nanos) -> u64 {
    nanos.get() / 1000
}

const BANDWIDTH_UNIT: u64 = 1 << 24;
const UNIT: u64 = 256;
/// 2 / ln 2: doubles the rate each round.
const HIGH_GAIN: u64 = UNIT * 2885 / 1000 + 1;
const DRAIN_GAIN: u64 = UNIT * 1000 / 2885;
const PHASES: [u64; 8] = [UNIT * 5 / 4, UNIT * 3 / 4, UNIT, UNIT, UNIT, UNIT, UNIT, UNIT];
/// Linux draws one of 2 to 7 and 0.
const FIRST_PHASE: usize = 5;
const FULL_ROUNDS: u32 = 3;
const MIN_WINDOW: u32 = 4;
const AGGREGATION_ROUNDS: u32 = 5;
