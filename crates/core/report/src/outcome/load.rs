//! Outcome of a load.

use model::{Distribution, PerDirection, SampleTotals, StatementOutcome, Summary};
use serde::Serialize;
use std::time::Duration;

#[derive(Debug, Clone, PartialEq, Default)]
pub struct LoadReport {
    /// The target without secrets.
    pub target: String,
    pub work: LoadWork,
    pub clients: u32,
    pub threads: u32,
    pub succeeded: u64,
    /// Counted only here, in round trips, bytes and processor time.
    pub failed: u64,
    /// The rate of succeeded operations.
    pub per_second: f64,
    /// The requested rate of an open loop.
    pub asked_per_second: Option<f64>,
    /// Durations of succeeded operations; in an open loop since the scheduled start.
    pub spread: Distribution,
    /// In an open loop, durations since the actual start.
    pub begun: Option<Distribution>,
    /// Standard deviation of the durations since the actual start.
    pub deviation: Option<Duration>,
    /// In an open loop, the delay of the actual start after the scheduled one.
    pub lag: Option<Distribution>,
    /// In an open loop, operations that were scheduled before the end of the run and did not start.
    pub not_begun: u64,
    /// From the first operation to the end of the last.
    pub elapsed: Duration,
    /// Time to connect and log in all clients, before the first operation.
    pub connecting: Duration,
    /// Round trips of all operations, failed ones included.
    pub turns: u64,
    /// To the server and from it.
    pub payload_bytes: PerDirection<u64>,
    /// Processor time of the client threads, in user space and in the kernel.
    pub processor: [Duration; 2],
    /// Empty for a single script.
    pub scripts: Vec<LoadScript>,
    /// Reasons of failure, most frequent first.
    pub failures: Vec<LoadFailure>,
    /// Statements without literals. Empty unless they were requested.
    pub statements: Vec<StatementOutcome>,
}

impl LoadReport {
    pub fn summary(&self) -> Summary {
        let begun = self.succeeded + self.failed;
        Summary {
            turns: self.turns,
            connections: u64::from(self.clients),
            operations: self.succeeded,
            payload_bytes: self.payload_bytes,
            duration: self.elapsed,
            spread: self.spread,
            samples: Some(SampleTotals {
                sent: begun,
                answered: begun,
                lost: 0,
                errors: self.failed,
                per_second: self.per_second,
                mdev: self.deviation,
                floor: None,
            }),
            ..Summary::default()
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoadWork {
    Sql {
        scripts: String,
        /// The scale of the tables; `None` if the scripts have none.
        scale: Option<String>,
        /// pgbench's name of the query mode.
        mode: &'static str,
        reconnect: bool,
    },
    Http {
        keep_alive: bool,
    },
}

#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct LoadScript {
    /// The file, or the name of a built-in script.
    pub name: String,
    /// Frequency relative to the other scripts.
    pub weight: u32,
    #[serde(flatten)]
    pub spread: Distribution,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct LoadFailure {
    pub text: String,
    pub count: u64,
}

/// Changes since the previous line of progress.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct LoadInterval {
    /// Since the run began.
    pub elapsed: Duration,
    pub interval: Duration,
    pub succeeded: u64,
    pub failed: u64,
    /// `None` if no operation succeeded.
    pub mean: Option<Duration>,
    pub deviation: Option<Duration>,
    /// In an open loop, the mean delay after the scheduled start.
    pub lag: Option<Duration>,
}
