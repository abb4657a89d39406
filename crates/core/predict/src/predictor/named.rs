//! Operations of one name.

use super::examples::Examples;
use super::totals::{NameMargins, ReplayTotals, Sum};
use crate::sample_pool::SamplePool;
use crate::senders::KeptWindows;
use crate::target::PredictionTarget;
use crate::warming_up::{EXAMINED, Measured, cold};
use model::{DistributionBuilder, Evidence, Margin, Nanos, Order, OrderKind, Prediction, Share};
use std::sync::Arc;
use std::time::Duration;

#[derive(Debug)]
pub(super) struct Named {
    pub(super) name: Arc<str>,
    pub(super) operations: u64,
    pub(super) first_ended: Option<u64>,
    pub(super) nodes_without: usize,
    pub(super) sums: Vec<Sum>,
    /// The first operations that were replayed alone, until it is known which were cold.
    pub(super) first: Vec<Vec<Vec<ReplayTotals>>>,
    /// Per target, of operations replayed alone.
    pub(super) examples: Vec<Examples>,
    /// Single-client replays of operations with an open order: as expected, all at once, and all in
    /// sequence.
    pub(super) open_sums: [Vec<DistributionBuilder>; 3],
    pub(super) pool: SamplePool,
    pub(super) pauses: DistributionBuilder,
    pub(super) server_margin: Margin,
    pub(super) evidence: Evidence,
    /// Round trips that pacing adds on moved connections.
    pub(super) paced_round_trips: f64,
    pub(super) kept_windows: KeptWindows,
}

impl Named {
    pub(super) fn count(&mut self, wholes: Vec<Vec<ReplayTotals>>, number: u64) {
        self.operations += 1;
        self.first_ended.get_or_insert(number);
        if self.operations <= EXAMINED as u64 {
            self.first.push(wholes);
            return;
        }
        self.count_first();
        self.sum(&wholes);
    }

    /// Counts those of the first operations that were not cold.
    pub(super) fn count_first(&mut self) {
        let first = std::mem::take(&mut self.first);
        if first.is_empty() {
            return;
        }
        let measured = |wholes: &Vec<Vec<ReplayTotals>>| Some(wholes.iter().flatten().next()?.without_link());
        let measured: Option<Vec<Measured>> = first.iter().map(measured).collect();
        let cold = measured.map_or(0, |measured| cold(&measured));
        self.sums.iter_mut().for_each(|sum| sum.cold = cold as u64);
        first[cold..].iter().for_each(|wholes| self.sum(wholes));
    }

    fn sum(&mut self, wholes: &[Vec<ReplayTotals>]) {
        for (sum, wholes) in self.sums.iter_mut().zip(wholes) {
            wholes.iter().for_each(|whole| sum.add(whole));
        }
        for (examples, wholes) in self.examples.iter_mut().zip(wholes) {
            if let Some(whole) = wholes.first() {
                examples.add(whole);
            }
        }
    }

    /// With an open order, the bounds include both answers.
    pub(super) fn prediction(
        &mut self,
        index: usize,
        target: &PredictionTarget,
        order: Option<Order>,
        paced: bool,
        sleep: Duration,
    ) -> Option<Prediction> {
        let sum = std::mem::take(&mut self.sums[index]);
        let each = |sum: f64| sum / self.operations.max(1) as f64;
        let margins = NameMargins {
            server: [self.server_margin.below, self.server_margin.above]
                .map(|margin| each(margin.as_secs_f64())),
            paced_round_trips: paced.then(|| each(self.paced_round_trips)),
            kept_windows: match paced {
                true => [0.0; 2],
                false => self.kept_windows.seconds(&target.link, self.operations),
            },
            others: self.evidence.others().map_or(0.0, Share::as_fraction),
            sleep,
        };
        let mut prediction = sum.prediction(&self.name, self.operations, target, margins)?;
        prediction.order = order;
        prediction.unexplained = self.examples[index].unexplained();
        prediction.examples = self.examples[index].finish();
        let mut open = self.open_sums.iter_mut();
        let mut next = || open.next()?[index].percentile(50);
        if order.is_some_and(|order| order.kind == OrderKind::Open)
            && let (Some(expected), Some(at_once), Some(in_sequence)) = (next(), next(), next())
        {
            let share = |other: Duration| other.as_secs_f64() / expected.as_secs_f64().max(1e-9);
            prediction.low = prediction.low.mul_f64(share(at_once).min(1.0));
            prediction.high = prediction.high.mul_f64(share(in_sequence).max(1.0));
        }
        Some(prediction)
    }

    pub(super) fn cost(&self) -> u128 {
        let of_target = |sum: &Sum| {
            let replays = u128::from(sum.durations.count() + sum.idle).max(1);
            sum.attribution.total().as_nanos() * u128::from(self.operations) / replays
        };
        self.sums.iter().map(of_target).sum()
    }

    /// Median measured pause between two operations of a client, if short enough for a program
    /// rather than a user.
    pub(super) fn pause(&mut self) -> Nanos {
        let pause = self.pauses.percentile(50).unwrap_or_default();
        if pause <= MAX_PAUSE {
            pause.into()
        } else {
            Nanos::ZERO
        }
    }
}

/// Longer pauses between operations are a user's.
const MAX_PAUSE: Duration = Duration::from_millis(1);
