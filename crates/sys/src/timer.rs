//! An alarm for one thread: nanosecond resolution, reported by its poller.

use crate::error::{LiveError, OsError};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::time::Duration;

/// A timer that makes its descriptor readable. Its expiry is not subject to the thread's timer slack (Linux `timerfd_create(2)`).
#[derive(Debug)]
pub struct Timer(OwnedFd);

impl Timer {
    /// A timer that is not set.
    ///
    /// # Errors
    /// When the system has no descriptor left.
    pub fn new() -> Result<Self, LiveError> {
        // SAFETY: no pointers; the result is checked before it is owned.
        let fd =
            unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_CLOEXEC | libc::TFD_NONBLOCK) };
        if fd < 0 {
            return Err(LiveError::System {
                operation: "create a timer",
                reason: OsError::last(),
            });
        }
        // SAFETY: a new descriptor that nobody else owns.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// Expires once, `after` from now (at least a nanosecond), instead of when it was set to before; never when absent.
    pub fn set(&self, after: Option<Duration>) {
        let after = after.map_or(Duration::ZERO, |after| after.max(Duration::from_nanos(1)));
        let zero = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let setting = libc::itimerspec {
            it_interval: zero,
            it_value: libc::timespec {
                tv_sec: libc::time_t::try_from(after.as_secs()).unwrap_or(libc::time_t::MAX),
                tv_nsec: after.subsec_nanos().into(),
            },
        };
        // SAFETY: `setting` is valid for the call; the old setting is not asked for. Valid settings cannot fail.
        unsafe { libc::timerfd_settime(self.0.as_raw_fd(), 0, &raw const setting, std::ptr::null_mut()) };
    }
}

impl AsFd for Timer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::poller::{Poller, ReadyList};
    use std::time::Instant;

    #[test]
    fn it_wakes_a_poller_each_time_it_is_set_and_never_too_soon() {
        let (timer, poller) = (Timer::new().expect("a timer"), Poller::new().expect("a poller"));
        poller.watch(timer.as_fd(), 7).expect("watched");
        let mut ready = ReadyList::default();
        for _ in 0..3 {
            let began = Instant::now();
            timer.set(Some(Duration::from_millis(3)));
            poller.wait(&mut ready, Some(Duration::from_secs(20)));
            assert_eq!(ready.iter().map(|ready| ready.token).collect::<Vec<_>>(), [7]);
            assert!(began.elapsed() >= Duration::from_millis(3));
        }
        timer.set(None);
        poller.wait(&mut ready, Some(Duration::from_millis(5)));
        assert_eq!(ready.iter().count(), 0);
    }
}
