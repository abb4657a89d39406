//! Outcome of a lab: measurements next to predictions.

use model::serde_units::ns;
use model::{
    ByteCount, Conditions, DistributionBuilder, LinkOutcome, MeasuredDurations, PerDirection, Prediction,
    Warning,
};
use serde::{Deserialize, Serialize};
use std::time::Duration;

#[derive(Debug, Clone, PartialEq, Default)]
pub struct LabOutcome {
    pub name: String,
    pub conditions: Conditions,
    /// The unit of work, such as `request`, `transaction` or `run`.
    pub operation: String,
    pub settings: Vec<String>,
    /// In the order of the file, including points that were not measured.
    pub points: Vec<LabPoint>,
    pub slopes: Vec<LabSlope>,
    /// First and later medians of the points without distance.
    pub drifts: Vec<LabDrift>,
    pub warnings: Vec<Warning>,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct LabPoint {
    /// Values of the swept settings.
    pub values: Vec<String>,
    /// `None` if not measured, or if no operation succeeded.
    pub measured: Option<MeasuredDurations>,
    /// `None` if the capture does not suffice for a prediction.
    pub prediction: Option<Prediction>,
    pub rounds: Vec<LabRound>,
    /// Index in [`LabOutcome::points`] of the point it is compared with.
    pub against: Option<usize>,
    /// Throughput as a multiple of that point's.
    pub times: Option<LabTimes>,
    /// No link has a distance or limit here, so the prediction is the captured time and verifies no
    /// model.
    pub is_baseline: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LabRound {
    pub measured: MeasuredDurations,
    /// Empty if the durations come from a capture.
    pub durations: DistributionBuilder,
    /// From the first operation to the end of the last.
    #[serde(rename = "elapsed_ns", with = "ns")]
    pub elapsed: Duration,
    /// Payload of the clients' own connections, as sent: compressed
    /// if the database compresses. Zero if a command opens the connections.
    pub payload: PerDirection<ByteCount>,
    #[serde(rename = "client_processor_ns", with = "ns")]
    pub client_processor: Duration,
    /// Does not include the processor time of the links.
    pub processors: Vec<LabProcessor>,
    pub links: Vec<LinkOutcome>,
}

/// Processor time of all processes of one service; the resolution is 10 ms per process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabProcessor {
    pub service: String,
    pub host: String,
    #[serde(rename = "time_ns", with = "ns")]
    pub time: Duration,
}

/// Time that one more millisecond of a link's round trip adds to an operation.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LabSlope {
    pub link: String,
    /// The other settings that vary in the lab, with their values.
    pub beside: Vec<(String, String)>,
    /// In milliseconds per millisecond, by least squares over the points' medians.
    pub measured: f64,
    /// The same from the predictions.
    pub predicted: Option<f64>,
    /// Round trips per operation on this link's connections, counted in the capture.
    pub turns: Option<f64>,
    /// Measured points: the link's round-trip time, and the index in [`LabOutcome::points`].
    pub points: Vec<(Duration, usize)>,
}

/// Change during the run of a point without distance.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LabDrift {
    /// The settings that distinguish it from other points without distance.
    pub beside: Vec<(String, String)>,
    pub first: Duration,
    pub later: Vec<Duration>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LabErrors {
    /// Points with measurement and prediction, without baselines.
    pub points: usize,
    /// Median of the absolute errors, as a share of the measurement. Of an even number: the mean of
    /// the middle two.
    pub median: f64,
    /// The largest error, with sign: above 0 the prediction is too long.
    pub worst: f64,
    /// Index of that point in [`LabOutcome::points`].
    pub worst_point: usize,
    pub within_bounds: usize,
}

/// Throughput as a multiple of another point's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LabTimes {
    /// Median over the rounds that measured both; of an even number the lower middle one.
    pub median: f64,
    pub low: f64,
    pub high: f64,
}

/// A lab before its run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LabOutline {
    pub name: String,
    /// Name and the two hosts.
    pub links: Vec<(String, [String; 2])>,
    /// Name, kind and host.
    pub services: Vec<[String; 3]>,
    pub workload: String,
    /// Amount of work at each point, in words.
    pub amount: String,
    pub settings: Vec<String>,
    /// Values of the settings at each point.
    pub points: Vec<Vec<String>>,
    /// Combinations of services and workload that are captured without distance.
    pub baselines: usize,
}
