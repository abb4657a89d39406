//! The engine: what drives clients, whatever they do.
//!
//! Most clients are state machines ([`machine::Machine`]), many to a thread, each thread an event loop
//! ([`driver`]): the [`multiplexed`]. Those that have to block (commands; a login in every operation) have a
//! thread each: [`threaded`]. Both take their operations from the same [`shared_run`] and count them in the
//! same [`sums`].

mod arrivals;
pub(crate) mod connection;
mod driver;
pub(crate) mod machine;
pub(crate) mod multiplexed;
mod processor;
mod shared_run;
mod slot;
mod sums;
pub(crate) mod threaded;

use client::Watch;

use super::{ClientSpec, LoadError, LoadPlan, RunControl};
use model::ConnectionId;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

/// What a run stands on.
pub struct RunContext<'a> {
    pub(crate) plan: &'a LoadPlan,
    pub(crate) control: &'a RunControl,
    pub(crate) watch: Option<&'a Watch<'a>>,
    /// Connections so far.
    connections: AtomicU32,
}

impl<'a> RunContext<'a> {
    pub(crate) const fn new(
        plan: &'a LoadPlan,
        control: &'a RunControl,
        watch: Option<&'a Watch<'a>>,
    ) -> Self {
        Self {
            plan,
            control,
            watch,
            connections: AtomicU32::new(0),
        }
    }

    /// The number of the next connection.
    pub(crate) fn next_id(&self) -> ConnectionId {
        ConnectionId(self.connections.fetch_add(1, Ordering::Relaxed))
    }

    /// # Errors
    /// [`LoadError::Stopped`].
    pub(crate) fn check_stopped(&self) -> Result<(), LoadError> {
        if self.control.is_stopped() {
            Err(LoadError::Stopped)
        } else {
            Ok(())
        }
    }

    /// Sleeps, but looks every [`POLL_INTERVAL`] whether the run is to end.
    ///
    /// # Errors
    /// [`LoadError::Stopped`].
    pub(crate) fn sleep(&self, pause: Duration) -> Result<(), LoadError> {
        let mut left = pause;
        while !left.is_zero() {
            self.check_stopped()?;
            let part = left.min(POLL_INTERVAL);
            std::thread::sleep(part);
            left -= part;
        }
        Ok(())
    }

    /// How many clients there are.
    fn clients(&self) -> u32 {
        self.plan.clients.max(1)
    }

    /// What client `number` is given when it is made; it gives up when `stop` is set.
    fn birth(&'a self, number: u32, stop: &'a AtomicBool) -> ClientSpec<'a> {
        ClientSpec {
            number,
            clients: self.clients(),
            seed: self.plan.seed,
            timeout: self.plan.timeout,
            stop,
        }
    }

    /// As [`RunContext::birth`], for a connection ahead of operations.
    fn birth_ahead(&'a self, number: u32, stop: &'a AtomicBool) -> ClientSpec<'a> {
        ClientSpec {
            timeout: self.plan.timeout.max(MIN_CONNECT_TIMEOUT),
            ..self.birth(number, stop)
        }
    }
}

/// A connection that is made ahead of operations may take this long, whatever the operations may take.
const MIN_CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How long is waited before looking whether something took too long, or the run was ended.
pub(crate) const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Between a failed operation and the next connection of that client, so that a server that refuses is not
/// flooded.
const PAUSE_AFTER_ERROR: Duration = Duration::from_millis(10);
