//! A timer for one thread with nanosecond resolution, reported by a poller.

use crate::error::LiveError;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// Its descriptor becomes readable at expiry, which is not subject to the thread's timer slack
/// (Linux `timerfd_create(2)`).
#[derive(Debug)]
pub struct Timer(OwnedFd);

impl Timer {
    pub fn new() -> Result<Self, LiveError> {
        timerfd_create(
            TimerfdClockId::Monotonic,
            TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK,
        )
        .map(Self)
        .map_err(|error| LiveError::System {
            operation: "create a timer",
            reason: error.into(),
        })
    }

    /// Replaces the previous expiry, at least a nanosecond from now; `None` stops the timer.
    pub fn set(&self, after: Option<Duration>) {
        let after = after.map_or(Duration::ZERO, |after| after.max(Duration::from_nanos(1)));
        let setting = Itimerspec {
            it_interval: Timespec::default(),
            it_value: timespec(after),
        };
        // Valid settings cannot fail.
        timerfd_settime(&self.0, TimerfdTimerFlags::empty(), &setting).ok();
    }
}

/// Saturates at the kernel's maximum.
pub(crate) fn timespec(span: Duration) -> Timespec {
    Timespec::try_from(span).unwrap_or(Timespec {
        tv_sec: i64::MAX,
        tv_nsec: 0,
    })
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
