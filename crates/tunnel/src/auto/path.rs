//! How fast the path is, where results are too short to fill the lane.
//!
//! A result of 20 KiB goes into the kernel's buffer whole: nothing waits at this end, however long it takes.
//! The kernel measures how fast such bursts are delivered, the round trip included ([`Path::seen`]); the
//! rest, without the round trip, gives the rate, as long as it is more than chance.

use model::Timestamp;
use std::time::Duration;

#[derive(Debug, Default)]
pub(super) struct Path {
    /// Bytes sent since there was nothing to send.
    burst: f64,
    /// The largest burst lately.
    largest: f64,
    slow: Option<Slow>,
    looked: Timestamp,
}

/// Bursts took clearly longer than a round trip.
#[derive(Debug, Clone, Copy)]
struct Slow {
    at: Timestamp,
    /// Bytes a second.
    rate: f64,
}

impl Path {
    pub(super) fn sent(&mut self, bytes: usize) {
        self.burst += bytes as f64;
    }

    pub(super) fn idle(&mut self) {
        if self.burst > 0.0 {
            self.largest = (self.largest * FADING).max(self.burst);
            self.burst = 0.0;
        }
    }

    /// Whether it is time to ask the kernel again; then it is not for a while.
    pub(super) fn is_due(&mut self, at: Timestamp) -> bool {
        let is_due = self.largest > 0.0 && at.since(self.looked) >= POLL_INTERVAL;
        if is_due {
            self.looked = at;
        }
        is_due
    }

    /// The kernel delivered bursts at `rate` bytes a second at best, and a small packet's round trip takes
    /// `rtt`.
    pub(super) fn seen(&mut self, at: Timestamp, rate: f64, rtt: Duration) {
        let took = self.largest / rate.max(1.0);
        let rtt = rtt.as_secs_f64();
        if took > rtt * CLEARLY + MIN_DURATION.as_secs_f64() {
            self.slow = Some(Slow {
                at,
                rate: self.largest / (took - rtt),
            });
        } else if let Some(slow) = &mut self.slow {
            // It is at least as fast as it has just been.
            slow.rate = slow.rate.max(rate);
        }
    }

    /// There was nothing to send for that long; during it, what is known did not age.
    pub(super) fn rested(&mut self, unused: Duration) {
        if let Some(slow) = &mut self.slow {
            slow.at = slow.at.after(unused);
        }
    }

    /// Bytes a second; `None` if the path was not found slow lately.
    pub(super) fn rate(&self, at: Timestamp) -> Option<f64> {
        self.slow
            .filter(|slow| at.since(slow.at) < FRESH)
            .map(|slow| slow.rate)
    }

    /// The same, as far as it was found since `since`.
    pub(super) fn rate_since(&self, since: Timestamp) -> Option<f64> {
        self.slow.filter(|slow| slow.at > since).map(|slow| slow.rate)
    }
}

/// A burst counts less with each that comes after it.
const FADING: f64 = 0.9;
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// A burst must take this many round trips, and this long, to give a rate.
const CLEARLY: f64 = 1.1;
const MIN_DURATION: Duration = Duration::from_micros(400);
/// What was found counts for this long.
const FRESH: Duration = Duration::from_secs(30);
