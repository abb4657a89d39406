//! Estimates the rate of a lane.

use model::Timestamp;
use std::time::Duration;

/// Counts bytes between two times when the lane was full, since it then held the same amount.
#[derive(Debug, Default)]
pub(crate) struct ThroughputEstimator {
    /// When the lane was last full; `None` if it may have run empty since.
    full_at: Option<Timestamp>,
    bytes_since: u64,
    bytes: f64,
    seconds: f64,
    known_at: Timestamp,
    /// Start and bytes of an uninterrupted send on a lane with room.
    free: Option<(Timestamp, u64)>,
}

impl ThroughputEstimator {
    pub(crate) fn sent(&mut self, bytes: usize) {
        self.bytes_since += bytes as u64;
        if let Some((_, free)) = &mut self.free {
            *free += bytes as u64;
        }
    }

    pub(crate) fn full(&mut self, at: Timestamp) {
        if let Some(before) = self.full_at.replace(at) {
            let seconds = at.since(before).as_secs_f64();
            let kept = (HORIZON.as_secs_f64() - seconds).max(0.0) / HORIZON.as_secs_f64();
            self.bytes = self.bytes * kept + self.bytes_since as f64;
            self.seconds = self.seconds * kept + seconds;
            self.known_at = at;
        }
        self.bytes_since = 0;
        self.free = None;
    }

    pub(crate) fn idle(&mut self) {
        self.full_at = None;
        self.free = None;
    }

    /// A lane that always had room is faster than its traffic, except for bytes in the kernel's
    /// buffer. Doubles the estimate until the lane is full again.
    pub(crate) fn raise(&mut self, at: Timestamp) {
        let (since, bytes) = *self.free.get_or_insert((at, 0));
        let seconds = at.since(since).as_secs_f64();
        let rate = 2.0 * bytes.saturating_sub(IN_THE_KERNEL) as f64 / seconds.max(1e-6);
        if self.rate().is_some_and(|known| known < rate) {
            (self.bytes, self.seconds) = (rate * seconds, seconds);
        }
    }

    /// Excludes idle time from aging.
    pub(crate) fn rested(&mut self, unused: Duration) {
        self.known_at = self.known_at.after(unused);
    }

    /// In bytes per second, known once the lane was full twice.
    pub(crate) fn rate(&self) -> Option<f64> {
        (self.seconds > 0.0).then(|| self.bytes / self.seconds)
    }

    pub(crate) fn recent(&self, at: Timestamp) -> Option<f64> {
        self.rate().filter(|_| at.since(self.known_at) < FRESH)
    }
}

const FRESH: Duration = Duration::from_secs(20);
/// About the maximum in the kernel's buffer and the path.
const IN_THE_KERNEL: u64 = 512 * 1024;
const HORIZON: Duration = Duration::from_millis(300);
