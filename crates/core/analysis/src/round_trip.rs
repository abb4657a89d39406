//! The round trip of one side of the observation point, from samples.

mod spread;

use model::Timestamp;
pub(crate) use spread::Path;
pub use spread::Paths;
use std::time::Duration;

/// Minimum round trip over a sliding window.
///
/// A sample includes the peer's time and any queue on the way, so the minimum of a window is
/// nearest to the distance. The window (two spans of [`WINDOW`]) lets the figure follow a route that changes.
#[derive(Debug, Clone, Copy, Default)]
pub struct MinimumRoundTrip {
    least: Option<Duration>,
    older: Option<Duration>,
    newer: Option<Duration>,
    newer_since: Timestamp,
}

/// Half of the sliding window: a sample counts for once to twice this time.
pub const WINDOW: Duration = Duration::from_secs(10);

impl MinimumRoundTrip {
    pub fn sample(&mut self, at: Timestamp, rtt: Duration) {
        if at.since(self.newer_since) > WINDOW {
            self.older = if at.since(self.newer_since) > WINDOW * 2 {
                None
            } else {
                self.newer
            };
            self.newer = None;
            self.newer_since = at;
        }
        self.newer = Some(self.newer.map_or(rtt, |newer| newer.min(rtt)));
        self.least = Some(self.least.map_or(rtt, |least| least.min(rtt)));
    }

    /// `None` before the first sample.
    pub fn current(&self) -> Option<Duration> {
        match (self.older, self.newer) {
            (Some(older), Some(newer)) => Some(older.min(newer)),
            (older, newer) => newer.or(older),
        }
    }

    pub fn least(&self) -> Option<Duration> {
        self.least
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(number: u64) -> Timestamp {
        Timestamp::from_nanos(number * 1_000_000_000)
    }

    #[test]
    fn the_least_sample_holds_until_the_window_has_passed() {
        let mut rtt = MinimumRoundTrip::default();
        assert_eq!(rtt.current(), None);
        rtt.sample(second(100), Duration::from_millis(10));
        rtt.sample(second(101), Duration::from_millis(90));
        assert_eq!(rtt.current(), Some(Duration::from_millis(10)));
        rtt.sample(second(112), Duration::from_millis(90));
        assert_eq!(rtt.current(), Some(Duration::from_millis(10)));
        rtt.sample(second(123), Duration::from_millis(80));
        assert_eq!(rtt.current(), Some(Duration::from_millis(80)));
        assert_eq!(rtt.least(), Some(Duration::from_millis(10)));
    }
}
