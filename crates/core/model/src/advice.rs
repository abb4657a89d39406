//! Effect of a tunnel on traffic and operation time.

use crate::{BitRate, ParseQuantityError, PerDirection, Share};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// Request and reply of one exchange in a tunnel at one level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AtLevel {
    /// Level from 0 (off) to 9.
    pub level: u8,
    /// Bytes between the tunnel's ends, with headers and encryption. Exchanges share a chunk by
    /// payload.
    pub tunnel_bytes: PerDirection<u64>,
    /// Processor time for compressing, at the sending end.
    pub compressing: PerDirection<Duration>,
    /// Processor time for decompressing, at the receiving end.
    pub turning_back: PerDirection<Duration>,
}

impl AtLevel {
    /// Processor time of both ends together.
    pub fn processor(&self) -> Duration {
        self.compressing.iter().chain(&self.turning_back).sum()
    }
}

/// Effect of a tunnel on the examined operations.
#[derive(Debug, Clone, PartialEq)]
pub struct Advice {
    /// The examined file or server.
    pub source: String,
    /// Operations with all tunnelled exchanges compressed.
    pub operations: u64,
    /// Number of evenly chosen, replayed operations. Bytes and processor time cover all.
    pub replayed: u64,
    /// Exchanges of these operations that use the tunnel.
    pub exchanges: u64,
    /// Round trips of these exchanges.
    pub turns: u64,
    /// Payload bytes of request and reply.
    pub payload_bytes: PerDirection<u64>,
    /// From the first operation's start to the last one's end. `None` for traffic made by longwire,
    /// which has no monthly rate.
    pub span: Option<Duration>,
    /// Round-trip time of the links.
    pub rtt: Duration,
    /// Whether `rtt` was requested instead of measured.
    pub rtt_asked: bool,
    /// Rates in each direction, in the order requested.
    pub rates: Vec<BitRate>,
    /// The levels, off first.
    pub levels: Vec<LevelAdvice>,
    /// Price of a gigabyte between the ends.
    pub price: Option<Price>,
}

/// Effect of one level.
#[derive(Debug, Clone, PartialEq)]
pub struct LevelAdvice {
    /// Level from 0 (off) to 9.
    pub level: u8,
    /// Codec and its level, such as `zstd 3`.
    pub codec: String,
    /// Bytes of all operations between the ends.
    pub tunnel_bytes: PerDirection<u64>,
    /// Processor time of compressing and of decompressing them.
    pub processor: [Duration; 2],
    /// Spread of processor time over the passes, relative to the median; `None` after one.
    pub noise: Option<Share>,
    /// Mean duration of a replayed operation at each of [`Advice::rates`].
    pub durations: Vec<Duration>,
    /// Rate above which off is faster; `None` for off.
    pub break_even: Option<BreakEven>,
}

/// Rate at which compression makes no difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BreakEven {
    /// Off is faster at every tried rate.
    Never,
    /// Below this rate the level is faster.
    At(BitRate),
    /// The level is faster at every tried rate.
    Above(BitRate),
}

impl Advice {
    /// Fastest (or lowest equal) level at a rate.
    pub fn best(&self, rate: usize) -> Option<&LevelAdvice> {
        let known = self.levels.iter().filter(|level| level.durations.len() > rate);
        known.min_by_key(|level| level.durations.get(rate).copied())
    }

    /// The entry of level 0.
    pub fn off(&self) -> Option<&LevelAdvice> {
        self.levels.iter().find(|level| level.level == 0)
    }

    /// Nanoseconds saved per operation, possibly negative.
    pub fn saved_ns(&self, level: &LevelAdvice, rate: usize) -> Option<i64> {
        let nanos = |level: &LevelAdvice| i64::try_from(level.durations.get(rate)?.as_nanos()).ok();
        nanos(self.off()?)?.checked_sub(nanos(level)?)
    }

    /// Payload bytes of both directions.
    pub fn payload(&self) -> u64 {
        self.payload_bytes.iter().sum()
    }

    /// Price of `bytes`, scaled to a million operations.
    pub fn cost_per_million(&self, bytes: u64) -> Option<f64> {
        let operations = (self.operations > 0).then_some(self.operations as f64)?;
        Some(self.price?.price_of(bytes) / operations * 1e6)
    }

    /// Price of `bytes` in 30 days at the traffic's pace.
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

/// Price of a gigabyte (1,000,000,000 bytes), in any currency.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Price(f64);

impl Price {
    /// Price of this many bytes.
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
