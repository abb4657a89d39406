//! Load: clients that do the same kind of operation again and again, and how long each took.
//!
//! In a closed loop each client begins its next operation when its last one has ended, as a user does who
//! waits: a slow server is asked less often. In an open loop ([`LoadPlan::rate`]) operations are to begin at
//! times of their own, and what they took is counted from these as well: what users see who do not wait for
//! each other.
//!
//! A kind of load is a file and an implementation of [`Workload`]: [`http`], [`sql`], [`jdbc`], [`command`].
//! What they share is the engine: `engine.rs` has the picture. Threads inherit the network namespace of the
//! one that calls [`run`].
//!
//! Start reading at [`run`].

#![forbid(unsafe_code)]

mod child;
pub mod command;
mod control;
mod engine;
mod error;
pub mod http;
pub mod jdbc;
mod rate;
mod shell;
pub mod sql;
pub mod tables;

pub use control::{LoadProgress, RunControl};
pub use error::LoadError;
pub use rate::{Rate, RateError};
pub use script::QueryMode;

use client::Watch;
use engine::RunContext;
use model::{Distribution, DistributionBuilder, MeasuredDurations};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// What clients do. Its kinds are this module's.
pub trait Workload: Runs + Sync {}

/// What the engine asks of a workload.
pub trait Runs {
    /// Runs it.
    #[doc(hidden)]
    fn run(&self, context: &RunContext<'_>) -> Result<LoadOutcome, LoadError>;
}

/// Runs `workload` as `plan` says and returns when the last client has ended.
///
/// 1. Every client's connection is made, where it lasts longer than one operation.
/// 2. Each client does its operations of the warm-up. When all have, the clock starts for all.
/// 3. A client whose operation failed goes on over another connection after a pause, so that a server that
///    refuses is not flooded. Each attempt to connect that fails is an operation that failed.
///
/// With `watch` every connection is shown to an observer, as a relay would show it.
///
/// # Errors
/// When a client cannot connect at first, or an operation of the warm-up fails: later failures are counted in
/// the outcome. [`LoadError::Script`] when an expression of a script has no value, whenever that happens: the
/// run ends. [`LoadError::Stopped`] when `control` stops the run before the clock starts.
pub fn run(
    workload: &dyn Workload,
    plan: &LoadPlan,
    control: &RunControl,
    watch: Option<&Watch<'_>>,
) -> Result<LoadOutcome, LoadError> {
    let outcome = workload.run(&RunContext::new(plan, control, watch));
    control.fault().map_or(outcome, Err)
}

/// What a client is given when it is made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClientSpec<'a> {
    /// Its number, from 0.
    number: u32,
    /// Of how many.
    clients: u32,
    /// What random values of the run are drawn from.
    seed: u64,
    /// An operation that takes longer has failed.
    timeout: Duration,
    /// Ends waiting early.
    stop: &'a AtomicBool,
}

/// How much load, and how it comes.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadPlan {
    /// Clients at once.
    pub clients: u32,
    /// Threads that drive them; `None` for as many as there are processors, at most one a client.
    pub threads: Option<u32>,
    /// Operations of each client before anything counts.
    pub warm_up: u64,
    /// Ends after this many operations of all clients together, failed ones included.
    pub operations: Option<u64>,
    /// A client ends after this many operations of its own, failed ones included.
    pub operations_per_client: Option<u64>,
    /// Ends after this long; operations in progress are completed and count. With several ends, the first one
    /// applies.
    pub duration: Option<Duration>,
    /// An operation that takes longer has failed.
    pub timeout: Duration,
    /// Open loop: operations are to begin at times of their own (a Poisson process of this rate), whatever
    /// became of those before. `None` for the closed loop.
    pub rate: Option<Rate>,
    /// Clients join evenly over this time.
    pub ramp: Duration,
    /// What random values are drawn from: the same seed, the same values for each client.
    pub seed: u64,
}

/// One client in a closed loop without an end, patient for a minute.
impl Default for LoadPlan {
    fn default() -> Self {
        Self {
            clients: 1,
            threads: None,
            warm_up: 0,
            operations: None,
            operations_per_client: None,
            duration: None,
            timeout: Duration::from_secs(60),
            rate: None,
            ramp: Duration::ZERO,
            seed: 1,
        }
    }
}

/// What came out of a run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LoadOutcome {
    /// The operations that succeeded, each timed from when it really began; `None` if none did. In a closed
    /// loop without ramp their rate is the sum of the clients' own, each counted over the time that client
    /// worked, so that waiting for the last one at the end does not lower it; otherwise it is their number
    /// over `elapsed`.
    pub measured: Option<MeasuredDurations>,
    /// The durations themselves, to be put together with those of other runs.
    pub durations: DistributionBuilder,
    /// Standard deviation of the same durations.
    pub deviation: Option<Duration>,
    /// Open loop: the same operations timed from when they were to begin. What a user waits who does not care
    /// that others are before him.
    pub intended: Option<Distribution>,
    /// Open loop: how much later than intended operations began.
    pub lag: Option<Distribution>,
    /// Open loop: operations that were to begin before the end of the run and never could. They are in no
    /// other figure.
    pub not_begun: u64,
    /// Of each script its operations that succeeded, in the order of the scripts; empty where there is only
    /// one.
    pub scripts: Vec<Distribution>,
    /// Why operations failed, most frequent first. At most [`LoadOutcome::MAX_ERRORS`] texts are
    /// distinguished.
    pub errors: Vec<ErrorCount>,
    /// From the first operation that counts to the end of the last.
    pub elapsed: Duration,
    /// What making all clients took at the beginning, connecting and logging in.
    pub connecting: Duration,
    /// Round trips of all operations, failed ones included: how often a client waited for the server's next
    /// bytes.
    pub turns: u64,
    /// Payload bytes to the server and from it ([`model::Direction::index`]) in all operations; with TLS, of
    /// the plaintext.
    pub payload_bytes: [u64; 2],
    /// Processor time of the threads that drove the clients, in the program and in the kernel on its behalf.
    pub cpu: CpuTime,
    /// How many threads drove them.
    pub threads: u32,
}

/// Processor time. Source: `getrusage(2)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CpuTime {
    /// In the program.
    pub user: Duration,
    /// In the kernel.
    pub system: Duration,
}

/// Operations that failed for one reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorCount {
    /// The reason.
    pub text: String,
    /// How many.
    pub count: u64,
}

impl LoadOutcome {
    /// Error texts that are distinguished; more are counted as [`LoadOutcome::OTHER_ERRORS`].
    pub const MAX_ERRORS: usize = 20;
    /// The text under which all further errors are counted.
    pub const OTHER_ERRORS: &str = "(other errors)";
}
