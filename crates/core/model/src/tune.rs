//! One job by every method, setting and distance.

use crate::{ByteCount, Distribution, ParseQuantityError, PerDirection, Timestamp};
use serde::Serialize;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

/// Task of a tuning run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Job {
    /// Inserts rows in one transaction.
    Insert,
    /// Fetches the rows of one result.
    Select,
    /// Reads and then updates each row of a result.
    Update,
}

impl Job {
    /// All jobs in the order they run.
    pub const ALL: [Self; 3] = [Self::Insert, Self::Select, Self::Update];

    /// Name in commands, records and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Insert => "insert",
            Self::Select => "select",
            Self::Update => "update",
        }
    }
}

impl FromStr for Job {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::from_name(text).ok_or_else(|| ParseQuantityError::new("job", text, "insert, select or update"))
    }
}

impl fmt::Display for Job {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// A driver's way to do a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Method {
    /// The job it does.
    pub job: Job,
    /// Unique name within the job, such as `row by row`, `multi-row statement` or `copy`.
    pub name: Arc<str>,
    /// Its setting, if it has one.
    pub parameter: Option<MethodParameter>,
}

/// A setting of a method.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MethodParameter {
    /// Name such as `rows a statement`, `fetch size` or `buffer`.
    pub name: Arc<str>,
    /// Unit of its values.
    pub unit: ParameterUnit,
    /// Ascending values of a full sweep, at least one.
    pub values: Vec<u64>,
    /// The driver's default, if known.
    pub default: Option<u64>,
    /// The driver's notation with `{}` for the value, such as `defaultRowFetchSize={}`.
    pub spelling: Arc<str>,
}

/// Unit of a parameter's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ParameterUnit {
    /// A number of rows.
    Rows,
    /// A number of bytes.
    Bytes,
    /// A plain number or 0/1.
    Number,
}

impl ParameterUnit {
    /// A value with its unit, such as `100 rows`, `64 KiB` or `8`.
    pub fn words(self, value: u64) -> String {
        match self {
            Self::Rows if value == 1 => "1 row".to_owned(),
            Self::Rows => format!("{value} rows"),
            Self::Bytes if value > 0 && value.is_multiple_of(MEBIBYTE) => format!("{} MiB", value / MEBIBYTE),
            Self::Bytes if value > 0 && value.is_multiple_of(KIBIBYTE) => format!("{} KiB", value / KIBIBYTE),
            Self::Bytes => ByteCount::from_bytes(value).to_string(),
            Self::Number => value.to_string(),
        }
    }

    /// Name used in records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rows => "rows",
            Self::Bytes => "bytes",
            Self::Number => "number",
        }
    }
}

/// Result of one run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TrialOutcome {
    /// From the first byte of the job's transaction to the last, on the client's clock.
    pub duration: Duration,
    /// Start and end, if not visible in the traffic.
    pub span: Option<[Timestamp; 2]>,
    /// Rows inserted, fetched or updated, counted at the end.
    pub rows: u64,
    /// Round trips of the job, if counted.
    pub turns: Option<u64>,
    /// Client's limit of requests in flight, if known.
    pub window: Option<u64>,
    /// Packets by direction, with acknowledgements, if counted.
    pub packets: Option<PerDirection<u64>>,
    /// Payload bytes by direction, if counted.
    pub payload_bytes: Option<PerDirection<u64>>,
    /// Wire bytes by direction, if counted.
    pub wire_bytes: Option<PerDirection<u64>>,
    /// Peak memory of the client added by the job, if known.
    pub client_memory: Option<ByteCount>,
    /// The same for the server's process or thread.
    pub server_memory: Option<ByteCount>,
}

/// Source of a tuning figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TrialSource {
    /// Run at the existing distance.
    Measured,
    /// Run over an emulated link.
    Emulated,
    /// Predicted from a run at the existing distance.
    Predicted,
}

impl TrialSource {
    /// Name in records and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Emulated => "emulated",
            Self::Predicted => "predicted",
        }
    }
}

/// All runs of one method, setting and distance.
#[derive(Debug, Clone, PartialEq)]
pub struct Tuned {
    /// The job that ran.
    pub job: Job,
    /// Name of the method.
    pub method: Arc<str>,
    /// The setting, if the method has one.
    pub value: Option<u64>,
    /// The link, unless at the existing distance.
    pub link: Option<Arc<str>>,
    /// How `spread` was obtained.
    pub source: TrialSource,
    /// Number of runs included.
    pub runs: u32,
    /// Spread of durations, compared by its median.
    pub spread: Distribution,
    /// Median run with the counted run's counts.
    pub typical: TrialOutcome,
}

/// Recommended setting for a job and distance.
#[derive(Debug, Clone, PartialEq)]
pub struct Recommendation {
    /// The job of this recommendation.
    pub job: Job,
    /// The link, unless at the existing distance.
    pub link: Option<Arc<str>>,
    /// Name of the method.
    pub method: Arc<str>,
    /// Smallest setting certainly within 5 % of the best.
    pub value: Option<u64>,
    /// The driver's notation of the setting.
    pub spelling: String,
    /// Median duration with the setting.
    pub duration: Duration,
    /// Median duration of the best run.
    pub best: Duration,
    /// Slowest method with its best setting.
    pub worst_method: Arc<str>,
    /// Median duration of that method.
    pub worst: Duration,
    /// Runs done, and runs of a full sweep.
    pub runs: [u32; 2],
    /// Compared settings that are as good, fastest first.
    pub as_good: Vec<ChosenSetting>,
}

/// A method with one of its settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChosenSetting {
    /// Name of the method.
    #[serde(rename = "way")]
    pub method: Arc<str>,
    /// The setting, if the method has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<u64>,
}

impl Recommendation {
    /// Relative duration of the slowest method.
    pub fn ratio(&self) -> f64 {
        self.worst.as_secs_f64() / self.duration.as_secs_f64().max(1e-9)
    }
}

impl Tuned {
    /// Median for comparisons, zero without a run.
    pub fn median(&self) -> Duration {
        self.spread.p50.unwrap_or_default()
    }
}

impl TrialOutcome {
    /// Wire bytes per packet, if counted.
    pub fn mean_packet(&self) -> Option<ByteCount> {
        let sum = |each: PerDirection<u64>| each.iter().sum::<u64>();
        let bytes = sum(self.wire_bytes?).checked_div(sum(self.packets?))?;
        Some(ByteCount::from_bytes(bytes))
    }
}

const KIBIBYTE: u64 = 1 << 10;
const MEBIBYTE: u64 = 1 << 20;
