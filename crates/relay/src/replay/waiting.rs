//! Waiting to the microsecond: asleep while there is time, awake at the end.

use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

/// What is left of a wait is spent awake: about what the kernel takes to wake a thread.
pub(super) const AWAKE: Duration = Duration::from_micros(50);

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
