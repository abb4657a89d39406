//! Clients that repeat an operation, with the duration of each.
//!
//! In a closed loop a client starts its next operation when the last one has ended: a slow server
//! receives fewer requests. In an open loop ([`Plan::rate`]) operations have scheduled start
//! times, and durations are also counted from these, as independent users see them.
//!
//! Each kind of load is a file that implements [`Workload`]: [`http`], [`sql`], [`jdbc`],
//! [`command`]. Threads inherit the network namespace of the caller of [`run`].
//!
//! Start reading at [`run`], then `engine.rs`.

#![forbid(unsafe_code)]

mod child;
pub mod command;
mod control;
mod engine;
mod error;
pub mod http;
pub mod jdbc;
mod on_thread;
mod rate;
pub mod script;
mod shell;
pub mod sql;
pub mod tables;

pub use control::{Progress, RunControl};
pub use error::Error;
pub use on_thread::run_on_thread;
pub use rate::{Rate, RateError};
pub use script::QueryMode;

use client::Watch;
use engine::RunContext;
use engine::multiplexed::no_thread;
use model::{Distribution, DistributionBuilder, MeasuredDurations, PerDirection};
use std::time::Duration;
use sys::StopToken;

/// Implemented only in this crate.
pub trait Workload: Runs + Sync {}

pub trait Runs {
    #[doc(hidden)]
    fn run(&self, context: &RunContext<'_>) -> Result<Outcome, Error>;
}

/// Runs `workload` as planned and returns when the last client has ended.
///
/// - Connects every client, unless each operation has a new connection.
/// - Runs the warm-up operations of each client, then starts the clock for all.
/// - After a failed operation a client pauses and reconnects, so that a refusing server is not flooded.
///   Each failed attempt to connect counts as a failed operation.
///
/// With `watch` an observer sees every connection, as it would through a relay.
///
/// # Errors
/// Fails if a client cannot connect at first, or a warm-up operation fails; later failures are
/// counted. Fails with [`Error::Script`] at any time if an expression of a script has no value,
/// and with [`Error::Stopped`] if `control` stops the run before the clock starts.
pub fn run(
    workload: &dyn Workload,
    plan: &Plan,
    control: &RunControl,
    watch: Option<&Watch<'_>>,
) -> Result<Outcome, Error> {
    let over = control.stop.child()?;
    let outcome = std::thread::scope(|scope| {
        let _ended = over.stop_at_drop();
        std::thread::Builder::new()
            .name("load stop".to_owned())
            .spawn_scoped(scope, || {
                over.wait();
                control.blocking_reads.end();
            })
            .map_err(|error| no_thread(&error))?;
        workload.run(&RunContext::new(plan, control, watch))
    });
    control.fault().map_or(outcome, Err)
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct ClientSpec<'a> {
    number: u32,
    clients: u32,
    seed: u64,
    /// Longer operations count as failed.
    timeout: Duration,
    stop: &'a StopToken,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    pub clients: u32,
    /// By default one per processor, at most one per client.
    pub threads: Option<u32>,
    /// Uncounted operations of each client.
    pub warm_up: u64,
    /// Maximum operations of all clients, including failed ones.
    pub operations: Option<u64>,
    /// Maximum operations of each client, including failed ones.
    pub operations_per_client: Option<u64>,
    /// Ends after this time; operations in progress complete and count. With several limits, the
    /// first one applies.
    pub duration: Option<Duration>,
    /// Longer operations count as failed.
    pub timeout: Duration,
    /// Rate of the Poisson process of start times; `None` for a closed loop.
    pub rate: Option<Rate>,
    /// Clients join evenly over this time.
    pub ramp: Duration,
    /// The same seed yields the same random values for each client.
    pub seed: u64,
}

/// One client in an endless closed loop, with a timeout of one minute.
impl Default for Plan {
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

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Outcome {
    /// Successful operations, timed from their real start; `None` if there are none. In a closed
    /// loop without ramp the rate is the sum of the clients' rates, each over the time the client
    /// worked, so that waiting for the last client does not lower it. Otherwise it is the count
    /// divided by `elapsed`.
    pub measured: Option<MeasuredDurations>,
    /// To be merged with those of other runs.
    pub durations: DistributionBuilder,
    pub deviation: Option<Duration>,
    /// Operations of an open loop, timed from their intended start, as independent users see them.
    pub intended: Option<Distribution>,
    /// Delay of starts in an open loop against the intended times.
    pub lag: Option<Distribution>,
    /// Operations of an open loop that never started before the end of the run. Included in no
    /// other figure.
    pub not_begun: u64,
    /// Successful operations per script, in the order of the scripts; empty for a single script.
    pub scripts: Vec<Distribution>,
    /// Reasons of failures, most frequent first. At most [`Outcome::MAX_ERRORS`] distinct
    /// texts.
    pub errors: Vec<ErrorCount>,
    /// From the first counted operation to the end of the last.
    pub elapsed: Duration,
    /// Time to connect and log in all clients at the beginning.
    pub connecting: Duration,
    /// Round trips of all operations, including failed ones: waits of a client for the server's
    /// next bytes.
    pub turns: u64,
    /// Payload bytes to and from the server ([`model::Direction::index`]) in all operations; of the
    /// plaintext with TLS.
    pub payload_bytes: PerDirection<u64>,
    /// Processor time of the client threads.
    pub cpu: CpuTime,
    pub threads: u32,
}

/// Processor time as reported by `getrusage(2)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CpuTime {
    pub user: Duration,
    pub system: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorCount {
    pub text: String,
    pub count: u64,
}

impl Outcome {
    pub const MAX_ERRORS: usize = 20;
    pub const OTHER_ERRORS: &str = "(other errors)";
}
