//! How the forwarder's thread waits and wakes in time.

use model::Timestamp;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

#[derive(Default)]
pub(super) struct Waiting {
    fds: Vec<Arc<dyn AsFd + Send + Sync>>,
    ready: Vec<bool>,
}

impl Waiting {
    pub(super) fn add(&mut self, fd: Arc<dyn AsFd + Send + Sync>) {
        self.fds.push(fd);
        self.ready.push(false);
    }

    /// Waits at most `longest`, or forever.
    pub(super) fn wait(&mut self, longest: Option<Duration>) {
        // A span too long for the kernel is forever.
        let longest = longest.and_then(|span| Timespec::try_from(span).ok());
        let fds = self.fds.iter().map(|fd| fd.as_fd());
        let mut polled: Vec<PollFd<'_>> = fds
            .map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN))
            .collect();
        let has_any = poll(&mut polled, longest.as_ref()).is_ok_and(|count| count > 0);
        for (ready, polled) in self.ready.iter_mut().zip(polled) {
            *ready = has_any && !polled.revents().is_empty();
        }
    }

    pub(super) fn is_ready(&self, index: usize) -> bool {
        self.ready.get(index).is_some_and(|ready| *ready)
    }
}

/// The system wakes a thread late, so the wake-up is set earlier and the rest is spent spinning,
/// for at most an eighth of the time, since it takes a core from the hosts. On a busy link, packets
/// due close together are then delivered together.
#[derive(Debug, Default)]
pub(super) struct Looking {
    /// Time that may be spent spinning.
    saved: Duration,
    asked: Timestamp,
    looks: bool,
}

impl Looking {
    /// How long to wait at `now`, or forever.
    pub(super) fn until(&mut self, due: Option<Timestamp>, now: Timestamp) -> Option<Duration> {
        let passed = now.since(std::mem::replace(&mut self.asked, now));
        self.saved = if self.looks {
            self.saved.saturating_sub(passed)
        } else {
            (self.saved + passed / SLEPT_FOR_LOOKED).min(MAX_SAVED)
        };
        let Some(due) = due else {
            self.looks = false;
            return None;
        };
        let left = due.since(now);
        // Spinning continues until all time is spent.
        let may_look = self.saved
            >= if self.looks {
                Duration::from_nanos(1)
            } else {
                LOOKING
            };
        let wait = if may_look {
            left.saturating_sub(LOOKING)
        } else {
            left + TOGETHER
        };
        self.looks = wait.is_zero();
        Some(wait)
    }
}

/// Longer than a wake-up usually takes.
const LOOKING: Duration = Duration::from_micros(60);
const SLEPT_FOR_LOOKED: u32 = 7;
/// Enough for some thirty packets.
const MAX_SAVED: Duration = Duration::from_millis(2);
/// Packets due within this time are delivered together if spinning would take too long.
const TOGETHER: Duration = Duration::from_micros(30);

#[cfg(test)]
mod tests {
    use super::*;

    /// Looks take 1 us. Returns the share of time spent spinning, and the maximum lateness in
    /// microseconds.
    fn looked(gap_us: u64, span_us: u64) -> (f64, u64) {
        let mut looking = Looking::default();
        let (mut now, mut due, mut looked, mut latest) = (0, gap_us, 0, 0);
        let at = |microseconds: u64| Timestamp::from_nanos(1_000_000_000 + microseconds * 1000);
        while now < span_us {
            let wait = looking.until(Some(at(due)), at(now)).unwrap();
            let spent = u64::try_from(wait.as_micros()).unwrap().max(1);
            looked += if wait.is_zero() { 1 } else { 0 };
            now += spent;
            while due <= now {
                latest = latest.max(now - due);
                due += gap_us;
            }
        }
        (looked as f64 / span_us as f64, latest)
    }

    #[test]
    fn a_quiet_link_is_looked_at_before_each_packet() {
        let (share, latest) = looked(10_000, 1_000_000);
        assert!((0.005..0.007).contains(&share), "{share}");
        assert!(latest <= 1, "{latest}");
    }

    #[test]
    fn a_link_that_is_empty_between_two_packets_is_looked_at_before_each() {
        let mut looking = Looking::default();
        let at = |microseconds: u64| Timestamp::from_nanos(1_000_000_000 + microseconds * 1000);
        assert_eq!(looking.until(None, at(0)), None);
        for packet in 1..100 {
            let entered = packet * 10_000;
            let due = Some(at(entered + 1_000));
            let left = Duration::from_micros(1_000) - LOOKING;
            assert_eq!(looking.until(due, at(entered)), Some(left), "packet {packet}");
            assert_eq!(looking.until(due, at(entered + 940)), Some(Duration::ZERO));
            assert_eq!(looking.until(None, at(entered + 1_001)), None);
        }
    }

    #[test]
    fn a_busy_link_leaves_most_of_the_core_to_others() {
        let (share, latest) = looked(12, 1_000_000);
        assert!(share < 0.13, "{share}");
        assert!(latest <= 31, "{latest}");
    }
}
