//! Processor time of a thread or of this process.

use std::time::Duration;

#[derive(Debug, Clone, Copy)]
pub enum Of {
    Thread,
    /// Includes threads that have ended.
    Process,
}

/// User and system time (Linux `getrusage(2)`), with microsecond resolution.
pub fn processor_time(of: Of) -> Duration {
    let [user, system] = user_and_system_time(of);
    user + system
}

pub fn user_and_system_time(of: Of) -> [Duration; 2] {
    let who = match of {
        Of::Thread => libc::RUSAGE_THREAD,
        Of::Process => libc::RUSAGE_SELF,
    };
    // SAFETY: all-zero is a valid rusage, which the kernel fills. The call cannot fail for these two.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(who, &raw mut usage);
        usage
    };
    [span(usage.ru_utime), span(usage.ru_stime)]
}

fn span(time: libc::timeval) -> Duration {
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let micros = u64::try_from(time.tv_usec).unwrap_or(0);
    Duration::from_secs(seconds) + Duration::from_micros(micros)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_takes_processor_time() {
        let before = processor_time(Of::Thread);
        let mut sum: u64 = 0;
        while processor_time(Of::Thread) == before {
            sum = (0..10_000).fold(sum, |sum, number| sum.wrapping_mul(31).wrapping_add(number));
        }
        assert!(processor_time(Of::Process) >= processor_time(Of::Thread), "{sum}");
    }
}
