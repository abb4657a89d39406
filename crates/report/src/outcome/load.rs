//! What a load did.

use model::{Distribution, StatementOutcome};
use std::time::Duration;

/// What came out of a load: everything that a view is made from.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LoadReport {
    /// What was asked: the target without its secrets.
    pub target: String,
    /// What one operation is.
    pub work: LoadWork,
    /// Clients at once.
    pub clients: u32,
    /// Threads that drove them.
    pub threads: u32,
    /// Operations that succeeded.
    pub succeeded: u64,
    /// Operations that failed; they are in no other figure but round trips, bytes and processor time.
    pub failed: u64,
    /// Operations that succeeded, per second.
    pub per_second: f64,
    /// Open loop: operations that were to begin per second.
    pub asked_per_second: Option<f64>,
    /// Durations of the operations that succeeded, from when each was to begin where there was a plan of
    /// that.
    pub spread: Distribution,
    /// Open loop: the same from when each really began.
    pub begun: Option<Distribution>,
    /// Standard deviation of the durations, from when each really began.
    pub deviation: Option<Duration>,
    /// Open loop: how much later than they were to begin operations began.
    pub lag: Option<Distribution>,
    /// Open loop: operations that were to begin before the end of the run and never could.
    pub not_begun: u64,
    /// From the first operation to the end of the last.
    pub elapsed: Duration,
    /// What making all clients took before that: connecting and logging in.
    pub connecting: Duration,
    /// Round trips of all operations.
    pub turns: u64,
    /// Payload bytes to the server and from it.
    pub payload_bytes: [u64; 2],
    /// Processor time of the threads that drove the clients, in the program and in the kernel.
    pub processor: [Duration; 2],
    /// Each script, where there are several.
    pub scripts: Vec<LoadScript>,
    /// Why operations failed, most frequent first.
    pub failures: Vec<LoadFailure>,
    /// Statements without their literals, where they were asked for.
    pub statements: Vec<StatementOutcome>,
}

/// What one operation of a load is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoadWork {
    /// A script's run.
    Sql {
        /// The scripts' names.
        scripts: String,
        /// The scale of the tables, where the scripts were given one.
        scale: Option<String>,
        /// How statements were sent, in pgbench's word.
        mode: &'static str,
        /// Whether each operation had its own connection.
        reconnect: bool,
    },
    /// A request.
    Http {
        /// Whether requests of a client shared a connection.
        keep_alive: bool,
    },
}

/// One of several scripts.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LoadScript {
    /// Its file, or what else it is called.
    pub name: String,
    /// How often it is chosen, relative to the others' weights.
    pub weight: u32,
    /// Durations of its operations that succeeded.
    pub spread: Distribution,
}

/// Operations that failed for one reason.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LoadFailure {
    /// The reason.
    pub text: String,
    /// How many.
    pub count: u64,
}

/// What happened since the last line of progress.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct LoadInterval {
    /// Since the run began.
    pub elapsed: Duration,
    /// How long this interval is.
    pub interval: Duration,
    /// Operations that succeeded in it.
    pub succeeded: u64,
    /// Operations that failed in it.
    pub failed: u64,
    /// Mean duration of those that succeeded; `None` if none did.
    pub mean: Option<Duration>,
    /// Standard deviation of the same.
    pub deviation: Option<Duration>,
    /// Open loop: how much later than they were to begin they began, mean.
    pub lag: Option<Duration>,
}
