//! What `split` reports: where a transaction's time goes, and its throughput elsewhere.

use crate::{BoundBy, Distribution, median};
use std::sync::Arc;
use std::time::Duration;

/// The median of a figure's rounds, with the smallest and the largest of them.
///
/// The true median lies between these in 1 - 2^(1-n) of such runs of n rounds (order statistics): 15 of 16
/// for five rounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Interval {
    /// Median of the rounds. Of the parts of a transaction: the figure of the round whose
    /// transaction is the median, of an even number the mean of those two.
    pub median: Duration,
    /// Minimum.
    pub low: Duration,
    /// Maximum.
    pub high: Duration,
    /// How many rounds.
    pub rounds: u32,
}

impl Interval {
    /// Of rounds in any order; `None` without one.
    pub fn from_rounds(rounds: impl IntoIterator<Item = Duration>) -> Option<Self> {
        let rounds: Vec<Duration> = rounds.into_iter().collect();
        Some(Self {
            median: median(rounds.iter().copied())?,
            low: *rounds.iter().min()?,
            high: *rounds.iter().max()?,
            rounds: u32::try_from(rounds.len()).ok()?,
        })
    }

    /// The same with the figure of one round as the median: of several figures whose medians are all taken
    /// from the round in the middle of one of them, so that what adds up in a round adds up here.
    pub fn around(median: Duration, rounds: impl IntoIterator<Item = Duration>) -> Option<Self> {
        Some(Self {
            median,
            ..Self::from_rounds(rounds)?
        })
    }
}

/// Where round trips of a split come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RoundTripSource {
    /// `longwire echo` on the server's host, with messages of the workload's sizes, at the rate of its round
    /// trips.
    Echo,
    /// Both ends of an echo in this process: the server is on this machine.
    OwnEcho,
    /// The kernel's minimum round trip of a connection to the server (`tcpi_min_rtt`): without the wake-ups
    /// of both processes, and without what waits at many clients. So it is too short, and the server's share
    /// too long by as much.
    Kernel,
}

impl RoundTripSource {
    /// The word for it in records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Echo => "echo",
            Self::OwnEcho => "own_echo",
            Self::Kernel => "tcp_info",
        }
    }
}

/// A workload with a number of clients, and where the time of a transaction goes.
#[derive(Debug, Clone, PartialEq)]
pub struct SplitOutcome {
    /// Clients at once, each with one transaction after another.
    pub clients: u32,
    /// Transactions of all rounds.
    pub transactions: u64,
    /// Transactions that failed; they are in no other figure.
    pub errors: u64,
    /// Spread of the transactions' durations, of the round in the middle.
    pub spread: Distribution,
    /// Round trips of a transaction, mean.
    pub turns: f64,
    /// Payload bytes of a transaction to the server and from it, mean.
    pub payload_bytes: [f64; 2],
    /// One round trip of messages of these sizes at that concurrency, both ways.
    pub round_trip: Interval,
    /// Where that comes from.
    pub source: RoundTripSource,
    /// Clients divided by transactions a second. The medians of the parts below are those of the round that
    /// this median comes from, and sum to it to the nanosecond.
    pub transaction: Interval,
    /// The client's own part.
    pub client: Interval,
    /// Round trips times the round trip.
    pub network: Interval,
    /// The rest: the server's work, and waiting for processors on either side.
    pub server: Interval,
}

/// The same workload elsewhere.
#[derive(Debug, Clone, PartialEq)]
pub struct SplitPrediction {
    /// Where: a link in its text form, or the address whose echo was asked.
    pub place: Arc<str>,
    /// What it was made from.
    pub base: SplitBase,
    /// Round trip there, both ways.
    pub round_trip: Duration,
    /// Clients at once.
    pub clients: u32,
    /// What is predicted, or why nothing is.
    pub forecast: Result<SplitForecast, SplitRefusal>,
    /// The same measured there, where it was.
    pub measured: Option<Interval>,
}

/// What a transaction takes elsewhere. The clients are as fast as longwire's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SplitForecast {
    /// Clients divided by transactions a second.
    pub transaction: Duration,
    /// The same in another run there is not shorter: the rounds' spread, what the model cannot decide, and
    /// its own error.
    pub low: Duration,
    /// And not longer.
    pub high: Duration,
    /// What takes most of it.
    pub bound_by: BoundBy,
}

/// Why a throughput elsewhere is not predicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SplitRefusal {
    /// Too few rounds to tell how much they differ.
    Rounds {
        /// How many there were.
        measured: u32,
    },
    /// The interval would be too wide to say anything.
    Wide {
        /// Its ends.
        low: Duration,
        /// The upper one.
        high: Duration,
    },
    /// The link loses packets, varies or pauses.
    Impaired,
}

impl SplitPrediction {
    /// Transactions a second; `None` if none is predicted.
    pub fn per_second(&self) -> Option<f64> {
        Some(per_second(self.clients, self.forecast.ok()?.transaction))
    }

    /// Transactions a second that were measured.
    pub fn measured_per_second(&self) -> Option<f64> {
        Some(per_second(self.clients, self.measured?.median))
    }

    /// How far the predicted throughput differs from the measured one, as a share of it: +0.03 is 3 % too
    /// many. `None` if nothing was measured or predicted.
    pub fn error(&self) -> Option<f64> {
        let measured = self.measured_per_second()?;
        (measured > 0.0).then_some(self.per_second()? / measured - 1.0)
    }

    /// Why nothing is predicted, in a sentence; `None` if something is.
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
    /// Rounds that a prediction needs.
    pub const MIN_ROUNDS: u32 = 3;
}

impl SplitOutcome {
    /// Transactions a second.
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

/// What a prediction of `split` was made from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SplitBase {
    /// The workload as it was measured between client and server.
    Direct,
    /// The workload over the emulated link without delay: what the emulator takes by itself is in both.
    Emulated,
}

impl SplitBase {
    /// The word for it in records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Emulated => "emulated_link",
        }
    }
}
