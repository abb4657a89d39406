//! Load: clients that do the same operation again and again, and how long each took.
//!
//! The loop is closed: each client begins its next operation when its last one has ended, as a user does who waits. So
//! a slow server is asked less often; what users who do not wait would see is another figure.
//!
//! A kind of load is a file and an implementation of [`Workload`]: [`http`], [`sql`], [`command`]. Each client is a
//! thread with blocking sockets of its own. Threads inherit the network namespace of the one that calls [`run`].
//!
//! Start reading at [`run`].

mod child;
mod closed_loop;
pub mod command;
mod conversation;
mod error;
pub mod http;
pub mod sql;

pub use closed_loop::run;
pub use error::LoadError;

use model::Measured;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::{Duration, Instant};

/// What clients do.
pub trait Workload: Sync {
    /// A new client. Connects where its connection lasts longer than one operation.
    ///
    /// # Errors
    /// When it cannot be made, or cannot connect or log in.
    fn client<'a>(&'a self, birth: &Birth<'a>) -> Result<Box<dyn Client + 'a>, LoadError>;
}

/// One client.
pub trait Client {
    /// One operation; returns how long it took: from before its first byte was sent (or its connection begun) until
    /// right after the read that brought its last byte.
    ///
    /// # Errors
    /// When it failed. The client is not used again: another one takes its place.
    fn operate(&mut self) -> Result<Duration, LoadError>;
}

/// What a client is told when it is made.
#[derive(Debug, Clone, Copy)]
pub struct Birth<'a> {
    /// Its number, from 0.
    pub number: u32,
    /// What its random values are drawn from; different for every client.
    pub seed: u64,
    /// An operation that takes longer has failed.
    pub timeout: Duration,
    /// Ends waiting early.
    pub control: &'a Control,
}

/// How much load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Clients at once.
    pub clients: u32,
    /// Operations of each client before anything counts.
    pub warm_up: u64,
    /// Ends after so many operations of all clients together, failed ones included.
    pub operations: Option<u64>,
    /// Ends after so long; operations under way are completed and count. With both, what comes first.
    pub duration: Option<Duration>,
    /// An operation that takes longer has failed.
    pub timeout: Duration,
    /// What random values are drawn from: the same seed, the same values for each client.
    pub seed: u64,
}

/// Watches and ends a run from another thread.
#[derive(Debug, Default)]
pub struct Control {
    /// Set to end the run soon: operations under way fail, uncounted.
    pub stop: AtomicBool,
    /// Operations done so far, failed ones included.
    pub done: AtomicU64,
}

/// What came out of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadOutcome {
    /// The operations that succeeded; absent when none did. Their rate is the sum of the clients' own, each counted
    /// over the time that client worked, so that waiting for the last one at the end does not lower it.
    pub measured: Option<Measured>,
    /// Why operations failed, most frequent first. At most [`LoadOutcome::MOST_ERRORS`] texts are told apart.
    pub errors: Vec<ErrorCount>,
    /// From the first operation that counts to the end of the last.
    pub elapsed: Duration,
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
    /// Error texts told apart; more are counted as [`LoadOutcome::OTHER_ERRORS`].
    pub const MOST_ERRORS: usize = 20;
    /// The text under which all further errors are counted.
    pub const OTHER_ERRORS: &str = "(other errors)";
}

/// When the operation under way has failed for taking too long.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deadline {
    at: Instant,
    timeout: Duration,
}

impl Deadline {
    pub(crate) fn after(timeout: Duration) -> Self {
        let now = Instant::now();
        Self {
            at: now.checked_add(timeout).unwrap_or(now + LONGEST),
            timeout,
        }
    }

    /// What is left of it.
    pub(crate) fn left(&self) -> Result<Duration, LoadError> {
        match self.at.checked_duration_since(Instant::now()) {
            Some(left) if !left.is_zero() => Ok(left),
            _ => Err(LoadError::TimedOut { after: self.timeout }),
        }
    }
}

/// A timeout beyond what the clock can tell.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);
