//! Bounds of a predicted median.

mod scale;

pub use scale::scale;
pub(crate) use scale::{class, scale_in};

use model::{Attribution, BoundsMargin, DistributionBuilder, MarginSource};
use std::time::Duration;

#[derive(Debug, Clone, Copy)]
pub struct BoundsEvidence<'a> {
    pub operations: u64,
    /// Round trips per operation, on the moved connections.
    pub turns: f64,
    /// How much less and more than the wake-up allowance of an operation it may be, in seconds.
    pub waking: [f64; 2],
    /// Error per round trip of processors that sleep.
    pub sleep: Duration,
    pub is_lossy: bool,
    /// How much shorter and longer the server time of an operation may be, in seconds.
    pub server_margin: [f64; 2],
    /// Seconds per operation that pacing adds; `None` if senders do not pace.
    pub pacing: Option<f64>,
    /// Per operation, in seconds: window growth on reused connections, and transfer of the same
    /// bytes at the link rate.
    pub kept_windows: [f64; 2],
    /// Expected share of round trips that belong to other operations.
    pub others: f64,
    /// Summed over all replays.
    pub attribution: &'a Attribution,
}

impl BoundsEvidence<'_> {
    /// Margins around the median in a run with as many operations as measured; `None` without
    /// `durations`:
    /// - Sampling, in both runs: the order statistics that hold the median nine times in ten.
    /// - The model: [`MODEL_ERROR`] of network time, and [`LOSS_ERROR`] of transfers over a lossy link.
    /// - Client and server time vary between runs: [`COMPUTING_ERROR`], and [`TURN_ERROR`] per round trip.
    /// - The wake-up allowance: assumed between none and twice it, or as calibrated; a sleep per round trip.
    /// - Server time, a range where round trips of the measurement vary.
    /// - Senders that seem to pace may send the first round of each message at once. On a lossy link,
    ///   where BBR was not compared, transfers may be faster and slower by [`PACED_LOSS_ERROR`].
    /// - Windows that do not shrink while idle.
    /// - Round trips wrongly assigned to this operation or to others.
    pub fn margins(&self, durations: &mut DistributionBuilder) -> Option<Vec<BoundsMargin>> {
        let ranks = self.ranks();
        let median = durations.percentile(50)?;
        let [below, above] = [durations.percentile(ranks.0)?, durations.percentile(ranks.1)?];
        let drawn = [median.saturating_sub(below), above.saturating_sub(median)];
        let asleep = self.turns.max(0.0) * self.sleep.as_secs_f64();
        let [less, more] = self.waking;
        let seconds = median.as_secs_f64();
        let total = self.attribution.total().as_secs_f64().max(1e-9);
        let computing = self.attribution.client + self.attribution.server + self.attribution.unknown;
        let share = computing.as_secs_f64() / total;
        let unknown = UNKNOWN_VARIATION / (self.operations.max(1) as f64).sqrt();
        let model = (seconds * (1.0 - share) * MODEL_ERROR).hypot(self.turns.max(0.0) * TURN_ERROR);
        let loss = if self.is_lossy {
            LOSS_ERROR * self.transfer(seconds)
        } else {
            0.0
        };
        let margins = [
            (MarginSource::Sampling, drawn.map(|drawn| drawn.as_secs_f64())),
            (MarginSource::Model, [model; 2]),
            (MarginSource::Loss, [loss; 2]),
            (
                MarginSource::Computing,
                [seconds * share * COMPUTING_ERROR.hypot(unknown); 2],
            ),
            (MarginSource::WakingUp, [less, more + asleep]),
            (MarginSource::ServerTime, self.server_margin),
            (MarginSource::Pacing, self.pacing_errors(seconds)),
            (MarginSource::KeptWindows, [self.kept_windows(seconds), 0.0]),
            (
                MarginSource::Owners,
                [seconds * (1.0 - share) * self.others * OWNERS_ERROR; 2],
            ),
        ];
        let margins = margins
            .into_iter()
            .filter(|(_, seconds)| *seconds != [0.0; 2])
            .map(|(source, seconds)| BoundsMargin {
                source,
                seconds: seconds.map(|seconds| seconds.clamp(0.0, MAX_MARGIN_SECONDS)),
            });
        Some(margins.collect())
    }

    pub fn around(median: Duration, margins: &[BoundsMargin]) -> (Duration, Duration) {
        let [low, high] = [0, 1].map(|way| {
            let sum = margins
                .iter()
                .fold(0.0, |sum: f64, margin| sum.hypot(margin.seconds[way]));
            Duration::from_secs_f64(sum)
        });
        (median.saturating_sub(low), median.saturating_add(high))
    }

    /// Percentiles that hold the median nine times in ten if it and its prediction have as many
    /// draws.
    fn ranks(&self) -> (u8, u8) {
        // 1.645 standard deviations of a median's rank, sqrt(n) / 2, times sqrt(2) for two runs.
        let half = 116.3 / (self.operations.max(1) as f64).sqrt();
        let half = half.ceil().min(45.0) as u8;
        (50 - half, 50 + half)
    }

    /// How much faster and slower senders may be than the paced ones of the model, in seconds.
    fn pacing_errors(&self, median: f64) -> [f64; 2] {
        let Some(pacing) = self.pacing else {
            return [0.0; 2];
        };
        let loss = if self.is_lossy {
            PACED_LOSS_ERROR * self.transfer(median)
        } else {
            0.0
        };
        [pacing.max(loss), loss]
    }

    /// Seconds saved if windows do not shrink: at most the transfer time beyond the link rate.
    fn kept_windows(&self, median: f64) -> f64 {
        let [growing, at_rate] = self.kept_windows;
        growing.min((self.transfer(median) - at_rate).max(0.0))
    }

    /// Transfer and recovery, in seconds.
    fn transfer(&self, median: f64) -> f64 {
        let transfer = (self.attribution.transfer + self.attribution.recovery).as_secs_f64();
        median * transfer / self.attribution.total().as_secs_f64().max(1e-9)
    }
}

/// 98 of 100 measured exchanges are within it, see docs/accuracy.md.
const MODEL_ERROR: f64 = 0.02;
/// Share of large transfers where windows depend on random losses: 20 % measured against cubic.
const LOSS_ERROR: f64 = 0.25;
const PACED_LOSS_ERROR: f64 = 0.9;
/// Seconds per round trip.
const TURN_ERROR: f64 = 30e-6;
const COMPUTING_ERROR: f64 = 0.15;
/// Round trips gained and lost cancel in part.
const OWNERS_ERROR: f64 = 0.5;
const UNKNOWN_VARIATION: f64 = 0.5;
/// A margin wider than a year says no more.
const MAX_MARGIN_SECONDS: f64 = 3.2e7;

#[cfg(test)]
mod tests {
    use super::*;

    const MS: f64 = 1e-3;

    /// 100 operations of 50 ms.
    fn evidence(attribution: &Attribution) -> BoundsEvidence<'_> {
        BoundsEvidence {
            operations: 100,
            turns: 0.0,
            waking: [0.0; 2],
            sleep: Duration::from_micros(150),
            is_lossy: false,
            server_margin: [0.0; 2],
            pacing: None,
            kept_windows: [0.0; 2],
            others: 0.0,
            attribution,
        }
    }

    fn bounds_of(evidence: BoundsEvidence<'_>) -> [Duration; 2] {
        let mut durations = DistributionBuilder::new();
        (0..100).for_each(|_| durations.add(Duration::from_millis(50)));
        let margins = evidence.margins(&mut durations).expect("durations");
        let (low, high) = BoundsEvidence::around(Duration::from_millis(50), &margins);
        [low, high]
    }

    fn distance_only() -> Attribution {
        Attribution {
            round_trip: Duration::from_millis(50),
            ..Attribution::default()
        }
    }

    /// Mostly round trips, with 10 ms of transfer.
    fn bounds(server_margin: [f64; 2], pacing: Option<f64>, is_lossy: bool) -> [Duration; 2] {
        bounds_with(server_margin, pacing, is_lossy, [0.0; 2])
    }

    fn bounds_with(
        server_margin: [f64; 2],
        pacing: Option<f64>,
        is_lossy: bool,
        kept_windows: [f64; 2],
    ) -> [Duration; 2] {
        let attribution = Attribution {
            round_trip: Duration::from_millis(40),
            transfer: Duration::from_millis(10),
            ..Attribution::default()
        };
        bounds_of(BoundsEvidence {
            turns: 4.0,
            is_lossy,
            server_margin,
            pacing,
            kept_windows,
            ..evidence(&attribution)
        })
    }

    #[test]
    fn windows_that_do_not_fall_make_transfers_shorter_but_not_than_the_rate() {
        let certain = bounds([0.0; 2], None, false);
        // 10 ms of transfer; windows grow during 9 ms.
        let [low, high] = bounds_with([0.0; 2], None, false, [9.0 * MS, 0.0]);
        assert_eq!(high, certain[1]);
        assert!(low < Duration::from_micros(41_000), "{low:?}");
        let [low, _] = bounds_with([0.0; 2], None, false, [9.0 * MS, 10.0 * MS]);
        assert_eq!(low, certain[0]);
    }

    #[test]
    fn bounds_hold_what_wrong_owners_may_add_and_take() {
        let attribution = distance_only();
        let bounds = |others: f64| {
            let [low, high] = bounds_of(BoundsEvidence {
                others,
                ..evidence(&attribution)
            });
            high.saturating_sub(low).as_secs_f64() / 0.1
        };
        // 2 % of the model, plus the assignment error.
        assert!((bounds(0.0) - 0.02).abs() < 0.001, "{}", bounds(0.0));
        let expected = 0.02_f64.hypot(0.05);
        assert!((bounds(0.1) - expected).abs() < 0.001, "{}", bounds(0.1));
    }

    #[test]
    fn bounds_hold_what_waking_may_take() {
        let attribution = distance_only();
        let bounds = |more: f64| {
            bounds_of(BoundsEvidence {
                waking: [MS, more],
                ..evidence(&attribution)
            })
        };
        let [low, high] = bounds(MS);
        let [same_low, higher] = bounds(7.0 * MS);
        assert_eq!(low, same_low);
        assert!(high < Duration::from_micros(51_500), "{high:?}");
        assert!(higher > Duration::from_micros(57_000), "{higher:?}");
    }

    #[test]
    fn bounds_hold_what_the_server_s_time_may_have_been() {
        let certain = bounds([0.0; 2], None, false);
        let [low, high] = bounds([8.0 * MS, 1.0 * MS], None, false);
        assert!(low < certain[0] && low < Duration::from_millis(42), "{low:?}");
        assert!(high > certain[1] && high < Duration::from_millis(52), "{high:?}");
    }

    #[test]
    fn bounds_hold_senders_that_do_not_pace() {
        let as_modelled = bounds([0.0; 2], None, false);
        let [low, high] = bounds([0.0; 2], Some(7.0 * MS), false);
        assert_eq!(high, as_modelled[1]);
        assert!(low < Duration::from_micros(43_000), "{low:?}");
    }

    #[test]
    fn senders_that_losses_do_not_slow_down_may_be_much_faster() {
        let [as_modelled, _] = bounds([0.0; 2], None, true);
        let [low, _] = bounds([0.0; 2], Some(0.0), true);
        assert!(
            low < as_modelled && low < Duration::from_micros(41_100),
            "{low:?}"
        );
    }
}
