//! How fast a lane takes bytes.

use model::Timestamp;
use std::time::Duration;

/// The lane's rate, from the bytes it took between one time that it was full and the next: at both, the same
/// waited in it.
#[derive(Debug, Default)]
pub(crate) struct ThroughputEstimator {
    /// When the lane was full last; `None` if it may have run empty since.
    full_at: Option<Timestamp>,
    bytes_since: u64,
    /// Bytes, and the time the lane took for them; older ones count less.
    bytes: f64,
    seconds: f64,
    known_at: Timestamp,
    /// What was sent without a pause while the lane had room, and since when.
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

    /// A lane that had room all the time is faster than what it took, beyond what waits in the kernel at
    /// most. How much faster shows when it is full again; twice is tried.
    pub(crate) fn raise(&mut self, at: Timestamp) {
        let (since, bytes) = *self.free.get_or_insert((at, 0));
        let seconds = at.since(since).as_secs_f64();
        let rate = 2.0 * bytes.saturating_sub(IN_THE_KERNEL) as f64 / seconds.max(1e-6);
        if self.rate().is_some_and(|known| known < rate) {
            (self.bytes, self.seconds) = (rate * seconds, seconds);
        }
    }

    /// There was nothing to send for that long; during it, what is known did not age.
    pub(crate) fn rested(&mut self, unused: Duration) {
        self.known_at = self.known_at.after(unused);
    }

    /// Bytes a second; `None` until the lane was full twice.
    pub(crate) fn rate(&self) -> Option<f64> {
        (self.seconds > 0.0).then(|| self.bytes / self.seconds)
    }

    /// The same, where it is not too old to be valid.
    pub(crate) fn recent(&self, at: Timestamp) -> Option<f64> {
        self.rate().filter(|_| at.since(self.known_at) < FRESH)
    }
}

/// How long a rate is trusted while the lane has room.
const FRESH: Duration = Duration::from_secs(20);
/// What the kernel's buffer and the path hold at most, or nearly so.
const IN_THE_KERNEL: u64 = 512 * 1024;
/// What is older counts for nothing.
const HORIZON: Duration = Duration::from_millis(300);
