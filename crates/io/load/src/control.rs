//! Watches and stops a run from another thread.

use super::Error;
use super::engine::blocking_reads::BlockingReads;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use sys::StopToken;
use sys::error::LiveError;

#[derive(Debug)]
pub struct RunControl {
    /// Stops the run soon: operations in progress fail, uncounted.
    pub stop: StopToken,
    pub(super) blocking_reads: Arc<BlockingReads>,
    started: Mutex<Option<Instant>>,
    threads: Mutex<Vec<Arc<Counters>>>,
    fault: OnceLock<Error>,
}

/// Progress of a run. The difference of two readings, one second apart, is a progress line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progress {
    pub done: u64,
    pub failed: u64,
    /// Total duration of successful operations.
    pub time: Duration,
    /// Sum of squares of the same durations, in microseconds.
    pub squares: u128,
    /// Total of an open loop.
    pub lag: Duration,
}

impl RunControl {
    /// `stop` stops the run too.
    ///
    /// # Errors
    /// If the system refuses an eventfd.
    pub fn new(stop: &StopToken) -> Result<Self, LiveError> {
        Ok(Self {
            stop: stop.child()?,
            blocking_reads: Arc::default(),
            started: Mutex::default(),
            threads: Mutex::default(),
            fault: OnceLock::new(),
        })
    }

    /// Totals over all threads, not read at the same instant.
    pub fn progress(&self) -> Progress {
        let threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        let mut sum = Progress::default();
        for counters in threads.iter() {
            sum = sum.and(&counters.progress());
        }
        sum
    }

    /// When the clock started; `None` while clients connect and warm up.
    pub fn started(&self) -> Option<Instant> {
        *self.started.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn start(&self) -> Instant {
        let now = Instant::now();
        *self.started.lock().unwrap_or_else(PoisonError::into_inner) = Some(now);
        now
    }

    /// Stops the run if it would only fail again: an expression of a script has no value.
    pub(super) fn end_on_fault(&self, error: &Error) {
        if matches!(error, Error::Script(_)) {
            self.fault.get_or_init(|| error.clone());
            self.stop.stop();
        }
    }

    pub(super) fn fault(&self) -> Option<Error> {
        self.fault.get().cloned()
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stop.is_stopped()
    }

    pub(super) fn join(&self) -> Arc<Counters> {
        let counters = Arc::new(Counters::default());
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        threads.push(counters.clone());
        counters
    }
}

impl Progress {
    pub(super) fn and(&self, other: &Self) -> Self {
        Self {
            done: self.done + other.done,
            failed: self.failed + other.failed,
            time: self.time + other.time,
            squares: self.squares + other.squares,
            lag: self.lag + other.lag,
        }
    }

    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            done: self.done.saturating_sub(earlier.done),
            failed: self.failed.saturating_sub(earlier.failed),
            time: self.time.saturating_sub(earlier.time),
            squares: self.squares.saturating_sub(earlier.squares),
            lag: self.lag.saturating_sub(earlier.lag),
        }
    }

    pub fn mean(&self) -> Option<Duration> {
        self.mean_of(self.time)
    }

    pub fn mean_lag(&self) -> Option<Duration> {
        self.mean_of(self.lag)
    }

    /// Accurate to a microsecond.
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

/// Written by one thread only, so no lock is needed; aligned to a cache line.
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

    pub fn failed(&self) {
        add(&self.failed, 1);
    }

    pub fn progress(&self) -> Progress {
        Progress {
            done: self.done.load(Ordering::Relaxed),
            failed: self.failed.load(Ordering::Relaxed),
            time: Duration::from_nanos(self.nanoseconds.load(Ordering::Relaxed)),
            squares: self.squares.load(Ordering::Relaxed).into(),
            lag: Duration::from_nanos(self.lag.load(Ordering::Relaxed)),
        }
    }
}

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
        let control = RunControl::new(&StopToken::never()).expect("an eventfd");
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
        assert_eq!(Progress::default().mean(), None);
    }
}
