//! What a tunnel would give: traffic at each level, and the time of its operations over links of several
//! rates.

use crate::{BitRate, ParseQuantityError, Share};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// What the bytes of one exchange become in a tunnel at one level. Pairs are request and reply
/// ([`crate::Direction::index`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AtLevel {
    /// The level, 0 (off) to 9.
    pub level: u8,
    /// Bytes between the ends of the tunnel: frames with their headers, and what encryption adds. Of a chunk
    /// that carries several exchanges, each has the part that it has of the chunk's payload.
    pub tunnel_bytes: [u64; 2],
    /// Processor time of the end that sends, for compressing.
    pub compressing: [Duration; 2],
    /// Processor time of the end that receives, for decompressing.
    pub turning_back: [Duration; 2],
}

impl AtLevel {
    /// Processor time of both ends together.
    pub fn processor(&self) -> Duration {
        self.compressing.iter().chain(&self.turning_back).sum()
    }
}

/// What a tunnel would give to the operations that were examined.
#[derive(Debug, Clone, PartialEq)]
pub struct Advice {
    /// What was examined: a file, a server.
    pub source: String,
    /// Operations of which all exchanges that would go through the tunnel were compressed.
    pub operations: u64,
    /// How many of them were replayed, evenly taken; the figures of bytes and processor time are of all.
    pub replayed: u64,
    /// Exchanges of these operations that would go through the tunnel.
    pub exchanges: u64,
    /// Round trips of them.
    pub turns: u64,
    /// Their payload bytes, request and reply.
    pub payload_bytes: [u64; 2],
    /// From the beginning of the first of these operations to the end of the last. `None` if longwire made
    /// the traffic itself: its pace then says nothing about a month.
    pub span: Option<Duration>,
    /// Round trip of the links.
    pub rtt: Duration,
    /// Whether it was requested, or is that of the traffic.
    pub rtt_asked: bool,
    /// Rates of the links, each way, in the order requested.
    pub rates: Vec<BitRate>,
    /// The levels, off first.
    pub levels: Vec<LevelAdvice>,
    /// What a gigabyte costs that leaves one end for the other.
    pub price: Option<Price>,
}

/// What one level would give.
#[derive(Debug, Clone, PartialEq)]
pub struct LevelAdvice {
    /// The level, 0 (off) to 9.
    pub level: u8,
    /// What compresses: `zstd 3`.
    pub codec: String,
    /// Bytes between the ends, both directions, of all operations.
    pub tunnel_bytes: [u64; 2],
    /// Processor time of compressing and of decompressing, of all operations.
    pub processor: [Duration; 2],
    /// How far the passes over the same bytes differ in processor time, as a share of their median; `None`
    /// after one pass.
    pub noise: Option<Share>,
    /// Mean duration of a replayed operation at each of [`Advice::rates`].
    pub durations: Vec<Duration>,
    /// The rate above which off is faster; `None` for off itself.
    pub break_even: Option<BreakEven>,
}

/// The rate at which operations take the same time at a level as without compression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BreakEven {
    /// Off is faster at every rate down to the lowest that was tried.
    Never,
    /// Below this rate the level is faster, above it off is.
    At(BitRate),
    /// The level is faster up to the highest rate that was tried, at least.
    Above(BitRate),
}

impl Advice {
    /// The level with the shortest duration at rate number `rate`; of equal ones the lowest.
    pub fn best(&self, rate: usize) -> Option<&LevelAdvice> {
        let known = self.levels.iter().filter(|level| level.durations.len() > rate);
        known.min_by_key(|level| level.durations.get(rate).copied())
    }

    /// The level 0.
    pub fn off(&self) -> Option<&LevelAdvice> {
        self.levels.iter().find(|level| level.level == 0)
    }

    /// How much shorter an operation is at `level` than without compression, in nanoseconds; negative when it
    /// is longer.
    pub fn saved_ns(&self, level: &LevelAdvice, rate: usize) -> Option<i64> {
        let nanos = |level: &LevelAdvice| i64::try_from(level.durations.get(rate)?.as_nanos()).ok();
        nanos(self.off()?)?.checked_sub(nanos(level)?)
    }

    /// Payload bytes of both directions.
    pub fn payload(&self) -> u64 {
        self.payload_bytes.iter().sum()
    }

    /// What `bytes`, those of all operations, cost for a million operations.
    pub fn cost_per_million(&self, bytes: u64) -> Option<f64> {
        let operations = (self.operations > 0).then_some(self.operations as f64)?;
        Some(self.price?.price_of(bytes) / operations * 1e6)
    }

    /// What `bytes`, those of all operations, cost in 30 days at the pace of the traffic.
    pub fn cost_per_month(&self, bytes: u64) -> Option<f64> {
        let span = self.span.filter(|span| !span.is_zero())?;
        Some(self.price?.price_of(bytes) / span.as_secs_f64() * MONTH.as_secs_f64())
    }
}

impl LevelAdvice {
    /// Bytes between the ends, of both directions.
    pub fn bytes(&self) -> u64 {
        self.tunnel_bytes.iter().sum()
    }

    /// Processor time of both ends.
    pub fn processor_time(&self) -> Duration {
        self.processor.iter().sum()
    }
}

/// A price of a gigabyte (1,000,000,000 bytes), in whatever currency it was given.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Price(f64);

impl Price {
    /// What this many bytes cost.
    pub fn price_of(self, bytes: u64) -> f64 {
        self.0 * bytes as f64 / 1e9
    }
}

impl fmt::Display for Price {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, formatter)
    }
}

impl FromStr for Price {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let price = text.trim().parse().ok();
        price
            .filter(|price: &f64| price.is_finite() && (0.0..=MAX_PRICE).contains(price))
            .map(Self)
            .ok_or_else(|| {
                ParseQuantityError::new("price", text, "give a number without a currency, such as 0.09")
            })
    }
}

const MONTH: Duration = Duration::from_secs(30 * 86_400);
const MAX_PRICE: f64 = 1e9;
