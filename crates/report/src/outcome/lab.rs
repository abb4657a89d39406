//! What a lab measured, next to what was predicted.

use model::{
    ByteCount, Conditions, DistributionBuilder, LinkOutcome, MeasuredDurations, Prediction, Warning,
};
use std::time::Duration;

/// What a lab has to say.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LabOutcome {
    /// What it is called.
    pub name: String,
    /// Under which conditions.
    pub conditions: Conditions,
    /// What one operation is: `request`, `transaction`, `run`.
    pub operation: String,
    /// The swept settings.
    pub settings: Vec<String>,
    /// The points, in the order of the file; those that were not measured too.
    pub points: Vec<LabPoint>,
    /// What each link's round trip costs.
    pub slopes: Vec<LabSlope>,
    /// The points without distance, measured again in between: first and later medians of each.
    pub drifts: Vec<LabDrift>,
    /// What a reader of the figures must know.
    pub warnings: Vec<Warning>,
}

/// One point of a lab.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LabPoint {
    /// Values of the swept settings.
    pub values: Vec<String>,
    /// What was measured; `None` if it was not, or when no operation succeeded.
    pub measured: Option<MeasuredDurations>,
    /// What was predicted, with the measurement in it; `None` if the capture showed nothing to predict from.
    pub prediction: Option<Prediction>,
    /// Each time it was measured.
    pub rounds: Vec<LabRound>,
    /// Place in [`LabOutcome::points`] of the point that it is compared with.
    pub against: Option<usize>,
    /// How many times the operations of that point it did.
    pub times: Option<LabTimes>,
    /// Whether no link has a distance or limit here: then the prediction is what was captured, and proves
    /// nothing.
    pub is_baseline: bool,
}

/// One time that a point was measured.
#[derive(Debug, Clone, PartialEq)]
pub struct LabRound {
    /// What came out.
    pub measured: MeasuredDurations,
    /// The durations themselves; none where they were found in a capture.
    pub durations: DistributionBuilder,
    /// From the first operation to the end of the last.
    pub elapsed: Duration,
    /// Payload of the clients' own connections ([`model::Direction::index`]): what a database that compresses
    /// by itself has sent is counted compressed. Nothing where a command makes the connections.
    pub payload: [ByteCount; 2],
    /// Processor time of the clients.
    pub client_processor: Duration,
    /// Processor time of each service. That of the links themselves belongs to no service.
    pub processors: Vec<LabProcessor>,
    /// What each link realised.
    pub links: Vec<LinkOutcome>,
}

/// Processor time of one service: of all its processes, in steps of 10 ms each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabProcessor {
    /// The service.
    pub service: String,
    /// The host it runs on.
    pub host: String,
    /// How long its processes ran on a processor.
    pub time: Duration,
}

/// What one more millisecond of a link's round trip adds to an operation.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LabSlope {
    /// The link.
    pub link: String,
    /// The other settings that vary in the lab, with the values they have here.
    pub beside: Vec<(String, String)>,
    /// Milliseconds a millisecond, as measured: least squares over the points' medians.
    pub measured: f64,
    /// The same of the predictions.
    pub predicted: Option<f64>,
    /// Round trips per operation on this link's connections, counted in the capture.
    pub turns: Option<f64>,
    /// Points it rests on.
    pub points: usize,
}

/// How a point without distance changed during the run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LabDrift {
    /// The settings that distinguish it from other such points.
    pub beside: Vec<(String, String)>,
    /// Its median when it was captured.
    pub first: Duration,
    /// Its medians later.
    pub later: Vec<Duration>,
}

/// The error of the predictions over all points of a lab.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LabErrors {
    /// Points that were both measured and predicted, without those at which nothing differs from what was
    /// captured.
    pub points: usize,
    /// Median of the errors' sizes, as a share of what was measured; of an even number the mean of the two in
    /// the middle.
    pub median: f64,
    /// The largest error, with its sign: above 0 is predicted too long.
    pub worst: f64,
    /// Place of that point in [`LabOutcome::points`].
    pub worst_point: usize,
    /// Points whose measured median lies between the bounds of its prediction.
    pub within_bounds: usize,
}

/// How many times the operations of another point a point did in the same time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LabTimes {
    /// Median over the rounds that both were measured in (of an even number the lower one in the middle).
    pub median: f64,
    /// The minimum of a round.
    pub low: f64,
    /// The most of a round.
    pub high: f64,
}

/// A lab before it is run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LabOutline {
    /// What it is called.
    pub name: String,
    /// Links: name, and the two hosts.
    pub links: Vec<(String, [String; 2])>,
    /// Services: name, what they are, host.
    pub services: Vec<[String; 3]>,
    /// What is run, in words.
    pub workload: String,
    /// How much at each point, in words.
    pub amount: String,
    /// The swept settings.
    pub settings: Vec<String>,
    /// Their values at each point.
    pub points: Vec<Vec<String>>,
    /// Combinations of services and workload that are captured without distance.
    pub baselines: usize,
}
