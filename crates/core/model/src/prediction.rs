//! Predicted times of operations on another link.

use crate::serde_units::ns;
use crate::{Attribution, Distribution, DistributionBuilder, LinkRates, PredictedDuration, Share};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;

/// Predicted time of one name's operations on another link.
#[derive(Debug, Clone, PartialEq)]
pub struct Prediction {
    /// Name of the operations.
    pub operation_name: Arc<str>,
    /// Number of replayed operations.
    pub operations: u64,
    /// The first operations, left out because they were slower than the rest.
    pub warming_up: u64,
    /// Round-trip time of the target link.
    pub rtt: Duration,
    /// Rates of the target link, where limited.
    pub rate: LinkRates,
    /// The complete target link in its text form.
    pub link: Arc<str>,
    /// Concurrent clients, each running one operation after another.
    pub clients: u32,
    /// Concurrent requests at the server, inferred or given; clients then run the measured mix.
    pub workers: Option<u32>,
    /// Predicted median of the durations.
    pub duration: Duration,
    /// Lower bound of the median in 9 of 10 runs of as many operations on such a link. Single
    /// operations vary more, see `spread`.
    pub low: Duration,
    /// Upper bound of the median.
    pub high: Duration,
    /// Sources of error within the bounds, those without effect omitted; not scaled.
    pub margins: Vec<BoundsMargin>,
    /// Bounds by the margins alone.
    pub unscaled: [Duration; 2],
    /// Scale of the bounds.
    pub scale: BoundsScale,
    /// Spread of the predicted durations.
    pub spread: Distribution,
    /// Operations per second of all clients.
    pub per_second: f64,
    /// Mean round trips per operation on moved connections, concurrent ones included.
    pub turns: f64,
    /// Milliseconds added per millisecond of rtt. Less than `turns` if connections wait in
    /// parallel, more if transfers need further round trips.
    pub slope: f64,
    /// Order of exchanges on several connections, if operations use several.
    pub order: Option<Order>,
    /// Largest part of the predicted time.
    pub bound_by: BoundBy,
    /// Predicted time by part, summed over the operations.
    pub attribution: Attribution,
    /// Unexplained time at the measured distance; `None` if clients met.
    pub unexplained: Option<Unexplained>,
    /// Single operations as examples; `None` if clients met.
    pub examples: Option<PredictedExamples>,
    /// Measurement on such a link, if any.
    pub measured: Option<MeasuredDurations>,
}

/// How far one source of error alone widens the bounds. Margins are independent, so their squares
/// add up; those of [`MarginSource::Hosts`] are added.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BoundsMargin {
    /// Source of the error.
    pub source: MarginSource,
    /// Seconds below and above the median.
    pub seconds: [f64; 2],
}

/// A source of error of a predicted median.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MarginSource {
    /// Few operations, or operations that differ.
    Sampling,
    /// TCP's model, and wake-ups per round trip.
    Model,
    /// Windows that depend on random losses.
    Loss,
    /// Client and server times of another run.
    Computing,
    /// The allowance for longer rests.
    WakingUp,
    /// Round-trip times of the measurement that vary, and so the server time within.
    ServerTime,
    /// Senders that pace packets (BBR).
    Pacing,
    /// Windows that a server may keep while idle.
    KeptWindows,
    /// Round trips assigned to the wrong operation.
    Owners,
    /// Addresses that may be one host.
    Hosts,
}

/// Scale of all margins, from measured predictions of the same class.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BoundsScale {
    /// Class of predictions.
    pub class: &'static str,
    /// Factor of the margins, at least 1 beyond what was measured.
    pub factor: f64,
    /// Measured predictions of the class; `None` if the link or the number of clients is beyond
    /// theirs.
    pub measured: Option<MeasuredCells>,
}

impl BoundsScale {
    /// Margins as they are.
    pub const NONE: Self = Self {
        class: "",
        factor: 1.0,
        measured: None,
    };
}

/// Predictions of one class compared with a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MeasuredCells {
    /// Operation names, each by round trip and clients.
    pub count: u32,
    /// Number of measured applications.
    pub applications: u32,
    /// Share of the cells within bounds scaled by the other applications alone, in percent.
    pub inside_percent: u32,
}

/// Measured time beyond the replay over the measured paths, assumed not to change with distance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Unexplained {
    /// Median in nanoseconds, negative if replays take longer.
    pub median_ns: i64,
    /// Share of the total time, with absolute values.
    pub share: f64,
}

impl Prediction {
    /// Low and high bounds, unless they differ by more than [`WIDEST_BOUNDS`].
    pub fn bounds(&self) -> Option<[Duration; 2]> {
        (self.high <= self.low.saturating_mul(WIDEST_BOUNDS)).then_some([self.low, self.high])
    }

    /// The duration, unless the bounds differ by more than [`WIDEST_WITH_MEDIAN`].
    pub fn bounded(&self) -> Option<Duration> {
        (self.high <= self.low.saturating_mul(WIDEST_WITH_MEDIAN)).then_some(self.duration)
    }

    /// The median, or the bounds where they are too wide for one; `None` without bounds.
    pub fn predicted(&self) -> Option<PredictedDuration> {
        let [low, high] = self.bounds()?;
        Some(match self.bounded() {
            Some(median) => PredictedDuration::Median { median },
            None => PredictedDuration::Bounds { low, high },
        })
    }

    /// Whether some operations have more than twice the typical round trips.
    pub fn has_unlike_turns(&self) -> bool {
        self.examples
            .is_some_and(|examples| examples.longest.turns > 2 * examples.typical.turns)
    }

    /// Whether its slope is that of an operation, not a mix.
    pub fn has_slope(&self) -> bool {
        let typical = self.examples.map(|examples| examples.typical.turns as f64);
        let is_between = typical.is_some_and(|turns| self.slope > MIXED_SLOPE * turns);
        self.slope.is_finite() && self.bounds().is_some() && !(self.has_unlike_turns() && is_between)
    }
}

/// Maximum ratio of meaningful bounds.
const WIDEST_BOUNDS: u32 = 20;
const WIDEST_WITH_MEDIAN: u32 = 3;

/// Above this multiple of the typical round trips, unlike operations determine the slope.
const MIXED_SLOPE: f64 = 1.5;

/// Two examples of a name, as medians and means of unlike operations do not belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PredictedExamples {
    /// The operation with the median predicted duration (of an even number, the shorter middle
    /// one).
    pub typical: PredictedOperation,
    /// The operation with the longest measured duration.
    pub longest: PredictedOperation,
    /// Share of operations with half to twice the typical round trips.
    pub alike: Share,
}

/// One operation, measured and predicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PredictedOperation {
    /// Measured duration of the operation.
    pub measured: Duration,
    /// Its predicted duration on the link.
    pub predicted: Duration,
    /// Measured duration minus its replay, in nanoseconds.
    pub unexplained_ns: i64,
    /// Round trips on moved connections.
    pub turns: u64,
    /// Predicted duration with its findings remedied; `None` if not replayed.
    pub without: Option<Duration>,
}

impl Prediction {
    /// Predicted minus measured median, relative to the measured one (+0.03 is 3 % too long).
    /// `None` without [`Prediction::bounded`]. Misleads for few operations, or near the
    /// instrument's floor.
    pub fn error(&self) -> Option<f64> {
        let measured = self.measured.as_ref()?.duration.as_secs_f64();
        let predicted = self.bounded()?.as_secs_f64();
        (measured > 0.0).then(|| predicted / measured - 1.0)
    }
}

/// Order of exchanges on several connections, with evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Order {
    /// The order that is assumed.
    pub kind: OrderKind,
    /// Examined operations with several connections.
    pub looked_at: u64,
    /// Operations that sent a request before another connection's reply had arrived.
    pub at_once: u64,
}

/// Whether exchanges on several connections waited for each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrderKind {
    /// Each waited for the previous one.
    InSequence,
    /// Some were sent at once.
    AtOnce,
    /// Unknown, so `low` assumes all at once and `high` all in sequence.
    Open,
}

impl OrderKind {
    /// Name used in records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::InSequence => "in_sequence",
            Self::AtOnce => "at_once",
            Self::Open => "open",
        }
    }
}

/// Operations measured on a predicted link.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MeasuredDurations {
    /// Number of measured operations.
    pub operations: u64,
    /// Median of the durations.
    #[serde(rename = "duration_ns", with = "ns")]
    pub duration: Duration,
    /// Spread of the durations.
    pub spread: Distribution,
    /// Operations per second of all clients.
    pub per_second: f64,
    /// Failed operations, not counted elsewhere.
    pub errors: u64,
}

impl MeasuredDurations {
    /// `None` without durations.
    pub fn from_durations(durations: &mut DistributionBuilder, per_second: f64, errors: u64) -> Option<Self> {
        Some(Self {
            operations: durations.count(),
            duration: durations.percentile(50)?,
            spread: durations.distribution(),
            per_second,
            errors,
        })
    }
}

/// Largest part of a predicted duration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BoundBy {
    /// Waits for bytes to travel the distance.
    RoundTrips,
    /// Serialisation at the link's rate.
    Rate,
    /// Waits for the receiver's window.
    Window,
    /// Waits for a delayed acknowledgement (Nagle's algorithm).
    DelayedAcks,
    /// The server's own time.
    Server,
    /// The client's own time.
    Client,
    /// A wait unexplained at the measured distance.
    Unexplained,
}

impl BoundBy {
    /// Name in records and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::RoundTrips => "round_trips",
            Self::Rate => "rate",
            Self::Window => "window",
            Self::DelayedAcks => "delayed_acks",
            Self::Server => "server",
            Self::Client => "client",
            Self::Unexplained => "unexplained",
        }
    }
}
