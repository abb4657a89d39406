//! What another thread sees of a run, and how it ends it.

use super::LoadError;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// Watches and ends a run from another thread.
#[derive(Debug, Default)]
pub struct RunControl {
    /// Set to end the run soon: operations in progress fail, uncounted.
    pub stop: AtomicBool,
    threads: Mutex<Vec<Arc<Counters>>>,
    fault: OnceLock<LoadError>,
}

/// How far a run has come. Two of them, one a second after the other, are a line of progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LoadProgress {
    /// Operations that succeeded.
    pub done: u64,
    /// Operations that failed.
    pub failed: u64,
    /// Durations of those that succeeded, summed.
    pub time: Duration,
    /// Squares of the same durations in microseconds, summed.
    pub squares: u128,
    /// Open loop: how much later than intended operations began, summed.
    pub lag: Duration,
}

impl RunControl {
    /// How far the run is, over all threads; they are not inspected at the same instant.
    pub fn progress(&self) -> LoadProgress {
        let threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        let mut sum = LoadProgress::default();
        for counters in threads.iter() {
            sum = sum.and(&counters.progress());
        }
        sum
    }

    /// Ends the run where going on would only fail again: a script whose expression has no value.
    pub(super) fn end_on_fault(&self, error: &LoadError) {
        if matches!(error, LoadError::Script(_)) {
            self.fault.get_or_init(|| error.clone());
            self.stop.store(true, Ordering::Relaxed);
        }
    }

    /// Why the run was ended that way.
    pub(super) fn fault(&self) -> Option<LoadError> {
        self.fault.get().cloned()
    }

    /// Whether the run is to end.
    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// The counters of one more thread.
    pub(super) fn join(&self) -> Arc<Counters> {
        let counters = Arc::new(Counters::default());
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        threads.push(counters.clone());
        counters
    }
}

impl LoadProgress {
    /// Together with what others did.
    pub(super) fn and(&self, other: &Self) -> Self {
        Self {
            done: self.done + other.done,
            failed: self.failed + other.failed,
            time: self.time + other.time,
            squares: self.squares + other.squares,
            lag: self.lag + other.lag,
        }
    }

    /// What came since `earlier`.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            done: self.done.saturating_sub(earlier.done),
            failed: self.failed.saturating_sub(earlier.failed),
            time: self.time.saturating_sub(earlier.time),
            squares: self.squares.saturating_sub(earlier.squares),
            lag: self.lag.saturating_sub(earlier.lag),
        }
    }

    /// The mean duration; `None` if there was none.
    pub fn mean(&self) -> Option<Duration> {
        self.mean_of(self.time)
    }

    /// The mean lag; `None` if there was no operation.
    pub fn mean_lag(&self) -> Option<Duration> {
        self.mean_of(self.lag)
    }

    /// The standard deviation of the durations, to the microsecond; `None` if there was none.
    pub fn deviation(&self) -> Option<Duration> {
        let mean = self.mean()?.as_secs_f64() * 1e6;
        let variance = self.squares as f64 / self.done as f64 - mean * mean;
        Duration::try_from_secs_f64(variance.max(0.0).sqrt() / 1e6).ok()
    }

    fn mean_of(&self, sum: Duration) -> Option<Duration> {
        let mean = sum.as_nanos().checked_div(u128::from(self.done))?;
        Some(Duration::from_nanos(u64::try_from(mean).unwrap_or(u64::MAX)))
    }
}

/// What one thread has done. It alone writes, so that nothing needs to be locked; on a cache line of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct Counters {
    done: AtomicU64,
    failed: AtomicU64,
    nanoseconds: AtomicU64,
    squares: AtomicU64,
    lag: AtomicU64,
}

impl Counters {
    /// An operation succeeded.
    pub fn done(&self, duration: Duration, lag: Duration) {
        let nanoseconds = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        let microseconds = nanoseconds / 1000;
        add(&self.nanoseconds, nanoseconds);
        add(&self.squares, microseconds.saturating_mul(microseconds));
        if !lag.is_zero() {
            add(&self.lag, u64::try_from(lag.as_nanos()).unwrap_or(u64::MAX));
        }
        add(&self.done, 1);
    }

    /// An operation failed.
    pub fn failed(&self) {
        add(&self.failed, 1);
    }

    /// What it has done so far.
    pub fn progress(&self) -> LoadProgress {
        LoadProgress {
            done: self.done.load(Ordering::Relaxed),
            failed: self.failed.load(Ordering::Relaxed),
            time: Duration::from_nanos(self.nanoseconds.load(Ordering::Relaxed)),
            squares: self.squares.load(Ordering::Relaxed).into(),
            lag: Duration::from_nanos(self.lag.load(Ordering::Relaxed)),
        }
    }
}

/// Only one thread writes: no need for an addition that others could not come between.
fn add(counter: &AtomicU64, by: u64) {
    counter.store(
        counter.load(Ordering::Relaxed).saturating_add(by),
        Ordering::Relaxed,
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_the_sum_of_the_threads() {
        let control = RunControl::default();
        let (one, other) = (control.join(), control.join());
        one.done(Duration::from_micros(100), Duration::ZERO);
        let before = control.progress();
        other.done(Duration::from_micros(300), Duration::from_micros(50));
        one.done(Duration::from_micros(100), Duration::from_micros(10));
        other.failed();
        let since = control.progress().since(&before);
        assert_eq!((since.done, since.failed), (2, 1));
        assert_eq!(since.mean(), Some(Duration::from_micros(200)));
        assert_eq!(since.deviation(), Some(Duration::from_micros(100)));
        assert_eq!(since.mean_lag(), Some(Duration::from_micros(30)));
        assert_eq!(LoadProgress::default().mean(), None);
    }
}
