//! Estimates the rate of the path if results are too short to fill the lane.
//!
//! A result of 20 KiB fits into the kernel's buffer, so no bytes wait at this end, even on a slow
//! path. The kernel measures the delivery rate of such bursts including the round trip
//! ([`Path::seen`]); without it, they show the rate, if significantly longer than a round trip.

use model::Timestamp;
use std::time::Duration;

#[derive(Debug, Default)]
pub(super) struct Path {
    burst: f64,
    largest: f64,
    slow: Option<Slow>,
    looked: Timestamp,
}

/// Bursts took clearly longer than a round trip.
#[derive(Debug, Clone, Copy)]
struct Slow {
    at: Timestamp,
    /// Bytes per second.
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

    /// Whether the kernel should be queried now; starts the next interval.
    pub(super) fn is_due(&mut self, at: Timestamp) -> bool {
        let is_due = self.largest > 0.0 && at.since(self.looked) >= POLL_INTERVAL;
        if is_due {
            self.looked = at;
        }
        is_due
    }

    /// `rate` is the kernel's best delivery rate in bytes per second, `rtt` the round-trip time of
    /// a small packet.
    pub(super) fn seen(&mut self, at: Timestamp, rate: f64, rtt: Duration) {
        let took = self.largest / rate.max(1.0);
        let rtt = rtt.as_secs_f64();
        if took > rtt * CLEARLY + MIN_DURATION.as_secs_f64() {
            self.slow = Some(Slow {
                at,
                rate: self.largest / (took - rtt),
            });
        } else if let Some(slow) = &mut self.slow {
            // A lower bound from the latest burst.
            slow.rate = slow.rate.max(rate);
        }
    }

    pub(super) fn rested(&mut self, unused: Duration) {
        if let Some(slow) = &mut self.slow {
            slow.at = slow.at.after(unused);
        }
    }

    /// In bytes per second, if the path was recently slow.
    pub(super) fn rate(&self, at: Timestamp) -> Option<f64> {
        self.slow
            .filter(|slow| at.since(slow.at) < FRESH)
            .map(|slow| slow.rate)
    }

    pub(super) fn rate_since(&self, since: Timestamp) -> Option<f64> {
        self.slow.filter(|slow| slow.at > since).map(|slow| slow.rate)
    }
}

const FADING: f64 = 0.9;
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// A burst shows a rate if it takes this many round trips plus `MIN_DURATION`.
const CLEARLY: f64 = 1.1;
const MIN_DURATION: Duration = Duration::from_micros(400);
const FRESH: Duration = Duration::from_secs(30);
