//! Operations at every level over links of many rates: what they take, and the rate at which a level stops to pay.

use super::rewrite;
use link::LinkDescription;
use model::{BitRate, BreakEven, Operation, OperationStep};
use predict::{Predictor, Target};
use std::time::Duration;

/// Mean durations of operations at one level, over links of this round trip.
pub struct Level {
    operations: Vec<Operation>,
    rtt: Duration,
}

impl Level {
    /// The operations at the level that is number `level` of each exchange's; those of which that is not known are left out.
    pub fn new(
        operations: &[Operation],
        level: usize,
        rtt: Duration,
        moves: &dyn Fn(&OperationStep) -> bool,
    ) -> Self {
        let operations = operations
            .iter()
            .filter_map(|operation| rewrite::at_level(operation, level, moves));
        Self {
            operations: operations.collect(),
            rtt,
        }
    }

    /// The mean duration of an operation over a link of each of these rates; nothing without operations.
    pub fn durations(&self, rates: &[BitRate]) -> Vec<Duration> {
        let target = |rate: &BitRate| Target {
            link: LinkDescription {
                rate: [Some(*rate); 2],
                ..LinkDescription::with_rtt(self.rtt)
            },
            clients: 1,
        };
        let mut predictor = Predictor::new(
            rates.iter().map(target).collect(),
            Box::new(rewrite::is_on_a_lane),
        );
        self.operations
            .iter()
            .for_each(|operation| predictor.add(operation));
        let predictions = predictor.finish();
        let mean = |index: usize| {
            let of_rate = predictions.iter().skip(index).step_by(rates.len().max(1));
            let (mut sum, mut operations) = (0.0, 0);
            for prediction in of_rate {
                let spread = prediction.spread;
                sum += spread.mean.unwrap_or_default().as_secs_f64() * spread.count as f64;
                operations += spread.count;
            }
            (operations > 0).then(|| Duration::from_secs_f64(sum / operations as f64))
        };
        (0..rates.len()).filter_map(mean).collect()
    }
}

/// The rate up to which `level` is faster than `off`: the first of [`SEARCHED`] upwards at which it is not, and then between
/// that and the one before, closer and closer.
pub fn break_even(off: &Level, level: &Level) -> Option<BreakEven> {
    let rates: Vec<BitRate> = SEARCHED
        .into_iter()
        .filter_map(BitRate::from_bits_per_second)
        .collect();
    let (mut low, mut high) = match crossing(off, level, &rates)? {
        Crossing::BeforeAll => return Some(BreakEven::Never),
        Crossing::AfterAll => return rates.last().map(|rate| BreakEven::Above(*rate)),
        Crossing::Between(low, high) => (low, high),
    };
    while high as f64 / low as f64 > CLOSE {
        let steps = (1..STEPS).map(|step| {
            let part = f64::from(step) / f64::from(STEPS);
            (low as f64 * (high as f64 / low as f64).powf(part)).round() as u64
        });
        let rates: Vec<BitRate> = steps.filter_map(BitRate::from_bits_per_second).collect();
        (low, high) = match crossing(off, level, &rates)? {
            Crossing::BeforeAll => (low, rates.first()?.as_bits_per_second()),
            Crossing::AfterAll => (rates.last()?.as_bits_per_second(), high),
            Crossing::Between(low, high) => (low, high),
        };
    }
    BitRate::from_bits_per_second(u64::midpoint(low, high)).map(BreakEven::At)
}

enum Crossing {
    BeforeAll,
    Between(u64, u64),
    AfterAll,
}

fn crossing(off: &Level, level: &Level, rates: &[BitRate]) -> Option<Crossing> {
    let (off, level) = (off.durations(rates), level.durations(rates));
    if off.len() != rates.len() || level.len() != rates.len() {
        return None;
    }
    let lost = off.iter().zip(&level).position(|(off, level)| level >= off);
    let at = |index: usize| rates.get(index).map(|rate| rate.as_bits_per_second());
    Some(match lost {
        None => Crossing::AfterAll,
        Some(0) => Crossing::BeforeAll,
        Some(index) => Crossing::Between(at(index - 1)?, at(index)?),
    })
}

/// Bits per second: four to a power of ten, from a telephone line to a fast data centre.
const SEARCHED: [u64; 22] = [
    56_000,
    100_000,
    178_000,
    316_000,
    562_000,
    1_000_000,
    1_780_000,
    3_160_000,
    5_620_000,
    10_000_000,
    17_800_000,
    31_600_000,
    56_200_000,
    100_000_000,
    178_000_000,
    316_000_000,
    562_000_000,
    1_000_000_000,
    1_780_000_000,
    3_160_000_000,
    5_620_000_000,
    10_000_000_000,
];

/// Into how many steps an interval is cut at once.
const STEPS: u32 = 6;

/// As close as the ends of the interval come.
const CLOSE: f64 = 1.002;
