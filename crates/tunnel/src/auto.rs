//! The level of one direction of a lane, determined while it works.
//!
//! The sender has one [`Auto`] for each lane and reports to it what happens, in the order in which it
//! happens:
//!
//! 1. [`Auto::level`] before a chunk is compressed: the level to use now.
//! 2. [`Auto::chunk`] after every chunk, those that went as they were included: what became of it and how
//!    long the codec took. Before it, where [`Auto::wants_path`], [`Auto::path`] with what the kernel knows.
//! 3. [`Auto::sent`] whenever the lane's socket took bytes.
//! 4. [`Auto::full`] whenever bytes or streams wait and the socket takes no more for now.
//! 5. [`Auto::idle`] when there is nothing left to send and no stream that wants to.
//!
//! How it decides: time is cut into spans of work, long enough to compare. Where the lane was full, its rate
//! is known (bytes taken from one time that it was full to the next), and the cost of a payload byte at each
//! level can be determined: the codec's time, and the time the lane takes for the rest of the byte
//! ([`experience`]). The cheapest level is *tried*: it stays when payload then passes faster than before by
//! more than chance, and else is not tried again for a while, which doubles each time. So a lane that is full
//! because its reader is slow, where the arithmetic says that compression pays, is found out by what it does.
//! Where the lane is never full, results may still take long: [`path`] finds out. Where they do not, off is
//! tried.

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

/// Chooses the level of one direction of a lane.
#[derive(Debug)]
pub struct Auto {
    level: CompressionLevel,
    throughput: ThroughputEstimator,
    path: Path,
    experience: Experience,
    span: Span,
    trial: Option<Trial>,
    rests: [Rest; 10],
    /// Since when the lane has not been full.
    free_since: Timestamp,
    /// Payload bytes until what follows a change is judged.
    settling: u64,
}

/// What happened since a decision.
#[derive(Debug, Clone, Copy)]
struct Span {
    last: Timestamp,
    is_idle: bool,
    is_full: bool,
    /// Time passed, pauses left out.
    active: Duration,
    /// Of it, with nothing to send.
    idle: Duration,
    /// Of it, with a lane that took nothing.
    full: Duration,
    payload: u64,
    chunks: u32,
}

/// A level that is tried.
#[derive(Debug, Clone, Copy)]
struct Trial {
    from: CompressionLevel,
    began: Timestamp,
    /// Payload bytes a second before.
    before: f64,
}

impl Auto {
    /// Begins with level 0.
    pub fn new(at: Timestamp) -> Self {
        Self {
            level: CompressionLevel::OFF,
            throughput: ThroughputEstimator::default(),
            path: Path::default(),
            experience: Experience::default(),
            span: Span::at(at),
            trial: None,
            rests: [Rest::default(); 10],
            free_since: at,
            settling: 0,
        }
    }

    /// The level for the next chunk.
    pub fn level(&mut self, at: Timestamp) -> CompressionLevel {
        self.pass(at);
        self.span.is_idle = false;
        if self.span.is_enough() {
            self.decide(at);
        }
        self.level
    }

    /// A chunk of `payload` bytes became `bytes`, at `level` ([`CompressionLevel::OFF`] where it went as it
    /// was), which took the codec `took`.
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

    /// The lane's socket took `bytes`.
    pub fn sent(&mut self, at: Timestamp, bytes: usize) {
        self.pass(at);
        if bytes > 0 {
            self.span.is_full = false;
        }
        self.throughput.sent(bytes);
        self.path.sent(bytes);
    }

    /// Bytes or streams wait, and the lane's socket takes no more for now.
    pub fn full(&mut self, at: Timestamp) {
        self.pass(at);
        self.span.is_full = true;
        self.span.is_idle = false;
        self.free_since = at;
        self.throughput.full(at);
    }

    /// Nothing is left to send.
    pub fn idle(&mut self, at: Timestamp) {
        self.pass(at);
        self.span.is_idle = true;
        self.throughput.idle();
        self.path.idle();
    }

    /// Whether [`Auto::path`] is wanted before the next [`Auto::level`]: seldom, and not where it would show
    /// nothing.
    pub fn wants_path(&mut self, at: Timestamp) -> bool {
        self.path.is_due(at)
    }

    /// What the kernel knows of the lane's connection: the rate at which it delivered, and the smallest round
    /// trip.
    pub fn path(&mut self, at: Timestamp, delivered: BitRate, rtt: Duration) {
        self.path
            .seen(at, delivered.as_bits_per_second() as f64 / 8.0, rtt);
    }

    /// Time goes on to `at`. What is known of the lane does not age while there is nothing to send: it would
    /// have to be found out again after every pause, at the cost of what is sent meanwhile.
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

    /// What arithmetic says; `None` if nothing is known that speaks for another level.
    fn wanted(&self, at: Timestamp, span: Span) -> Option<CompressionLevel> {
        let known = if span.was_full() {
            self.throughput.rate()
        } else {
            self.slow_path(at)
        };
        if let Some(rate) = known {
            let best = self.experience.cheapest(at, self.level, rate);
            // What the arithmetic says of a fast lane is compared with off now and then.
            let doubtful = best == self.level && rate > DOUBTFUL;
            return Some(if doubtful { CompressionLevel::OFF } else { best });
        }
        if self.level == CompressionLevel::OFF {
            // Nothing waits for the lane, nor for the clients: the thread is fully busy, and fewer bytes are
            // less to send.
            return span.is_busy().then_some(CHEAP);
        }
        (at.since(self.free_since) > FREE_FOR).then_some(CompressionLevel::OFF)
    }

    /// The rate where the lane was not full: of the path, or of the lane while it is made to have room.
    fn slow_path(&self, at: Timestamp) -> Option<f64> {
        let lane = self
            .throughput
            .recent(at)
            .filter(|_| self.level != CompressionLevel::OFF);
        self.path.rate(at).or(lane)
    }

    /// Whether what was tried stays.
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
        // Pauses of clients and the kernel's buffer blur what a short trial shows; a slow lane needs no
        // trial.
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

    /// Time went on to `at`. Short pauses count, because work may wait for the other side of this machine;
    /// long ones are the clients': returns how much of a pause did not count.
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

    /// Payload bytes a second.
    fn speed(&self) -> f64 {
        self.payload as f64 / self.active.as_secs_f64().max(1e-9)
    }
}

/// A span of work is at least this long, in time and chunks.
const SPAN: Duration = Duration::from_millis(25);
const SPAN_CHUNKS: u32 = 8;
/// Where chunks are slow, two are enough after this time.
const LONG_SPAN: Duration = Duration::from_millis(150);
/// The most that a pause counts.
const PAUSE: Duration = Duration::from_millis(10);
/// A context that has just begun remembers nothing: its first bytes show little.
const SETTLING: u64 = 128 * 1024;
/// How long a lane must not have been full until off is tried.
const FREE_FOR: Duration = Duration::from_secs(2);
/// Bytes a second above which a full lane may be so because of its reader.
const DOUBTFUL: f64 = 20e6;
/// What is tried where the thread is busy.
const CHEAP: CompressionLevel = CompressionLevel::ALL[2];
/// What payload's speed must come to, against what it was, for what is tried to stay.
const WHERE_COMPRESSION_STAYS: f64 = 1.05;
const WHERE_ANOTHER_STAYS: f64 = 1.01;
const WHERE_OFF_STAYS: f64 = 0.98;
