//! State shared by the threads of a run: the common start, and the remaining operations.

use super::RunContext;
use crate::{Error, Plan, RunControl};
use model::ConnectionId;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

pub(crate) struct SharedRun<'a> {
    context: &'a RunContext<'a>,
    barrier: Mutex<WarmUpBarrier>,
    opened: Condvar,
    started: OnceLock<Instant>,
    tickets: AtomicU64,
}

/// Warm threads wait here for the others.
struct WarmUpBarrier {
    /// Threads that have not arrived.
    missing: usize,
    /// A thread could not start or warm up, so no client begins.
    failed: bool,
}

impl<'a> SharedRun<'a> {
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

    pub fn plan(&self) -> &'a Plan {
        self.context.plan
    }

    pub fn control(&self) -> &'a RunControl {
        self.context.control
    }

    pub fn next_id(&self) -> ConnectionId {
        self.context.next_id()
    }

    /// Waits until all threads are warm and returns the start of the clock; `None` if a thread
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
        (!barrier.failed).then(|| *self.started.get_or_init(|| self.control().start()))
    }

    pub fn leave_out(&self) {
        let mut barrier = self.barrier.lock().unwrap_or_else(PoisonError::into_inner);
        barrier.missing = barrier.missing.saturating_sub(1);
        barrier.failed = true;
        self.opened.notify_all();
    }

    /// `None` before the start.
    pub fn started(&self) -> Option<Instant> {
        self.started.get().copied()
    }

    /// After this, no operation begins; `None` without a time limit.
    pub fn end(&self) -> Option<Instant> {
        self.started()?.checked_add(self.plan().duration?)
    }

    pub fn joins(&self, number: u32, started: Instant) -> Instant {
        let share = self.plan().ramp.as_nanos() * u128::from(number) / u128::from(self.context.clients());
        let after = Duration::from_nanos(u64::try_from(share).unwrap_or(u64::MAX));
        started.checked_add(after).unwrap_or(started)
    }

    /// Claims one more operation; returns whether there is one.
    pub fn goes_on(&self) -> bool {
        let in_time = self.end().is_none_or(|end| Instant::now() < end);
        in_time && self.check_stopped().is_ok() && self.takes_one()
    }

    /// As [`SharedRun::goes_on`], but limited by count only.
    pub fn takes_one(&self) -> bool {
        let most = self.plan().operations;
        most.is_none_or(|most| self.tickets.fetch_add(1, Ordering::Relaxed) < most)
    }

    pub fn check_stopped(&self) -> Result<(), Error> {
        self.context.check_stopped()
    }
}
