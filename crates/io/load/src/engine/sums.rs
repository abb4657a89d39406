use super::super::control::Counters;
use super::super::{CpuTime, Error, ErrorCount, Outcome, Progress, RunControl};
use super::shared_run::SharedRun;
use model::{Direction, Distribution, DistributionBuilder, MeasuredDurations, PerDirection};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub(crate) struct ThreadSums {
    durations: DistributionBuilder,
    intended: DistributionBuilder,
    lag: DistributionBuilder,
    /// Per script, if there are several.
    scripts: Vec<DistributionBuilder>,
    errors: HashMap<String, u64>,
    last: Option<Instant>,
    /// Sum of the clients' own rates of successful operations.
    pub per_second: f64,
    pub not_begun: u64,
    pub turns: u64,
    payload_bytes: PerDirection<u64>,
    pub cpu: CpuTime,
    counters: Arc<Counters>,
}

impl ThreadSums {
    pub fn new(control: &RunControl, scripts: usize) -> Self {
        Self {
            durations: DistributionBuilder::new(),
            intended: DistributionBuilder::new(),
            lag: DistributionBuilder::new(),
            scripts: vec![DistributionBuilder::new(); if scripts > 1 { scripts } else { 0 }],
            errors: HashMap::new(),
            last: None,
            per_second: 0.0,
            not_begun: 0,
            turns: 0,
            payload_bytes: PerDirection::default(),
            cpu: CpuTime::default(),
            counters: control.join(),
        }
    }

    /// `lag` only in an open loop.
    pub fn done(&mut self, now: Instant, duration: Duration, lag: Option<Duration>, script: usize) {
        self.last = Some(now);
        self.durations.add(duration);
        if let Some(lag) = lag {
            self.intended.add(duration.saturating_add(lag));
            self.lag.add(lag);
        }
        self.counters.done(duration, lag.unwrap_or_default());
        if let Some(own) = self.scripts.get_mut(script) {
            own.add(duration);
        }
    }

    pub fn failed(&mut self, now: Instant, error: &Error) {
        self.last = Some(now);
        self.counters.failed();
        let text = error.to_string();
        let known = self.errors.len() < Outcome::MAX_ERRORS || self.errors.contains_key(&text);
        let text = if known {
            text
        } else {
            Outcome::OTHER_ERRORS.to_owned()
        };
        *self.errors.entry(text).or_default() += 1;
    }

    pub fn passed(&mut self, direction: Direction, count: u64) {
        self.payload_bytes[direction] += count;
    }

    fn progress(&self) -> Progress {
        self.counters.progress()
    }

    fn merge(&mut self, other: Self) {
        self.durations.merge(other.durations);
        self.intended.merge(other.intended);
        self.lag.merge(other.lag);
        for (own, others) in self.scripts.iter_mut().zip(other.scripts) {
            own.merge(others);
        }
        for (text, count) in other.errors {
            *self.errors.entry(text).or_default() += count;
        }
        self.last = self.last.max(other.last);
        self.per_second += other.per_second;
        self.not_begun += other.not_begun;
        self.turns += other.turns;
        for (own, others) in self.payload_bytes.iter_mut().zip(other.payload_bytes) {
            *own += others;
        }
        self.cpu.user += other.cpu.user;
        self.cpu.system += other.cpu.system;
    }
}

/// Rate of one client with `count` successes between `joined` and the `last` end of an operation.
pub(crate) fn own_rate(count: u64, joined: Instant, last: Instant) -> f64 {
    let worked = last.saturating_duration_since(joined).as_secs_f64();
    if worked > 0.0 { count as f64 / worked } else { 0.0 }
}

/// Returns the first error of a thread, if any.
pub(crate) fn outcome(
    ends: Vec<Result<ThreadSums, Error>>,
    shared: &SharedRun<'_>,
) -> Result<Outcome, Error> {
    let threads = ends.len();
    let mut sums = ends.into_iter().collect::<Result<Vec<_>, _>>()?.into_iter();
    let Some(mut sum) = sums.next() else {
        return Ok(Outcome::default());
    };
    let mut progress = sum.progress();
    for sums in sums {
        progress = progress.and(&sums.progress());
        sum.merge(sums);
    }
    let plan = shared.plan();
    let elapsed = sum
        .last
        .zip(shared.started())
        .map(|(last, started)| last.saturating_duration_since(started))
        .unwrap_or_default();
    if plan.rate.is_some() || !plan.ramp.is_zero() {
        sum.per_second = sum.durations.count() as f64 / elapsed.as_secs_f64().max(1e-9);
    }
    let failed = sum.errors.values().sum();
    let measured = MeasuredDurations::from_durations(&mut sum.durations, sum.per_second, failed);
    let open = |mut builder: DistributionBuilder| plan.rate.map(|_| builder.distribution());
    Ok(Outcome {
        measured,
        durations: sum.durations,
        deviation: progress.deviation(),
        intended: open(sum.intended),
        lag: open(sum.lag),
        not_begun: sum.not_begun,
        scripts: distributions(sum.scripts),
        errors: by_frequency(sum.errors),
        elapsed,
        connecting: Duration::ZERO,
        turns: sum.turns,
        payload_bytes: sum.payload_bytes,
        cpu: sum.cpu,
        threads: u32::try_from(threads).unwrap_or(u32::MAX),
    })
}

fn distributions(builders: Vec<DistributionBuilder>) -> Vec<Distribution> {
    builders
        .into_iter()
        .map(|mut builder| builder.distribution())
        .collect()
}

/// Most frequent first, in a stable order; the rest under one text.
fn by_frequency(errors: HashMap<String, u64>) -> Vec<ErrorCount> {
    let mut counts: Vec<ErrorCount> = errors
        .into_iter()
        .map(|(text, count)| ErrorCount { text, count })
        .collect();
    counts.sort_by(|one, other| other.count.cmp(&one.count).then(one.text.cmp(&other.text)));
    if counts.len() > Outcome::MAX_ERRORS {
        let others = counts.split_off(Outcome::MAX_ERRORS);
        counts.push(ErrorCount {
            text: Outcome::OTHER_ERRORS.to_owned(),
            count: others.iter().map(|error| error.count).sum(),
        });
    }
    counts
}
