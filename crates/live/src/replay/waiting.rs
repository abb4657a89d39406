//! Waiting to the microsecond: asleep while there is time, awake at the end.

use crate::error::{LiveError, OsError};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

/// What is left of a wait is spent awake: about what the kernel takes to wake a thread.
pub(super) const AWAKE: Duration = Duration::from_micros(50);

/// Lets timers of this thread end on their nanosecond instead of up to 50 us later (`PR_SET_TIMERSLACK`, prctl(2)).
pub(super) fn be_exact() -> Result<(), LiveError> {
    // SAFETY: takes a number and no pointer.
    let result = unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1_u64) };
    if result < 0 {
        return Err(LiveError::System {
            operation: "make timers exact",
            reason: OsError::last(),
        });
    }
    Ok(())
}

/// Sleeps until `fd` is readable, at most `longest`.
pub(super) fn sleep_until_readable(fd: BorrowedFd<'_>, longest: Duration) {
    let mut entry = libc::pollfd {
        fd: fd.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    let timeout = libc::timespec {
        tv_sec: libc::time_t::try_from(longest.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_nsec: libc::c_long::from(longest.subsec_nanos().cast_signed()),
    };
    // SAFETY: one valid entry, a valid time, no signal mask. An interruption only ends the sleep early.
    unsafe { libc::ppoll(&raw mut entry, 1, &raw const timeout, std::ptr::null()) };
}
