//! The engine that drives clients.
//!
//! Most clients are state machines ([`machine::Machine`]), many per thread, in an event loop
//! ([`driver`], [`multiplexed`]). Clients that block (commands; a login per operation) have a
//! thread each ([`threaded`]). Both take operations from one [`shared_run`] and count them in
//! [`sums`].

mod arrivals;
pub(crate) mod blocking_reads;
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

use super::{ClientSpec, Error, Plan, RunControl};
use model::ConnectionId;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use sys::StopToken;

pub struct RunContext<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) control: &'a RunControl,
    pub(crate) watch: Option<&'a Watch<'a>>,
    connections: AtomicU32,
}

impl<'a> RunContext<'a> {
    pub(crate) const fn new(plan: &'a Plan, control: &'a RunControl, watch: Option<&'a Watch<'a>>) -> Self {
        Self {
            plan,
            control,
            watch,
            connections: AtomicU32::new(0),
        }
    }

    pub(crate) fn next_id(&self) -> ConnectionId {
        ConnectionId(self.connections.fetch_add(1, Ordering::Relaxed))
    }

    pub(crate) fn check_stopped(&self) -> Result<(), Error> {
        if self.control.is_stopped() {
            Err(Error::Stopped)
        } else {
            Ok(())
        }
    }

    /// Returns early if the run is stopped.
    pub(crate) fn sleep(&self, pause: Duration) -> Result<(), Error> {
        match self.control.stop.wait_timeout(pause) {
            true => Err(Error::Stopped),
            false => Ok(()),
        }
    }

    fn clients(&self) -> u32 {
        self.plan.clients.max(1)
    }

    fn birth(&'a self, number: u32, stop: &'a StopToken) -> ClientSpec<'a> {
        ClientSpec {
            number,
            clients: self.clients(),
            seed: self.plan.seed,
            timeout: self.plan.timeout,
            stop,
        }
    }

    fn birth_ahead(&'a self, number: u32, stop: &'a StopToken) -> ClientSpec<'a> {
        ClientSpec {
            timeout: self.plan.timeout.max(MIN_CONNECT_TIMEOUT),
            ..self.birth(number, stop)
        }
    }
}

/// Minimum timeout of connections made before operations.
const MIN_CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// A read that blocks ends after this, to check for the timeout of its operation.
pub(crate) const READ_TIMEOUT: Duration = Duration::from_millis(200);

/// Between a failed operation and the client's next connection, so that a refusing server is not
/// flooded.
const PAUSE_AFTER_ERROR: Duration = Duration::from_millis(10);
