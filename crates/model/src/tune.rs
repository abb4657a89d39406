//! Tuning: one job done in every way that a driver offers, with every setting, at every distance.

use crate::{ByteCount, Distribution, ParseQuantityError, Timestamp};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

/// What is done with the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Job {
    /// New rows go to the server in one transaction.
    Insert,
    /// Rows come from the server, all of one result.
    Select,
    /// Each row of a result is read and then updated.
    Update,
}

impl Job {
    /// All of them, in the order in which they are done.
    pub const ALL: [Self; 3] = [Self::Insert, Self::Select, Self::Update];

    /// The word for it on the command line, in records and in reports.
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
        let known = Self::ALL.into_iter().find(|job| job.name() == text);
        known.ok_or_else(|| ParseQuantityError::new("job", text, "insert, select or update"))
    }
}

impl fmt::Display for Job {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// One way to do a job, as a driver offers it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Method {
    /// The job it does.
    pub job: Job,
    /// Its name, unique within the job: `row by row`, `multi-row statement`, `copy`.
    pub name: Arc<str>,
    /// What can be set; `None` for a method that has nothing to set.
    pub parameter: Option<MethodParameter>,
}

/// What can be set of a method.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MethodParameter {
    /// What it is: `rows a statement`, `fetch size`, `buffer`.
    pub name: Arc<str>,
    /// What its values count.
    pub unit: ParameterUnit,
    /// The values a full sweep tries, ascending; at least one. Usually a value is twice the one before.
    pub values: Vec<u64>,
    /// The value the driver uses when nothing is set, where that is known.
    pub default: Option<u64>,
    /// How the driver spells the setting, `{}` in place of the value: `defaultRowFetchSize={}`.
    pub spelling: Arc<str>,
}

/// What the values of a parameter count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ParameterUnit {
    /// Rows.
    Rows,
    /// Bytes.
    Bytes,
    /// Nothing: a number or 0/1.
    Number,
}

impl ParameterUnit {
    /// A value in words: `100 rows`, `64 KiB`, `8`.
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

    /// The word for it in records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rows => "rows",
            Self::Bytes => "bytes",
            Self::Number => "number",
        }
    }
}

/// What one run of a way brought.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TrialOutcome {
    /// From the job's first byte (of its transaction) to its last, by the clock nearest to the work: the
    /// client's own.
    pub duration: Duration,
    /// When the job began and ended, on the timeline of the observer; `None` if there was none, or where it
    /// shows in what was seen.
    pub span: Option<[Timestamp; 2]>,
    /// Rows inserted, fetched or updated, counted at the end.
    pub rows: u64,
    /// Round trips of the job; `None` if they were not counted in this run.
    pub turns: Option<u64>,
    /// Requests that its client lets be in progress at once; `None` if it has no such limit, or that is not
    /// known.
    pub window: Option<u64>,
    /// Packets client-to-server and server-to-client, acknowledgements among them; absent likewise.
    pub packets: Option<[u64; 2]>,
    /// Payload bytes, likewise.
    pub payload_bytes: Option<[u64; 2]>,
    /// Wire bytes of those packets, likewise.
    pub wire_bytes: Option<[u64; 2]>,
    /// Most memory that the job took in the client beyond what it had before; `None` if it cannot be
    /// determined.
    pub client_memory: Option<ByteCount>,
    /// The same of the server's process or thread for this connection; `None` if it cannot be determined
    /// (another host).
    pub server_memory: Option<ByteCount>,
}

/// Where a figure of tuning comes from.
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
    /// The word for it in records and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Emulated => "emulated",
            Self::Predicted => "predicted",
        }
    }
}

/// One way with one setting at one distance, all its runs together.
#[derive(Debug, Clone, PartialEq)]
pub struct Tuned {
    /// The job.
    pub job: Job,
    /// Name of the method.
    pub method: Arc<str>,
    /// The setting; `None` for a method that has none.
    pub value: Option<u64>,
    /// The link in its text form; `None` for the existing distance.
    pub link: Option<Arc<str>>,
    /// Where `spread` comes from.
    pub source: TrialSource,
    /// Runs that are in it.
    pub runs: u32,
    /// Spread of the runs' durations; its median is what settings are compared by.
    pub spread: Distribution,
    /// A typical run: the one of the median duration, with the counts of the run that counted.
    pub typical: TrialOutcome,
}

/// What is recommended for one job at one distance.
#[derive(Debug, Clone, PartialEq)]
pub struct Recommendation {
    /// The job.
    pub job: Job,
    /// The link; `None` for the existing distance.
    pub link: Option<Arc<str>>,
    /// Name of the method.
    pub method: Arc<str>,
    /// The smallest setting that is surely within 5 % of the best; `None` for a method that has none.
    pub value: Option<u64>,
    /// How the driver spells it.
    pub spelling: String,
    /// Median duration with it.
    pub duration: Duration,
    /// Median duration of the best that was run.
    pub best: Duration,
    /// The way that is slowest with its best setting.
    pub worst_way: Arc<str>,
    /// What that takes: what is at stake.
    pub worst: Duration,
    /// Runs it took, and the runs that a full sweep would have taken.
    pub runs: [u32; 2],
    /// What was compared with it and is as good, the fastest first.
    pub as_good: Vec<ChosenSetting>,
}

/// A way with one of its settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChosenSetting {
    /// Name of the method.
    pub method: Arc<str>,
    /// The setting; `None` for a method that has none.
    pub value: Option<u64>,
}

impl Recommendation {
    /// How many times as long the slowest way takes.
    pub fn ratio(&self) -> f64 {
        self.worst.as_secs_f64() / self.duration.as_secs_f64().max(1e-9)
    }
}

impl Tuned {
    /// What settings are compared by: the median; zero without a run.
    pub fn median(&self) -> Duration {
        self.spread.p50.unwrap_or_default()
    }
}

impl TrialOutcome {
    /// Wire bytes divided by packets, both directions together; `None` if either was not counted.
    pub fn mean_packet(&self) -> Option<ByteCount> {
        let sum = |each: [u64; 2]| each.iter().sum::<u64>();
        let bytes = sum(self.wire_bytes?).checked_div(sum(self.packets?))?;
        Some(ByteCount::from_bytes(bytes))
    }
}

const KIBIBYTE: u64 = 1 << 10;
const MEBIBYTE: u64 = 1 << 20;
