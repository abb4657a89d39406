//! Summary of a run's samples.

use crate::{Distribution, DistributionBuilder, Sample, SampleTotals};
use std::time::Duration;

/// Collects the samples of one target.
#[derive(Debug, Clone, Default)]
pub struct SampleTally {
    totals: SampleTotals,
    time: Spread,
    round_trip: Spread,
    server: Spread,
    turns: u64,
    kernel_rtt: Option<Duration>,
    min_kernel_rtt: Option<Duration>,
    first: Option<Duration>,
    floor: DistributionBuilder,
}

/// Summary of one target's samples.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct SampleOutcome {
    /// Numbers of samples, with `mdev` of `time`.
    pub totals: SampleTotals,
    /// Spread of the samples' durations.
    pub time: Distribution,
    /// Spread of their round trips ([`Sample::round_trip`]).
    pub round_trip: Distribution,
    /// Round-trip deviation like [`SampleTotals::mdev`].
    pub round_trip_mdev: Option<Duration>,
    /// Spread of the reported server time.
    pub server: Distribution,
    /// Round trips of all samples, first ones included.
    pub turns: u64,
    /// The kernel's round-trip time after the last reply.
    pub kernel_rtt: Option<Duration>,
    /// The kernel's minimum round-trip time, first samples included.
    pub min_kernel_rtt: Option<Duration>,
    /// Duration of the first connection's first sample.
    pub first: Option<Duration>,
    /// Spread of the instrument's own time.
    pub floor: Distribution,
}

impl SampleTally {
    /// Adds a sample; first ones of a connection count only in `turns` and `first`.
    pub fn add(&mut self, sample: &Sample) {
        self.turns += sample.turns.unwrap_or(0);
        self.kernel_rtt = sample.kernel_rtt.or(self.kernel_rtt);
        self.min_kernel_rtt = self.min_kernel_rtt.into_iter().chain(sample.kernel_rtt).min();
        if sample.first {
            self.first = self.first.or(sample.duration);
            return;
        }
        self.totals.sent += 1;
        let Some(duration) = sample.duration else {
            self.totals.lost += 1;
            return;
        };
        self.totals.answered += 1;
        if sample.error.is_some() {
            self.totals.errors += 1;
            return;
        }
        self.time.add(Some(duration));
        self.round_trip.add(sample.round_trip());
        self.server.add(sample.server);
    }

    /// Adds a time of the instrument by itself.
    pub fn add_floor(&mut self, floor: Duration) {
        self.floor.add(floor);
    }

    /// The summary after `elapsed`.
    pub fn outcome(&mut self, elapsed: Duration) -> SampleOutcome {
        let floor = self.floor.distribution();
        let good = (self.totals.answered - self.totals.errors) as f64;
        SampleOutcome {
            totals: SampleTotals {
                per_second: if elapsed.is_zero() {
                    0.0
                } else {
                    good / elapsed.as_secs_f64()
                },
                mdev: self.time.mdev(),
                floor: floor.p50,
                ..self.totals
            },
            time: self.time.durations.distribution(),
            round_trip: self.round_trip.durations.distribution(),
            round_trip_mdev: self.round_trip.mdev(),
            server: self.server.durations.distribution(),
            turns: self.turns,
            kernel_rtt: self.kernel_rtt,
            min_kernel_rtt: self.min_kernel_rtt,
            first: self.first,
            floor,
        }
    }
}

#[derive(Debug, Clone, Default)]
struct Spread {
    durations: DistributionBuilder,
    squares: f64,
}

impl Spread {
    fn add(&mut self, duration: Option<Duration>) {
        if let Some(duration) = duration {
            self.durations.add(duration);
            self.squares += duration.as_secs_f64().powi(2);
        }
    }

    /// Root of the mean square less the squared mean, as in ping.
    fn mdev(&self) -> Option<Duration> {
        let mean = self.durations.mean()?.as_secs_f64();
        let square = self.squares / self.durations.count() as f64 - mean * mean;
        Duration::try_from_secs_f64(square.max(0.0).sqrt()).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Timestamp;

    fn sample(milliseconds: Option<u64>) -> Sample {
        Sample {
            number: 1,
            target: "tcp://db1:5432".into(),
            at: Timestamp::from_nanos(0),
            intended_at: None,
            duration: milliseconds.map(Duration::from_millis),
            server: Some(Duration::from_millis(1)),
            first: false,
            turns: Some(1),
            kernel_rtt: None,
            error: None,
        }
    }

    #[test]
    fn what_is_first_lost_or_wrong_is_in_no_percentile() {
        let mut tally = SampleTally::default();
        tally.add(&Sample {
            first: true,
            turns: Some(2),
            ..sample(Some(90))
        });
        tally.add(&sample(Some(10)));
        tally.add(&sample(Some(14)));
        tally.add(&sample(None));
        tally.add(&Sample {
            error: Some("server: 22012".into()),
            ..sample(Some(500))
        });
        let outcome = tally.outcome(Duration::from_secs(4));
        let totals = outcome.totals;
        assert_eq!(
            (totals.sent, totals.answered, totals.lost, totals.errors),
            (4, 3, 1, 1)
        );
        assert_eq!(outcome.time.count, 2);
        assert_eq!(outcome.time.mean, Some(Duration::from_millis(12)));
        assert_eq!(outcome.round_trip.min, Some(Duration::from_millis(9)));
        assert_eq!(outcome.first, Some(Duration::from_millis(90)));
        assert_eq!(outcome.turns, 6);
        assert!((totals.per_second - 0.5).abs() < 1e-9);
        let mdev = totals.mdev.unwrap();
        assert!(
            mdev.abs_diff(Duration::from_millis(2)) < Duration::from_micros(1),
            "{mdev:?}"
        );
    }

    #[test]
    fn a_round_trip_is_a_turns_share_of_what_was_not_the_server() {
        let twice = Sample {
            turns: Some(2),
            ..sample(Some(21))
        };
        assert_eq!(twice.round_trip(), Some(Duration::from_millis(10)));
        let untold = Sample { turns: None, ..twice };
        assert_eq!(untold.round_trip(), None);
    }
}
