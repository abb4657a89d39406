//! Order of the events of several threads. A thread forwards bytes before it shows them, and an
//! emulated link shows replies one way late: another thread may see effects before.

use crate::Timestamp;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// Time until which a thread has shown all that it forwarded.
#[derive(Debug)]
pub struct Watermark(Arc<AtomicU64>);

/// Watermarks of all threads that feed one analysis.
#[derive(Debug, Default)]
pub struct Watermarks(Mutex<Vec<Weak<AtomicU64>>>);

const NOTHING_OUTSTANDING: u64 = u64::MAX;

impl Default for Watermark {
    fn default() -> Self {
        Self(Arc::new(AtomicU64::new(NOTHING_OUTSTANDING)))
    }
}

impl Watermark {
    /// Before bytes are forwarded at `now` or later.
    pub fn hold(&self, now: Timestamp) {
        self.0.fetch_min(now.as_nanos(), Ordering::AcqRel);
    }

    /// Later events remain to be shown.
    pub fn advance(&self, shown_until: Timestamp) {
        self.0.store(shown_until.as_nanos(), Ordering::Release);
    }

    /// Everything forwarded has been shown.
    pub fn release(&self) {
        self.0.store(NOTHING_OUTSTANDING, Ordering::Release);
    }
}

impl Drop for Watermark {
    fn drop(&mut self) {
        self.release();
    }
}

impl Watermarks {
    /// Adds a thread, until it drops its watermark.
    pub fn register(&self) -> Watermark {
        let watermark = Watermark::default();
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(Arc::downgrade(&watermark.0));
        watermark
    }

    /// The earliest, or the end of time. Events must be received after it was read.
    pub fn min(&self) -> Timestamp {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut min = NOTHING_OUTSTANDING;
        all.retain(|watermark| {
            let watermark = watermark.upgrade();
            min = min.min(
                watermark
                    .as_ref()
                    .map_or(NOTHING_OUTSTANDING, |of| of.load(Ordering::Acquire)),
            );
            watermark.is_some()
        });
        Timestamp::from_nanos(min)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_thread_counts_until_it_has_shown_all_or_ended() {
        let at = Timestamp::from_nanos;
        let all = Watermarks::default();
        assert_eq!(all.min(), at(NOTHING_OUTSTANDING));
        let (one, other) = (all.register(), all.register());
        one.hold(at(20));
        other.hold(at(30));
        one.hold(at(40));
        assert_eq!(all.min(), at(20));
        one.advance(at(35));
        assert_eq!(all.min(), at(30));
        other.release();
        assert_eq!(all.min(), at(35));
        drop(one);
        assert_eq!(all.min(), at(NOTHING_OUTSTANDING));
    }
}
