//! Keeps processors awake while packets are on a link.
//!
//! An idle processor sleeps, and takes 50 to 300 us to wake when a packet arrives (measured on
//! virtual machines, also for a loopback exchange after a pause). On an emulated link every round
//! trip would include this, which a real link does not have. Threads of idle priority prevent the
//! sleep.

use model::Timestamp;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{JoinHandle, Thread};
use std::time::Duration;
use sys::clock::Clock;
use sys::realtime::become_idle;
use sys::signals::block_all_signals;
use sys::{LiveError, OsError};

#[derive(Debug)]
pub(super) struct Awake {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    /// Nanoseconds on the clock; 0 ends the threads.
    until: AtomicU64,
    asleep: AtomicBool,
}

impl Awake {
    pub(super) fn start(clock: Clock) -> Result<Self, LiveError> {
        let shared = Arc::new(Shared {
            until: AtomicU64::new(1),
            asleep: AtomicBool::new(true),
        });
        let mut awake = Self {
            shared,
            threads: Vec::new(),
        };
        for processor in processors().into_iter().take(MAX_PROCESSORS) {
            let shared = Arc::clone(&awake.shared);
            let thread = std::thread::Builder::new()
                .name("longwire awake".to_owned())
                .spawn(move || {
                    block_all_signals();
                    if take_only_what_is_left(processor) {
                        shared.look_busy(clock);
                    }
                })
                .map_err(|error| LiveError::System {
                    operation: "start a thread",
                    reason: OsError::from_io_error(&error),
                })?;
            awake.threads.push(thread);
        }
        Ok(awake)
    }

    pub(super) fn until(&self, due: Timestamp) {
        self.shared
            .until
            .store(due.after(LONGER).as_nanos(), Ordering::Relaxed);
        if self.shared.asleep.load(Ordering::Relaxed) && self.shared.asleep.swap(false, Ordering::AcqRel) {
            self.threads
                .iter()
                .map(JoinHandle::thread)
                .for_each(Thread::unpark);
        }
    }
}

impl Drop for Awake {
    fn drop(&mut self) {
        self.shared.until.store(0, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            thread.thread().unpark();
            thread.join().ok();
        }
    }
}

impl Shared {
    fn look_busy(&self, clock: Clock) {
        loop {
            let until = self.until.load(Ordering::Relaxed);
            if until == 0 {
                return;
            }
            if clock.now().as_nanos() < until {
                for _ in 0..POLLS {
                    std::hint::spin_loop();
                }
                // Under lazy preemption (Linux 6.13) a computing thread is preempted only at the
                // next tick, up to 4 ms later; a thread that leaves a system call is preempted at
                // once.
                std::thread::yield_now();
            } else {
                self.asleep.store(true, Ordering::Release);
                // With a limit: a store between the look and here wakes no thread.
                std::thread::park_timeout(NAP);
            }
        }
    }
}

pub(super) fn processors() -> Vec<usize> {
    sched_getaffinity(None).map_or(Vec::new(), |set| {
        (0..CpuSet::MAX_CPU)
            .filter(|processor| set.is_set(*processor))
            .collect()
    })
}

/// Returns whether binding and idle priority both succeeded.
fn take_only_what_is_left(processor: usize) -> bool {
    let mut set = CpuSet::new();
    set.set(processor);
    become_idle() && sched_setaffinity(None, &set).is_ok()
}

/// Time after the last packet for the hosts' answer.
const LONGER: Duration = Duration::from_millis(20);
/// Takes about a microsecond.
const POLLS: u32 = 20;
const NAP: Duration = Duration::from_millis(50);
/// Enough for the processes of a lab, without all of a large machine.
const MAX_PROCESSORS: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_sleep_wake_and_end() {
        let clock = Clock::anchored_now();
        let awake = Awake::start(clock).unwrap();
        assert!(!awake.threads.is_empty());
        std::thread::sleep(NAP * 2);
        assert!(awake.shared.asleep.load(Ordering::Relaxed));
        awake.until(clock.now().after(Duration::from_secs(3600)));
        std::thread::sleep(NAP * 2);
        assert!(!awake.shared.asleep.load(Ordering::Relaxed));
        drop(awake);
    }
}
