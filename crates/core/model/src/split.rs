//! Results of `split` for a workload here and elsewhere.

use crate::{BoundBy, BoundsScale, Distribution, PerDirection, median};
use std::sync::Arc;
use std::time::Duration;

/// Median, minimum and maximum of n rounds. They contain the true median in 1 - 2^(1-n) of runs
/// (order statistics), 15 of 16 for five rounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Interval {
    /// Median of the rounds; for parts of a transaction, from the median transaction's round.
    pub median: Duration,
    /// Minimum of the rounds.
    pub low: Duration,
    /// Maximum of the rounds.
    pub high: Duration,
    /// Number of rounds included.
    pub rounds: u32,
}

impl Interval {
    /// From rounds in any order, at least one.
    pub fn from_rounds(rounds: impl IntoIterator<Item = Duration>) -> Option<Self> {
        let rounds: Vec<Duration> = rounds.into_iter().collect();
        Some(Self {
            median: median(rounds.iter().copied())?,
            low: *rounds.iter().min()?,
            high: *rounds.iter().max()?,
            rounds: u32::try_from(rounds.len()).ok()?,
        })
    }

    /// As [`Self::from_rounds`], with a chosen round as the median, so that parts still sum.
    pub fn around(median: Duration, rounds: impl IntoIterator<Item = Duration>) -> Option<Self> {
        Some(Self {
            median,
            ..Self::from_rounds(rounds)?
        })
    }
}

/// Source of a split's round-trip time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RoundTripSource {
    /// `longwire echo` on the server's host, with the workload's message sizes and rate.
    Echo,
    /// An echo within this process, for a local server.
    OwnEcho,
    /// An echo within this process over Unix-domain sockets, as the server is behind one: there is
    /// no network.
    UnixSocket,
    /// The kernel's minimum round-trip time (`tcpi_min_rtt`). Too short without wake-ups and waits,
    /// which lengthens the server's share.
    Kernel,
}

impl RoundTripSource {
    /// Name used in records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Echo => "echo",
            Self::OwnEcho => "own_echo",
            Self::UnixSocket => "unix_socket",
            Self::Kernel => "tcp_info",
        }
    }
}

/// A workload and parts of its transaction time.
#[derive(Debug, Clone, PartialEq)]
pub struct SplitOutcome {
    /// Concurrent clients, each running one transaction after another.
    pub clients: u32,
    /// Transactions of all rounds.
    pub transactions: u64,
    /// Failed transactions, not counted elsewhere.
    pub errors: u64,
    /// Spread of the median round's transaction times.
    pub spread: Distribution,
    /// Mean round trips per transaction.
    pub turns: f64,
    /// Mean payload bytes per transaction, by direction.
    pub payload_bytes: PerDirection<f64>,
    /// Round-trip time of such messages at that concurrency.
    pub round_trip: Interval,
    /// Source of the round-trip time.
    pub source: RoundTripSource,
    /// Clients divided by transactions per second; the parts of the median round sum to it.
    pub transaction: Interval,
    /// The client's own part.
    pub client: Interval,
    /// Round trips times round-trip time.
    pub network: Interval,
    /// Server work, and waits for processors on either side.
    pub server: Interval,
}

/// The same workload elsewhere.
#[derive(Debug, Clone, PartialEq)]
pub struct SplitPrediction {
    /// Link in its text form, or address of the echo.
    pub place: Arc<str>,
    /// Workload used for the prediction.
    pub base: SplitBase,
    /// Round-trip time to that place.
    pub round_trip: Duration,
    /// Number of concurrent clients.
    pub clients: u32,
    /// The prediction, or the reason for none.
    pub forecast: Result<SplitForecast, SplitRefusal>,
    /// Measurement at that place, if any.
    pub measured: Option<Interval>,
}

/// Transaction time elsewhere, for clients as fast as longwire's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SplitForecast {
    /// Clients divided by transactions per second.
    pub transaction: Duration,
    /// Lower bound for another run.
    pub low: Duration,
    /// Upper bound for another run.
    pub high: Duration,
    /// Bounds before they were scaled.
    pub unscaled: [Duration; 2],
    /// Scale of the bounds.
    pub scale: BoundsScale,
    /// Largest part of the transaction time.
    pub bound_by: BoundBy,
}

/// Why a throughput elsewhere is not predicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SplitRefusal {
    /// Too few rounds to estimate their spread.
    Rounds {
        /// Number of measured rounds.
        measured: u32,
    },
    /// The interval would be too wide.
    Wide {
        /// Lower end of the interval.
        low: Duration,
        /// Upper end of the interval.
        high: Duration,
    },
    /// The link loses packets, varies or pauses.
    Impaired,
}

impl SplitPrediction {
    /// Predicted transactions per second, if any.
    pub fn per_second(&self) -> Option<f64> {
        Some(per_second(self.clients, self.forecast.ok()?.transaction))
    }

    /// Measured transactions per second, if any.
    pub fn measured_per_second(&self) -> Option<f64> {
        Some(per_second(self.clients, self.measured?.median))
    }

    /// Relative error of the predicted throughput (+0.03 is 3 % too many).
    pub fn error(&self) -> Option<f64> {
        let measured = self.measured_per_second()?;
        (measured > 0.0).then_some(self.per_second()? / measured - 1.0)
    }

    /// Sentence on why there is no prediction, if so.
    pub fn refusal(&self) -> Option<String> {
        let rate = |span| per_second(self.clients, span);
        Some(match self.forecast.err()? {
            SplitRefusal::Rounds { measured } => format!(
                "{} cannot show how much rounds differ: --rounds {} or more",
                crate::counted(measured.into(), "round", "rounds"),
                SplitRefusal::MIN_ROUNDS
            ),
            SplitRefusal::Wide { low, high } => format!(
                "anything from {:.0} to {:.0} a second: more rounds (--rounds), longer visits (-T) or a quieter machine narrow it",
                rate(high),
                rate(low)
            ),
            SplitRefusal::Impaired => {
                "loss, jitter and outages are not modelled: --verify measures".to_owned()
            }
        })
    }
}

impl SplitRefusal {
    /// Rounds required for a prediction.
    pub const MIN_ROUNDS: u32 = 3;
}

impl SplitOutcome {
    /// Predicted transactions per second.
    pub fn per_second(&self) -> f64 {
        per_second(self.clients, self.transaction.median)
    }
}

fn per_second(clients: u32, transaction: Duration) -> f64 {
    match transaction.as_secs_f64() {
        0.0 => 0.0,
        seconds => f64::from(clients) / seconds,
    }
}

/// The workload that a prediction of `split` uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SplitBase {
    /// Measured directly between client and server.
    Direct,
    /// Measured over the emulated link without delay.
    Emulated,
}

impl SplitBase {
    /// Name used in records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Emulated => "emulated_link",
        }
    }
}
