//! Fits how much longer client and server compute after longer rests than without added delay.
//!
//! The additional time is compared with the assumed allowance for the same work and rests; their
//! ratio is a factor. It varies over time and from one statement to another, and both are its scatter.

use crate::wake_up::{self, ASSUMED, Rest};
use model::{CalibratedFactor, CalibratedRest, Calibration, Nanos, PerSide, Side};
use std::collections::BTreeMap;
use std::time::Duration;

/// One computation of one side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ComputingSample {
    /// Equal for computations that do the same work.
    pub statement: u64,
    /// Number of the alternation over all delays.
    pub round: u32,
    /// The added delay.
    pub delay: Duration,
    pub computing: Nanos,
    /// Rest before it.
    pub rest: Nanos,
}

/// Factors by additional rest; as assumed where none is usable.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CalibratedCurve([Option<(Nanos, Option<CalibratedFactor>)>; MAX_POINTS]);

impl CalibratedCurve {
    /// `None` without a factor.
    fn new(side: Side, rests: &[CalibratedRest]) -> Option<Self> {
        let mut points = [None; MAX_POINTS];
        let of_side = rests.iter().filter(|rest| rest.side == side);
        for (place, rest) in points.iter_mut().zip(of_side) {
            *place = Some((Nanos::from(rest.longer), rest.factor));
        }
        let mut usable = points.iter().flatten().filter_map(|(_, factor)| *factor);
        usable.next().map(|_| Self(points))
    }

    pub(crate) fn is_whole(&self) -> bool {
        self.0.iter().flatten().all(|(_, factor)| factor.is_some())
    }

    /// # Errors
    /// If [`fit`] returns no such rests.
    pub fn of_both_sides(calibration: &Calibration) -> Result<PerSide<Option<Self>>, String> {
        if calibration.rests.is_empty() {
            return Err("it has no rests: measure with longwire calibrate".to_owned());
        }
        for side in Side::ALL {
            check(side, &calibration.rests)?;
        }
        Ok(PerSide::from_fn(|side| Self::new(side, &calibration.rests)))
    }

    /// Interpolated; beyond the measured rests that of the nearest.
    pub(crate) fn at(&self, longer: Nanos) -> CalibratedFactor {
        let mut before = None;
        for (rest, factor) in self.0.iter().flatten() {
            let factor = factor.unwrap_or(ASSUMED);
            if longer <= *rest {
                return before.map_or(factor, |before| between(before, (*rest, factor), longer));
            }
            before = Some((*rest, factor));
        }
        before.map_or(ASSUMED, |(_, factor)| factor)
    }
}

fn check(side: Side, rests: &[CalibratedRest]) -> Result<(), String> {
    let (mut count, mut before) = (0, Duration::ZERO);
    for rest in rests.iter().filter(|rest| rest.side == side) {
        if rest.longer <= before {
            return Err("its rests are not in ascending order".to_owned());
        }
        (count, before) = (count + 1, rest.longer);
        if count > MAX_POINTS {
            return Err(format!("a side has more than {MAX_POINTS} rests"));
        }
        match rest.factor {
            Some(factor) => check_factor(factor)?,
            None if rest.refused.is_none() => {
                return Err("a rest has neither a whole factor nor a reason for none".to_owned());
            }
            None => {}
        }
    }
    Ok(())
}

fn check_factor(factor: CalibratedFactor) -> Result<(), String> {
    let CalibratedFactor {
        factor,
        factor_low,
        factor_high,
    } = factor;
    let is_ordered = factor_low <= factor && factor <= factor_high;
    // Text rounds.
    if is_ordered && factor.is_finite() && factor_high - factor_low <= max_width() + 1e-9 {
        return Ok(());
    }
    Err(format!(
        "a factor of {factor} from {factor_low} to {factor_high}: it must be between them, and they at most {} \
         apart",
        max_width()
    ))
}

const fn max_width() -> f64 {
    ASSUMED.factor_high - ASSUMED.factor_low
}

fn between(
    (from, low): (Nanos, CalibratedFactor),
    (to, high): (Nanos, CalibratedFactor),
    at: Nanos,
) -> CalibratedFactor {
    let share = (at - from).as_f64() / (to - from).as_f64().max(1.0);
    let mix = |low: f64, high: f64| low + (high - low) * share;
    CalibratedFactor {
        factor: mix(low.factor, high.factor),
        factor_low: mix(low.factor_low, high.factor_low),
        factor_high: mix(low.factor_high, high.factor_high),
    }
}

/// Factors of one side, for each of the `delays` above zero.
pub fn fit(side: Side, samples: &[ComputingSample], delays: &[Duration]) -> Vec<CalibratedRest> {
    let cells = medians(samples);
    let delays = delays.iter().filter(|delay| !delay.is_zero());
    delays.map(|delay| calibrated(side, &cells, *delay)).collect()
}

/// Computations of one statement in one round with one delay.
#[derive(Debug, Clone, Copy)]
struct Cell {
    count: u64,
    computing: Nanos,
    rest: Nanos,
}

type Cells = BTreeMap<(Duration, u32, u64), Cell>;

fn medians(samples: &[ComputingSample]) -> Cells {
    let mut lists: BTreeMap<_, (Vec<Nanos>, Vec<Nanos>)> = BTreeMap::new();
    for sample in samples {
        let key = (sample.delay, sample.round, sample.statement);
        let (computing, rest) = lists.entry(key).or_default();
        computing.push(sample.computing);
        rest.push(sample.rest);
    }
    let cell = |(computing, rest): (Vec<Nanos>, Vec<Nanos>)| Cell {
        count: computing.len() as u64,
        computing: middle(computing),
        rest: middle(rest),
    };
    lists.into_iter().map(|(key, lists)| (key, cell(lists))).collect()
}

fn middle(mut times: Vec<Nanos>) -> Nanos {
    times.sort_unstable();
    let [low, high] = [(times.len() - 1) / 2, times.len() / 2].map(|place| times[place]);
    Nanos::new(u64::midpoint(low.get(), high.get()))
}

/// Weighted sums over cells.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    weight: f64,
    work: f64,
    additional: f64,
    assumed: f64,
}

impl Sums {
    fn add(&mut self, near: Cell, far: Cell) {
        let weight = near.count.min(far.count) as f64;
        let rest = Rest {
            measured: near.rest,
            own: far.rest,
            processor: None,
        };
        self.weight += weight;
        self.work += weight * near.computing.as_f64();
        self.additional += weight * (far.computing.as_f64() - near.computing.as_f64());
        self.assumed += weight * wake_up::allowance(near.computing, rest).as_f64();
    }

    fn factor(&self) -> f64 {
        self.additional / self.assumed.max(1.0)
    }
}

fn calibrated(side: Side, cells: &Cells, delay: Duration) -> CalibratedRest {
    let mut all = Sums::default();
    let mut rounds: BTreeMap<u32, Sums> = BTreeMap::new();
    let mut statements: BTreeMap<u64, Sums> = BTreeMap::new();
    let mut samples = 0;
    for (&(longer, round, statement), far) in cells {
        let Some(near) = cells.get(&(Duration::ZERO, round, statement)) else {
            continue;
        };
        // Rests vary: one that is no longer says nothing.
        if longer == delay && near.rest < far.rest {
            samples += near.count.min(far.count);
            all.add(*near, *far);
            rounds.entry(round).or_default().add(*near, *far);
            statements.entry(statement).or_default().add(*near, *far);
        }
    }
    let mean = |sum: f64| sum / all.weight.max(1.0);
    let by_time = scatter(rounds.values());
    let by_statement = scatter(statements.values());
    let factor = all.factor();
    let distance = |way: usize| (by_time[way] - factor).hypot(by_statement[way] - factor);
    let factor = CalibratedFactor {
        factor,
        factor_low: factor - distance(0),
        factor_high: factor + distance(1),
    };
    let refused = refusal(samples, rounds.len(), factor);
    CalibratedRest {
        side,
        longer: delay,
        samples,
        work: Nanos::from_f64(mean(all.work)).into(),
        additional_ns: mean(all.additional).round() as i64,
        factor: refused.is_none().then_some(factor),
        refused,
    }
}

/// 10th and 90th percentiles, weighted by the assumed allowance.
fn scatter<'a>(sums: impl Iterator<Item = &'a Sums>) -> [f64; 2] {
    let mut values: Vec<(f64, f64)> = sums.map(|sums| (sums.factor(), sums.assumed)).collect();
    values.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let total: f64 = values.iter().map(|(_, weight)| weight).sum();
    [0.1, 0.9].map(|share| {
        let mut passed = 0.0;
        let at = values.iter().find(|(_, weight)| {
            passed += weight;
            passed >= share * total
        });
        at.map_or(0.0, |(value, _)| *value)
    })
}

fn refusal(samples: u64, rounds: usize, factor: CalibratedFactor) -> Option<String> {
    let counts = [
        (samples, MIN_SAMPLES, "requests"),
        (rounds as u64, MIN_ROUNDS, "rounds"),
    ];
    let missing = counts.iter().filter(|(count, min, _)| count < min);
    let missing: Vec<String> = missing
        .map(|(count, min, of)| format!("{count} of {min} {of}"))
        .collect();
    if !missing.is_empty() {
        return Some(format!("too few: {}", missing.join(", ")));
    }
    let width = factor.factor_high - factor.factor_low;
    (width > max_width()).then(|| format!("scatter: {:.1} to {:.1}", factor.factor_low, factor.factor_high))
}

const MAX_POINTS: usize = 4;
const MIN_SAMPLES: u64 = 30;
const MIN_ROUNDS: u64 = 4;

#[cfg(test)]
mod tests;
