//! How fast a lane takes bytes.

use model::Timestamp;
use std::time::Duration;

/// The lane's rate, from the bytes it took between one time that it was full and the next: at both, the same waited in it.
#[derive(Debug, Default)]
pub(crate) struct Drain {
    /// When the lane was full last; absent when it may have run empty since.
    full_at: Option<Timestamp>,
    bytes_since: u64,
    /// Bytes, and the time the lane took for them; older ones count less.
    bytes: f64,
    seconds: f64,
    known_at: Timestamp,
}

impl Drain {
    pub(crate) fn sent(&mut self, bytes: usize) {
        self.bytes_since += bytes as u64;
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
    }

    pub(crate) fn idle(&mut self) {
        self.full_at = None;
    }

    /// Bytes a second; absent until the lane was full twice.
    pub(crate) fn rate(&self) -> Option<f64> {
        (self.seconds > 0.0).then(|| self.bytes / self.seconds)
    }

    /// The same, where it is not too old to be true.
    pub(super) fn recent(&self, at: Timestamp) -> Option<f64> {
        self.rate().filter(|_| at.since(self.known_at) < FRESH)
    }
}

/// How long a rate is believed while the lane has room.
const FRESH: Duration = Duration::from_secs(20);
/// What is older counts for nothing.
const HORIZON: Duration = Duration::from_millis(300);
