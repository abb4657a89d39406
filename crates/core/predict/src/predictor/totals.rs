//! Replays of one name on one target, summed.

use crate::bounds::BoundsEvidence;
use crate::critical_path::{CriticalPath, Within};
use crate::target::PredictionTarget;
use crate::warming_up::Measured;
use model::{
    Attribution, BoundBy, BoundsMargin, BoundsScale, DistributionBuilder, MarginSource, Nanos, Prediction,
};
use std::sync::Arc;
use std::time::Duration;

#[derive(Debug, Clone, Copy, Default)]
pub struct ReplayTotals {
    pub duration: Duration,
    pub attribution: Attribution,
    pub turns: u64,
    pub within: Within,
    pub measured: Duration,
    /// Measured, without the allowance for rests.
    pub computing: Nanos,
    /// Measured duration minus its replay, in nanoseconds.
    pub unexplained: i64,
    pub saved: Duration,
    /// Whether remedies would save, but the operation was not replayed without the left-out
    /// exchanges.
    pub is_saving_open: bool,
}

impl ReplayTotals {
    pub(super) fn without_link(&self) -> Measured {
        Measured {
            computing: self.computing,
            round_trips: self.turns,
        }
    }

    pub fn add(&mut self, critical_path: &CriticalPath, turns: u64) {
        self.duration += critical_path.duration;
        self.attribution.add(&critical_path.attribution);
        self.within.add(&critical_path.within);
        self.turns += turns;
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct NameMargins {
    pub(super) server: [f64; 2],
    pub(super) paced_round_trips: Option<f64>,
    pub(super) kept_windows: [f64; 2],
    pub(super) others: f64,
    pub(super) sleep: Duration,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Sum {
    pub(super) durations: DistributionBuilder,
    pub(super) attribution: Attribution,
    pub(super) turns: u64,
    pub(super) within: Within,
    /// Operations without any wait: messages that are not answered.
    pub(super) idle: u64,
    pub(super) workers: Option<u32>,
    /// The first operations, left out because they were slower than the rest.
    pub(super) cold: u64,
    /// Duration of a closed loop; `None` for operations replayed alone.
    pub(super) elapsed: Option<Duration>,
    /// The median under alternative assumptions about the clients.
    pub(super) medians: Vec<Duration>,
}

impl Sum {
    pub(super) fn add(&mut self, whole: &ReplayTotals) {
        if whole.turns == 0 && whole.duration.is_zero() {
            self.idle += 1;
            return;
        }
        self.durations.add(whole.duration);
        self.attribution.add(&whole.attribution);
        self.turns += whole.turns;
        self.within.add(&whole.within);
    }

    /// Mean round trips on the critical path; `None` on a link without distance.
    fn on_path(&self, replays: u64, rtt: Duration) -> Option<f64> {
        let round_trips = self.attribution.round_trip.as_secs_f64() / replays as f64;
        (!rtt.is_zero()).then(|| round_trips / rtt.as_secs_f64())
    }

    pub(super) fn prediction(
        mut self,
        name: &Arc<str>,
        operations: u64,
        target: &PredictionTarget,
        margins: NameMargins,
    ) -> Option<Prediction> {
        // Together with operations that wait they would only pull the median to 0.
        if self.durations.count() == 0 && self.idle > 0 {
            self.durations.add(Duration::ZERO);
        }
        let duration = self.durations.percentile(50)?;
        let replays = self.durations.count();
        let turns = self.turns as f64 / replays as f64;
        let operations = operations.saturating_sub(self.cold);
        let (low, high, margins) = self.bounds(duration, operations, target, margins)?;
        let per_second = match self.elapsed {
            Some(elapsed) => replays as f64 / elapsed.as_secs_f64().max(1e-9),
            None => f64::from(target.clients) / self.durations.mean()?.as_secs_f64().max(1e-9),
        };
        Some(Prediction {
            operation_name: Arc::clone(name),
            operations,
            warming_up: self.cold,
            rtt: target.link.rtt,
            rate: target.link.rate,
            link: target.link.to_string().into(),
            clients: target.clients,
            workers: self.workers,
            duration,
            low,
            high,
            margins,
            unscaled: [low, high],
            scale: BoundsScale::NONE,
            spread: self.durations.distribution(),
            per_second,
            turns,
            slope: self.on_path(replays, target.link.rtt).unwrap_or(turns),
            order: None,
            bound_by: bound_by(&self.attribution, &self.within),
            attribution: self.attribution,
            unexplained: None,
            examples: None,
            measured: None,
        })
    }

    /// Of the median `duration`.
    fn bounds(
        &mut self,
        duration: Duration,
        operations: u64,
        target: &PredictionTarget,
        margins: NameMargins,
    ) -> Option<(Duration, Duration, Vec<BoundsMargin>)> {
        let replays = self.durations.count() as f64;
        let within = &self.within;
        let evidence = BoundsEvidence {
            operations,
            turns: self.turns as f64 / replays,
            waking: [
                within.waking.saturating_sub(within.waking_low),
                within.waking_high.saturating_sub(within.waking),
            ]
            .map(|margin| margin.as_secs_f64() / replays),
            sleep: margins.sleep,
            is_lossy: target.link.loss.is_some(),
            server_margin: margins.server,
            pacing: margins
                .paced_round_trips
                .map(|round_trips| round_trips * target.link.rtt.as_secs_f64()),
            kept_windows: margins.kept_windows,
            others: margins.others,
            attribution: &self.attribution,
        };
        let mut margins = evidence.margins(&mut self.durations)?;
        let (mut low, mut high) = BoundsEvidence::around(duration, &margins);
        let [evidence_low, evidence_high] = [low, high];
        for other in &self.medians {
            low = low.min(evidence_low.saturating_sub(duration.saturating_sub(*other)));
            high = high.max(evidence_high.saturating_add(other.saturating_sub(duration)));
        }
        let hosts = [evidence_low - low, high - evidence_high];
        if hosts != [Duration::ZERO; 2] {
            margins.push(BoundsMargin {
                source: MarginSource::Hosts,
                seconds: hosts.map(|margin| margin.as_secs_f64()),
            });
        }
        Some((low, high, margins))
    }
}

fn bound_by(attribution: &Attribution, within: &Within) -> BoundBy {
    let Within {
        waking: _,
        waking_low: _,
        waking_high: _,
        held_back,
        window,
        unexplained,
    } = *within;
    let own = attribution.client + attribution.unknown;
    let transfer = attribution.transfer + attribution.recovery;
    let kinds = [
        (BoundBy::RoundTrips, attribution.round_trip),
        (BoundBy::Rate, transfer.saturating_sub(held_back + window)),
        (BoundBy::Window, window),
        (BoundBy::DelayedAcks, held_back),
        (BoundBy::Server, attribution.server + attribution.pooler),
        (BoundBy::Client, own.saturating_sub(unexplained)),
        (BoundBy::Unexplained, unexplained),
    ];
    kinds
        .into_iter()
        .rev()
        .max_by_key(|(_, time)| *time)
        .map_or(BoundBy::Client, |(kind, _)| kind)
}

/// Sets the slopes of one name over predictions that differ only in rtt, nearest to farthest. A
/// single prediction keeps the round trips on its path.
pub fn set_slopes(predictions: &mut [Prediction]) {
    let slopes: Vec<Option<f64>> = predictions.iter().map(|one| slope(one, predictions)).collect();
    for (prediction, slope) in predictions.iter_mut().zip(slopes) {
        prediction.slope = slope.unwrap_or(prediction.slope);
    }
}

fn slope(one: &Prediction, all: &[Prediction]) -> Option<f64> {
    let besides = |prediction: &Prediction| {
        let link = prediction.link.split_whitespace();
        let others: Vec<&str> = link.filter(|setting| !setting.starts_with("rtt=")).collect();
        (prediction.clients, others.join(" "))
    };
    let own = besides(one);
    let alike = || all.iter().filter(|other| besides(other) == own);
    let nearest = alike().min_by_key(|other| other.rtt)?;
    let farthest = alike().max_by_key(|other| other.rtt)?;
    let apart = farthest.rtt.saturating_sub(nearest.rtt).as_secs_f64();
    let longer = farthest.duration.as_secs_f64() - nearest.duration.as_secs_f64();
    (apart > 0.0).then(|| longer / apart)
}
