//! What the threads of a run share: when it begins, and whether there is one more operation to do.

use super::RunContext;
use crate::{LoadError, LoadPlan, RunControl};
use model::ConnectionId;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// The course of a run.
pub(crate) struct SharedRun<'a> {
    context: &'a RunContext<'a>,
    barrier: Mutex<WarmUpBarrier>,
    opened: Condvar,
    started: OnceLock<Instant>,
    /// Operations begun.
    tickets: AtomicU64,
}

/// Where threads that are warm wait for the others.
struct WarmUpBarrier {
    /// Threads that have not come yet.
    missing: usize,
    /// One of them could not be made, or its clients not warmed up: no client begins.
    failed: bool,
}

impl<'a> SharedRun<'a> {
    /// A run in which `threads` threads take part.
    pub fn new(context: &'a RunContext<'a>, threads: usize) -> Self {
        Self {
            context,
            barrier: Mutex::new(WarmUpBarrier {
                missing: threads,
                failed: false,
            }),
            opened: Condvar::new(),
            started: OnceLock::new(),
            tickets: AtomicU64::new(0),
        }
    }

    pub fn context(&self) -> &'a RunContext<'a> {
        self.context
    }

    pub fn plan(&self) -> &'a LoadPlan {
        self.context.plan
    }

    pub fn control(&self) -> &'a RunControl {
        self.context.control
    }

    /// The number of the next connection.
    pub fn next_id(&self) -> ConnectionId {
        self.context.next_id()
    }

    /// Waits until all threads are warm and returns when the clock was started for all; `None` if one of them
    /// failed. Every thread calls it exactly once, or is left out.
    pub fn start(&self, succeeded: bool) -> Option<Instant> {
        let mut barrier = self.barrier.lock().unwrap_or_else(PoisonError::into_inner);
        barrier.missing = barrier.missing.saturating_sub(1);
        barrier.failed |= !succeeded;
        self.opened.notify_all();
        let closed = |barrier: &mut WarmUpBarrier| barrier.missing > 0;
        let barrier = self
            .opened
            .wait_while(barrier, closed)
            .unwrap_or_else(PoisonError::into_inner);
        (!barrier.failed).then(|| *self.started.get_or_init(Instant::now))
    }

    /// A thread could not be made.
    pub fn leave_out(&self) {
        let mut barrier = self.barrier.lock().unwrap_or_else(PoisonError::into_inner);
        barrier.missing = barrier.missing.saturating_sub(1);
        barrier.failed = true;
        self.opened.notify_all();
    }

    /// When the clock was started; `None` before.
    pub fn started(&self) -> Option<Instant> {
        self.started.get().copied()
    }

    /// When no more operations begin; `None` if that is not a matter of time.
    pub fn end(&self) -> Option<Instant> {
        self.started()?.checked_add(self.plan().duration?)
    }

    /// When client `number` joins.
    pub fn joins(&self, number: u32, started: Instant) -> Instant {
        let share = self.plan().ramp.as_nanos() * u128::from(number) / u128::from(self.context.clients());
        let after = Duration::from_nanos(u64::try_from(share).unwrap_or(u64::MAX));
        started.checked_add(after).unwrap_or(started)
    }

    /// Whether there is one more operation to do; takes it.
    pub fn goes_on(&self) -> bool {
        let in_time = self.end().is_none_or(|end| Instant::now() < end);
        in_time && self.check_stopped().is_ok() && self.takes_one()
    }

    /// As [`SharedRun::goes_on`], of operations that are counted alone.
    pub fn takes_one(&self) -> bool {
        let most = self.plan().operations;
        most.is_none_or(|most| self.tickets.fetch_add(1, Ordering::Relaxed) < most)
    }

    /// # Errors
    /// [`LoadError::Stopped`].
    pub fn check_stopped(&self) -> Result<(), LoadError> {
        self.context.check_stopped()
    }
}
