//! Processor time of a thread.

use super::super::CpuTime;
use std::time::Duration;

/// What the calling thread has used so far. Source: `getrusage(2)` with `RUSAGE_THREAD`; Linux counts in nanoseconds and tells
/// microseconds.
pub(crate) fn of_this_thread() -> CpuTime {
    // SAFETY: all-zero is a valid rusage, and the call writes no further than its end. It cannot fail for this thread.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage);
        usage
    };
    CpuTime {
        user: span(usage.ru_utime),
        system: span(usage.ru_stime),
    }
}

impl CpuTime {
    /// What came since `earlier`.
    pub(crate) fn since(self, earlier: Self) -> Self {
        Self {
            user: self.user.saturating_sub(earlier.user),
            system: self.system.saturating_sub(earlier.system),
        }
    }
}

fn span(time: libc::timeval) -> Duration {
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let microseconds = u64::try_from(time.tv_usec).unwrap_or(0);
    Duration::from_secs(seconds) + Duration::from_micros(microseconds)
}
