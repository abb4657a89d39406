//! Between which bounds the median of a run is expected.

use crate::wake_up::{FEWER, MORE, SLEEP};
use model::{Attribution, DistributionBuilder};
use std::time::Duration;

/// What a prediction rests on.
#[derive(Debug, Clone, Copy)]
pub struct BoundsEvidence<'a> {
    /// Operations that were measured.
    pub operations: u64,
    /// Turns of one, on the moved connections.
    pub turns: f64,
    /// The part of one that is the allowance for waking up, in seconds.
    pub waking: f64,
    /// Whether the link loses packets at random.
    pub is_lossy: bool,
    /// Where the predicted time goes, summed over all replays.
    pub attribution: &'a Attribution,
}

impl BoundsEvidence<'_> {
    /// The bounds of the median in a run of as many operations as were measured; absent without `durations`.
    ///
    /// Four things keep it from being the predicted one, independently of each other, so that their squares add up:
    /// - Which operations the two runs happened to consist of: so far apart are the order statistics that hold the median of
    ///   as many draws nine times in ten, in both runs.
    /// - The model: [`MODEL_ERROR`] of the network's time, and [`LOSS_ERROR`] of transfers over a link that loses packets.
    /// - Client and server, which take other times in another run: [`COMPUTING_ERROR`] of theirs, more where few operations
    ///   show how they vary, and [`TURN_ERROR`] a turn.
    /// - The allowance for waking up, which is assumed: [`FEWER`] of it less, [`MORE`] of it and [`SLEEP`] a turn more.
    pub fn bounds(&self, durations: &mut DistributionBuilder) -> Option<(Duration, Duration)> {
        let ranks = self.ranks();
        let median = durations.percentile(50)?;
        let [below, above] = [durations.percentile(ranks.0)?, durations.percentile(ranks.1)?];
        let margin = |drawn: Duration, of_waking: f64| {
            let other = self.other_errors(median.as_secs_f64()).hypot(of_waking);
            Duration::from_secs_f64(drawn.as_secs_f64().hypot(other).min(LONGEST))
        };
        let low = margin(median.saturating_sub(below), self.waking * FEWER);
        let asleep = self.turns.max(0.0) * SLEEP.as_secs_f64();
        let high = margin(above.saturating_sub(median), self.waking * MORE + asleep);
        Some((median.saturating_sub(low), median.saturating_add(high)))
    }

    /// The percentiles between which the median lies nine times in ten, when both it and its prediction come from as
    /// many draws.
    fn ranks(&self) -> (u8, u8) {
        // 1.645 standard deviations of a median's rank, sqrt(n) / 2, times sqrt(2) for two runs.
        let half = 116.3 / (self.operations.max(1) as f64).sqrt();
        let half = half.ceil().min(45.0) as u8;
        (50 - half, 50 + half)
    }

    /// Errors of model, client and server, in seconds.
    fn other_errors(&self, median: f64) -> f64 {
        let total = self.attribution.total().as_secs_f64().max(1e-9);
        let computing = self.attribution.client + self.attribution.server + self.attribution.unknown;
        let share = computing.as_secs_f64() / total;
        let unknown = UNKNOWN_VARIATION / (self.operations.max(1) as f64).sqrt();
        let transfer = (self.attribution.transfer + self.attribution.recovery).as_secs_f64() / total;
        let windows = if self.is_lossy { LOSS_ERROR * transfer } else { 0.0 };
        let model = median * ((1.0 - share) * MODEL_ERROR).hypot(windows);
        let computing = median * share * COMPUTING_ERROR.hypot(unknown);
        model.hypot(computing).hypot(self.turns.max(0.0) * TURN_ERROR)
    }
}

/// Holds for 98 of 100 exchanges measured with the kernel's TCP: docs/prediction.md.
const MODEL_ERROR: f64 = 0.02;
/// Of what large transfers take where windows depend on losses that no two runs share: measured against cubic, 20 %.
const LOSS_ERROR: f64 = 0.25;
/// Seconds.
const TURN_ERROR: f64 = 30e-6;
const COMPUTING_ERROR: f64 = 0.15;
const UNKNOWN_VARIATION: f64 = 0.5;
/// A margin of a year is no margin.
const LONGEST: f64 = 3.2e7;
