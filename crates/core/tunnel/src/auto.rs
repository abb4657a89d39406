//! Chooses the compression level of one direction of a lane while it works.
//!
//! The sender has one [`Auto`] for each lane and reports events in their order:
//!
//! - [`Auto::level`] before compressing a chunk returns the current level.
//! - [`Auto::chunk`] after every chunk, including stored ones. Before it, if
//!   [`Auto::wants_path`], call [`Auto::path`].
//! - [`Auto::sent`] when the lane's socket accepted bytes.
//! - [`Auto::full`] when bytes or streams wait and the socket is full.
//! - [`Auto::idle`] when all is sent and no stream has more.
//!
//! Spans of time are compared. If the lane was full, its rate is known, and so is the cost of a
//! payload byte at each level: codec time plus the lane's time for the rest of the byte
//! ([`experience`]). The cheapest level is *tried*: it stays if payload passes significantly faster,
//! otherwise it waits, each time twice as long. So the trial detects a slow reader, which also fills
//! the lane. If the lane is never full, [`path`] detects slow results; otherwise off is tried.

mod experience;
mod path;
mod rest;

use crate::CompressionLevel;
use crate::throughput_estimator::ThroughputEstimator;
use experience::Experience;
use model::{BitRate, Timestamp};
use path::Path;
use rest::Rest;
use std::time::Duration;

#[derive(Debug)]
pub struct Auto {
    level: CompressionLevel,
    throughput: ThroughputEstimator,
    path: Path,
    experience: Experience,
    span: Span,
    trial: Option<Trial>,
    rests: [Rest; 10],
    free_since: Timestamp,
    /// Payload bytes to skip after a change before measuring.
    settling: u64,
}

#[derive(Debug, Clone, Copy)]
struct Span {
    last: Timestamp,
    is_idle: bool,
    is_full: bool,
    /// Excludes pauses.
    active: Duration,
    /// Active time with an empty queue.
    idle: Duration,
    /// Active time with a full socket.
    full: Duration,
    payload: u64,
    chunks: u32,
}

#[derive(Debug, Clone, Copy)]
struct Trial {
    from: CompressionLevel,
    began: Timestamp,
    /// Payload bytes per second before the trial.
    before: f64,
}

impl Auto {
    /// `window_rate` is the rate that the lane's first congestion window allows, `None` if unknown.
    pub fn new(at: Timestamp, window_rate: Option<BitRate>) -> Self {
        let mut auto = Self {
            level: CompressionLevel::OFF,
            throughput: ThroughputEstimator::default(),
            path: Path::default(),
            experience: Experience::default(),
            span: Span::at(at),
            trial: None,
            rests: [Rest::default(); 10],
            free_since: at,
            settling: 0,
        };
        // Until the window has grown, each window of bytes less saves a round trip.
        if window_rate.is_some_and(|rate| bytes_per_second(rate) < DOUBTFUL) {
            auto.change(FIRST);
        }
        auto
    }

    pub fn level(&mut self, at: Timestamp) -> CompressionLevel {
        self.pass(at);
        self.span.is_idle = false;
        if self.span.is_enough() {
            self.decide(at);
        }
        self.level
    }

    /// `level` is [`CompressionLevel::OFF`] for a stored chunk, `took` is the codec's time.
    pub fn chunk(
        &mut self,
        at: Timestamp,
        level: CompressionLevel,
        payload: usize,
        bytes: usize,
        took: Duration,
    ) {
        self.pass(at);
        self.span.is_idle = false;
        self.experience.learn(at, level, payload, bytes, took);
        if self.settling > 0 {
            self.settling = self.settling.saturating_sub(payload as u64);
            self.span.restart(at);
            return;
        }
        self.span.payload += payload as u64;
        self.span.chunks += 1;
    }

    pub fn sent(&mut self, at: Timestamp, bytes: usize) {
        self.pass(at);
        if bytes > 0 {
            self.span.is_full = false;
        }
        self.throughput.sent(bytes);
        self.path.sent(bytes);
    }

    /// Bytes or streams wait, and the lane's socket is full.
    pub fn full(&mut self, at: Timestamp) {
        self.pass(at);
        self.span.is_full = true;
        self.span.is_idle = false;
        self.free_since = at;
        self.throughput.full(at);
    }

    pub fn idle(&mut self, at: Timestamp) {
        self.pass(at);
        self.span.is_idle = true;
        self.throughput.idle();
        self.path.idle();
    }

    /// Rarely true, and only if [`Auto::path`] would be useful.
    pub fn wants_path(&mut self, at: Timestamp) -> bool {
        self.path.is_due(at)
    }

    /// The kernel's figures for the lane's connection.
    pub fn path(&mut self, at: Timestamp, delivered: BitRate, rtt: Duration) {
        self.path.seen(at, bytes_per_second(delivered), rtt);
    }

    /// Knowledge does not age in idle time; otherwise every pause would cost new trials.
    fn pass(&mut self, at: Timestamp) {
        let unused = self.span.pass(at);
        self.throughput.rested(unused);
        self.path.rested(unused);
        self.experience.rested(unused);
        self.free_since = self.free_since.after(unused);
    }

    fn decide(&mut self, at: Timestamp) {
        let span = self.span;
        self.span.restart(at);
        self.throughput.raise(at);
        if let Some(trial) = self.trial.take() {
            self.judge(at, trial, span);
            return;
        }
        if let Some(wanted) = self.wanted(at, span).filter(|wanted| *wanted != self.level)
            && self.rest(wanted).is_over(at)
        {
            self.trial = Some(Trial {
                from: self.level,
                began: at,
                before: span.speed(),
            });
            self.change(wanted);
        }
    }

    /// `None` without evidence for a change.
    fn wanted(&self, at: Timestamp, span: Span) -> Option<CompressionLevel> {
        let known = if span.was_full() {
            self.throughput.rate()
        } else {
            self.slow_path(at)
        };
        if let Some(rate) = known {
            let best = self.experience.cheapest(at, self.level, rate);
            // On a fast lane the best level is compared with off now and then.
            let doubtful = best == self.level && rate > DOUBTFUL;
            return Some(if doubtful { CompressionLevel::OFF } else { best });
        }
        if self.level == CompressionLevel::OFF {
            // No lane and no client limits it: the thread is busy, and fewer bytes are less work.
            return span.is_busy().then_some(CHEAP);
        }
        (at.since(self.free_since) > FREE_FOR).then_some(CompressionLevel::OFF)
    }

    /// For a lane that was not full, the rate of the path or of the lane itself.
    fn slow_path(&self, at: Timestamp) -> Option<f64> {
        let lane = self
            .throughput
            .recent(at)
            .filter(|_| self.level != CompressionLevel::OFF);
        self.path.rate(at).or(lane)
    }

    fn judge(&mut self, at: Timestamp, trial: Trial, span: Span) {
        let tried = self.level;
        if self.stays(at, trial, span) {
            if tried != CompressionLevel::OFF && trial.from == CompressionLevel::OFF {
                self.rest(CompressionLevel::OFF).begin(at);
            }
        } else {
            self.rest(tried).begin(at);
            self.change(trial.from);
        }
    }

    fn stays(&self, at: Timestamp, trial: Trial, span: Span) -> bool {
        let tried = self.level;
        let known = if span.was_full() {
            self.throughput.rate()
        } else {
            self.path.rate_since(trial.began)
        };
        let slow = known.or_else(|| self.path.rate(at).filter(|_| tried != CompressionLevel::OFF));
        let slow = slow.filter(|rate| *rate < DOUBTFUL);
        // Client pauses and the kernel's buffer obscure a short trial; a slow lane needs none.
        if let Some(rate) = slow
            && (tried == CompressionLevel::OFF || !span.was_full())
        {
            return !self.experience.is_cheaper(at, trial.from, tried, rate);
        }
        let least = match (trial.from, tried) {
            (_, CompressionLevel::OFF) => WHERE_OFF_STAYS,
            (CompressionLevel::OFF, _) => WHERE_COMPRESSION_STAYS,
            _ => WHERE_ANOTHER_STAYS,
        };
        span.speed() >= trial.before * least
    }

    fn change(&mut self, level: CompressionLevel) {
        self.level = level;
        self.settling = if level == CompressionLevel::OFF {
            0
        } else {
            SETTLING
        };
    }

    fn rest(&mut self, level: CompressionLevel) -> &mut Rest {
        &mut self.rests[usize::from(level.number())]
    }
}

impl Span {
    fn at(at: Timestamp) -> Self {
        Self {
            last: at,
            is_idle: true,
            is_full: false,
            active: Duration::ZERO,
            idle: Duration::ZERO,
            full: Duration::ZERO,
            payload: 0,
            chunks: 0,
        }
    }

    fn restart(&mut self, at: Timestamp) {
        *self = Self {
            is_idle: self.is_idle,
            is_full: self.is_full,
            ..Self::at(at)
        };
    }

    /// Short pauses count, because work may wait for the peer; long ones are the clients'. Returns
    /// the uncounted part of a pause.
    fn pass(&mut self, at: Timestamp) -> Duration {
        let passed = at.since(self.last);
        self.last = self.last.max(at);
        let counts = if self.is_idle { passed.min(PAUSE) } else { passed };
        self.active += counts;
        if self.is_idle {
            self.idle += counts;
        }
        if self.is_full {
            self.full += passed;
        }
        passed.saturating_sub(counts)
    }

    fn is_enough(&self) -> bool {
        (self.active >= SPAN && self.chunks >= SPAN_CHUNKS) || (self.active >= LONG_SPAN && self.chunks >= 2)
    }

    fn was_full(&self) -> bool {
        self.full > self.active / 20
    }

    fn is_busy(&self) -> bool {
        self.idle < self.active / 10
    }

    /// Payload bytes per second.
    fn speed(&self) -> f64 {
        self.payload as f64 / self.active.as_secs_f64().max(1e-9)
    }
}

fn bytes_per_second(rate: BitRate) -> f64 {
    rate.as_bits_per_second() as f64 / 8.0
}

const SPAN: Duration = Duration::from_millis(25);
const SPAN_CHUNKS: u32 = 8;
/// With slow chunks, two are enough after this time.
const LONG_SPAN: Duration = Duration::from_millis(150);
const PAUSE: Duration = Duration::from_millis(10);
/// The first bytes of a new context compress worse.
const SETTLING: u64 = 128 * 1024;
/// Time without a full lane until off is tried.
const FREE_FOR: Duration = Duration::from_secs(2);
/// Bytes per second above which a full lane may be due to a slow reader.
const DOUBTFUL: f64 = 20e6;
/// Used at the start over a distance.
const FIRST: CompressionLevel = CompressionLevel::ALL[6];
/// Used if the thread is busy.
const CHEAP: CompressionLevel = CompressionLevel::ALL[2];
/// Required ratio of payload rates for a tried level to stay.
const WHERE_COMPRESSION_STAYS: f64 = 1.05;
const WHERE_ANOTHER_STAYS: f64 = 1.01;
const WHERE_OFF_STAYS: f64 = 0.98;
