//! Stops a run from other threads and from signal handlers.

use crate::error::{LiveError, OsError};
use crate::poller::{Poller, Waker};
use crate::wait::{PollFlags, wait_for};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A flag that wakes who waits for it. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct StopToken(Option<Arc<Shared>>);

#[derive(Debug)]
struct Shared {
    is_stopped: AtomicBool,
    waker: Waker,
    parent: StopToken,
}

/// Stops its token when dropped.
#[derive(Debug)]
pub struct StopAtDrop(StopToken);

impl Drop for StopAtDrop {
    fn drop(&mut self) {
        self.0.stop();
    }
}

impl StopToken {
    /// # Errors
    /// If the system refuses an eventfd.
    pub fn new() -> Result<Self, LiveError> {
        Self::never().child()
    }

    /// One that nothing stops.
    pub const fn never() -> Self {
        Self(None)
    }

    /// Stops with this one, or alone.
    ///
    /// # Errors
    /// If the system refuses an eventfd.
    pub fn child(&self) -> Result<Self, LiveError> {
        Ok(Self(Some(Arc::new(Shared {
            is_stopped: AtomicBool::new(false),
            waker: Waker::new()?,
            parent: self.clone(),
        }))))
    }

    /// One that these signals stop.
    ///
    /// # Errors
    /// If the system refuses an eventfd or a handler.
    pub fn on_signals(signals: &[libc::c_int]) -> Result<Self, LiveError> {
        let token = Self::new()?;
        token.stop_on_signals(signals)?;
        Ok(token)
    }

    /// Signals stop it too.
    ///
    /// # Errors
    /// If the system refuses a handler.
    pub fn stop_on_signals(&self, signals: &[libc::c_int]) -> Result<(), LiveError> {
        for signal in signals {
            let token = self.clone();
            // SAFETY: the handler stores to an atomic and writes to an eventfd: no memory, locks or errno.
            unsafe { signal_hook::low_level::register(*signal, move || token.stop()) }.map_err(|error| {
                LiveError::System {
                    operation: "watch for a signal",
                    reason: OsError::from_io_error(&error),
                }
            })?;
        }
        Ok(())
    }

    pub fn stop_at_drop(&self) -> StopAtDrop {
        StopAtDrop(self.clone())
    }

    /// Allowed in a signal handler.
    pub fn stop(&self) {
        if let Some(shared) = &self.0 {
            shared.is_stopped.store(true, Ordering::Release);
            shared.waker.wake();
        }
    }

    /// Lets it be stopped again, by itself.
    pub fn reset(&self) {
        if let Some(shared) = &self.0 {
            shared.is_stopped.store(false, Ordering::Release);
            shared.waker.reset();
        }
    }

    pub fn is_stopped(&self) -> bool {
        self.with_parents()
            .any(|shared| shared.is_stopped.load(Ordering::Acquire))
    }

    /// Waits for the stop.
    pub fn wait(&self) {
        while !self.wait_timeout(A_DAY) {}
    }

    /// Waits for the stop, at most `longest`. Returns whether it came.
    pub fn wait_timeout(&self, longest: Duration) -> bool {
        let began = Instant::now();
        loop {
            let left = longest.saturating_sub(began.elapsed());
            if self.is_stopped() || left.is_zero() {
                return self.is_stopped();
            }
            self.until_readable([], left);
        }
    }

    /// As [`StopToken::wait_timeout`], until `when`.
    pub fn wait_until(&self, when: Instant) -> bool {
        self.wait_timeout(when.saturating_duration_since(Instant::now()))
    }

    /// As [`crate::wait::until_ready`]; a stop ends it early.
    pub fn until_ready(&self, fd: BorrowedFd<'_>, events: PollFlags, longest: Duration) -> bool {
        wait_for([Some(fd)], events, self.fds(), longest) == [true]
    }

    /// As [`crate::wait::until_readable`]; a stop ends it early.
    pub fn until_readable<const N: usize>(
        &self,
        fds: [Option<BorrowedFd<'_>>; N],
        longest: Duration,
    ) -> [bool; N] {
        wait_for(fds, PollFlags::IN, self.fds(), longest)
    }

    /// Wakes `poller` once with `token`, also for a stop that came before.
    ///
    /// # Errors
    /// If the system refuses to watch for it.
    pub fn wake_poller(&self, poller: &Poller, token: u64) -> Result<(), LiveError> {
        self.with_parents()
            .try_for_each(|shared| poller.register_waker(&shared.waker, token))
    }

    /// One of them is readable from the stop on.
    fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.with_parents().map(|shared| shared.waker.as_fd())
    }

    fn with_parents(&self) -> impl Iterator<Item = &Shared> {
        std::iter::successors(self.0.as_deref(), |shared| shared.parent.0.as_deref())
    }
}

const A_DAY: Duration = Duration::from_secs(24 * 3600);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::poller::ReadyList;

    const LONG: Duration = Duration::from_secs(3600);

    #[test]
    fn a_wait_ends_with_the_stop_whichever_is_first() {
        let token = StopToken::new().expect("an eventfd");
        assert!(!token.wait_timeout(Duration::from_millis(1)) && !token.is_stopped());
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| token.wait_timeout(LONG));
            token.stop();
            assert!(waiting.join().expect("it ends"));
        });
        assert!(token.clone().wait_timeout(LONG) && token.wait_timeout(LONG));
        token.reset();
        assert!(!token.wait_timeout(Duration::from_millis(1)));
    }

    #[test]
    fn a_child_stops_with_its_parent_and_a_parent_without_its_child() {
        let parent = StopToken::new().expect("an eventfd");
        let (one, other) = (parent.child().expect("a child"), parent.child().expect("a child"));
        let grandchild = other.child().expect("a child");
        one.stop();
        assert!(one.wait_timeout(LONG));
        assert!(!parent.is_stopped() && !other.is_stopped());
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| grandchild.wait_timeout(LONG));
            parent.stop();
            assert!(waiting.join().expect("it ends"));
        });
        assert!(other.is_stopped());
    }

    #[test]
    fn what_nothing_stops_waits_its_time_and_has_children_that_stop() {
        let never = StopToken::never();
        never.stop();
        assert!(!never.wait_timeout(Duration::from_millis(1)));
        let child = never.child().expect("an eventfd");
        child.stop();
        assert!(child.wait_timeout(LONG) && !never.is_stopped());
    }

    #[test]
    fn a_poller_wakes_also_when_the_stop_came_before_it_watched() {
        for stops_before in [true, false] {
            let token = StopToken::new().expect("an eventfd").child().expect("a child");
            let poller = Poller::new().expect("a poller");
            if stops_before {
                token.stop();
            }
            token.wake_poller(&poller, 7).expect("watched");
            token.stop();
            let mut ready = ReadyList::default();
            poller.wait(&mut ready, Some(LONG));
            assert_eq!(ready.iter().map(|event| event.token).collect::<Vec<_>>(), [7]);
        }
    }

    #[test]
    fn a_signal_stops_it() {
        let token = StopToken::on_signals(&[libc::SIGUSR2]).expect("a handler");
        assert!(!token.is_stopped());
        crate::signals::send(std::process::id() as libc::pid_t, libc::SIGUSR2);
        assert!(token.wait_timeout(LONG));
    }
}
