//! The forwarder's thread: how it waits, and how the system is asked to wake it in time.

use model::Timestamp;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

/// What is waited for: descriptors that become readable.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    entries: Vec<libc::pollfd>,
}

impl Waiting {
    /// Waits for `fd` too, from now on. It must stay open for as long as this is used.
    pub(super) fn add(&mut self, fd: BorrowedFd<'_>) {
        self.entries.push(libc::pollfd {
            fd: fd.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        });
    }

    /// Waits until one is readable, at most `longest` (for ever when absent).
    pub(super) fn wait(&mut self, longest: Option<Duration>) {
        let span = longest.map(|span| libc::timespec {
            tv_sec: libc::time_t::try_from(span.as_secs()).unwrap_or(libc::time_t::MAX),
            tv_nsec: libc::c_long::from(span.subsec_nanos()),
        });
        let timeout = span.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        let count = self.entries.len() as libc::nfds_t;
        // SAFETY: the entries are valid for the call, the timeout is null or a valid span, no signal mask is given.
        let ready = unsafe { libc::ppoll(self.entries.as_mut_ptr(), count, timeout, std::ptr::null()) };
        if ready <= 0 {
            self.entries.iter_mut().for_each(|entry| entry.revents = 0);
        }
    }

    /// Whether the descriptor added as number `index` was readable.
    pub(super) fn is_ready(&self, index: usize) -> bool {
        self.entries.get(index).is_some_and(|entry| entry.revents != 0)
    }
}

/// How long to wait for `due`: the system wakes a thread some time after the moment asked for, so that it is asked for
/// an earlier one, and the rest is spent looking.
pub(super) fn until(due: Timestamp, now: Timestamp) -> Duration {
    due.since(now).saturating_sub(LOOKING)
}

/// Longer than the system usually takes to wake a thread.
const LOOKING: Duration = Duration::from_micros(60);
