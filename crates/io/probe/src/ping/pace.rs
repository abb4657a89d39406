use std::time::{Duration, Instant};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// Counted from the first start. Times that pass while waiting for an answer are skipped.
    Every(Duration),
    Flood,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PaceError {
    #[error("an interval of zero: use --flood to ask as fast as answers come")]
    Nothing,
    #[error("an interval of more than a day")]
    TooLong,
}

impl Pace {
    pub fn every(interval: Duration) -> Result<Self, PaceError> {
        if interval.is_zero() {
            Err(PaceError::Nothing)
        } else if interval > MAX_INTERVAL {
            Err(PaceError::TooLong)
        } else {
            Ok(Self::Every(interval))
        }
    }

    pub(super) fn settle(self) -> Duration {
        match self {
            Self::Every(interval) => interval.min(SETTLE),
            Self::Flood => Duration::ZERO,
        }
    }

    /// The minimum pause after a refusal.
    pub(super) const fn refusal_pause(self) -> Duration {
        match self {
            Self::Every(_) => Duration::ZERO,
            Self::Flood => SETTLE,
        }
    }
}

#[derive(Debug)]
pub(super) struct Schedule {
    began: Instant,
    pace: Pace,
    next: Instant,
}

impl Schedule {
    pub(super) fn starting(began: Instant, pace: Pace) -> Self {
        Self {
            began,
            pace,
            next: began,
        }
    }

    /// `None` in a flood, which never waits.
    pub(super) fn due(&self) -> Option<Instant> {
        match self.pace {
            Pace::Every(_) => Some(self.next),
            Pace::Flood => None,
        }
    }

    pub(super) fn advance(&mut self, now: Instant) {
        let Pace::Every(interval) = self.pace else { return };
        let passed = now.saturating_duration_since(self.began).as_nanos();
        let times = passed / interval.as_nanos().max(1) + 1;
        let ahead = u64::try_from(times.saturating_mul(interval.as_nanos())).unwrap_or(u64::MAX);
        let usual = self.next.checked_add(interval);
        let next = self.began.checked_add(Duration::from_nanos(ahead)).max(usual);
        self.next = next.unwrap_or(now);
    }
}

const MAX_INTERVAL: Duration = Duration::from_secs(24 * 3600);
/// The first request wakes what the second finds awake: the usual pause is fairer, but a user need
/// not wait longer than this.
const SETTLE: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_that_have_passed_are_left_out() {
        let began = Instant::now();
        let second = Duration::from_secs(1);
        let mut schedule = Schedule::starting(began, Pace::Every(second));
        assert_eq!(schedule.due(), Some(began));
        schedule.advance(began + Duration::from_millis(40));
        assert_eq!(schedule.due(), Some(began + second));
        schedule.advance(began + Duration::from_millis(3500));
        assert_eq!(schedule.due(), Some(began + second * 4));
        // Even if the clock is read a little before the end of the sleep, no due time comes twice.
        schedule.advance(began + Duration::from_millis(3999));
        assert_eq!(schedule.due(), Some(began + second * 5));
    }

    #[test]
    fn intervals_that_cannot_be_meant_are_refused() {
        assert_eq!(Pace::every(Duration::ZERO), Err(PaceError::Nothing));
        assert_eq!(Pace::every(MAX_INTERVAL * 2), Err(PaceError::TooLong));
        assert!(Pace::every(Duration::from_micros(1)).is_ok());
    }
}
