//! The timeline of a live observation.

use model::Timestamp;
use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// The monotonic clock, anchored once to the epoch, so that differences contain no step of the wall
/// clock. Copies share the anchor; separate clocks are separate timelines.
///
/// Linux `CLOCK_MONOTONIC`, nanosecond resolution; a reading costs about 40 ns (no system call
/// where the kernel's clock source has a vDSO). It stops while the machine is suspended.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    /// Epoch time minus monotonic time at the anchor.
    epoch_at_zero: i128,
}

impl Clock {
    pub fn anchored_now() -> Self {
        Self {
            epoch_at_zero: WallOffset::now().0,
        }
    }

    pub fn now(&self) -> Timestamp {
        self.on_timeline(nanoseconds(ClockId::Monotonic))
    }

    /// Converts a kernel wall-clock stamp to this timeline, by the clock offset near that moment.
    /// If the wall clock was set between stamp and `offset`, the result is off by that step: the
    /// caller must bound it.
    pub fn to_timestamp(&self, stamp: WallStamp, offset: WallOffset) -> Timestamp {
        self.on_timeline(i128::from(stamp.0) - offset.0)
    }

    fn on_timeline(&self, monotonic: i128) -> Timestamp {
        let since_epoch = (monotonic + self.epoch_at_zero).max(0);
        Timestamp::from_nanos(u64::try_from(since_epoch).unwrap_or(u64::MAX))
    }
}

/// A kernel time stamp, `CLOCK_REALTIME` in nanoseconds since the Unix epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WallStamp(pub u64);

/// Processor time of this thread, in user and kernel mode. Only differences are meaningful.
///
/// From Linux `CLOCK_THREAD_CPUTIME_ID`, with nanosecond resolution, by a system call of some
/// tenths of a microsecond. Time stolen by a virtual machine's host may count as used.
pub fn thread_processor_time() -> Duration {
    Duration::from_nanos(u64::try_from(nanoseconds(ClockId::ThreadCPUTime)).unwrap_or_default())
}

/// Wall clock minus monotonic clock, in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub struct WallOffset(i128);

impl WallOffset {
    /// Reads the monotonic clock before and after the wall clock and takes the middle. A pause of
    /// the thread would add half its length as error, so the fastest of several readings counts.
    pub fn now() -> Self {
        let (mut offset, mut between) = Self::measure();
        for _ in 1..ATTEMPTS {
            if between <= CLOSE_NANOSECONDS {
                break;
            }
            let again = Self::measure();
            if again.1 < between {
                (offset, between) = again;
            }
        }
        Self(offset)
    }

    pub fn apart(self, other: Self) -> Duration {
        Duration::from_nanos(u64::try_from(self.0.abs_diff(other.0)).unwrap_or(u64::MAX))
    }

    fn measure() -> (i128, i128) {
        let before = nanoseconds(ClockId::Monotonic);
        let wall = nanoseconds(ClockId::Realtime);
        let after = nanoseconds(ClockId::Monotonic);
        (wall - i128::midpoint(before, after), after - before)
    }
}

/// Maximum for three uninterrupted readings without a system call.
const CLOSE_NANOSECONDS: i128 = 1_000;
/// If readings are system calls, all attempts are used, at a cost of a few microseconds.
const ATTEMPTS: usize = 4;

fn nanoseconds(clock: ClockId) -> i128 {
    let time = clock_gettime(clock);
    i128::from(time.tv_sec) * 1_000_000_000 + i128::from(time.tv_nsec)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{SystemTime, UNIX_EPOCH};

    #[test]
    fn now_is_the_time_of_day_and_never_goes_back() {
        let clock = Clock::anchored_now();
        let first = clock.now();
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
        let second = clock.now();
        assert!(second >= first);
        let apart =
            Duration::from_nanos(wall.as_nanos() as u64).abs_diff(Duration::from_nanos(first.as_nanos()));
        assert!(apart < Duration::from_secs(1), "{apart:?}");
    }

    #[test]
    fn a_wall_stamp_lands_where_the_monotonic_clock_was() {
        let clock = Clock::anchored_now();
        let before = clock.now();
        let stamp = WallStamp(nanoseconds(ClockId::Realtime) as u64);
        let after = clock.now();
        let landed = clock.to_timestamp(stamp, WallOffset::now());
        // The offset is accurate to the pause between two clock readings.
        let slack = after.since(before) + Duration::from_millis(5);
        assert!(landed.since(before) <= slack && before.since(landed) <= slack);
    }

    #[test]
    fn a_step_of_the_wall_clock_does_not_move_the_timeline() {
        let clock = Clock::anchored_now();
        let stamp = nanoseconds(ClockId::Realtime);
        let here = WallOffset::now();
        let stepped = WallOffset(here.0 + 3_600_000_000_000);
        let first = clock.to_timestamp(WallStamp(stamp as u64), here);
        let second = clock.to_timestamp(WallStamp((stamp + 3_600_000_000_000) as u64), stepped);
        assert_eq!(first, second);
    }
}
