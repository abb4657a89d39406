//! Recent rates, from differences of sums.

use crate::Tab;
use crate::snapshot::Snapshot;
use model::PerDirection;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// Averaging period of rates, before the moment shown.
pub const WINDOW: Duration = Duration::from_secs(5);

/// Keeps at most [`MAX_SAMPLES`] times the rows of a snapshot.
#[derive(Debug, Default)]
pub(crate) struct History {
    samples: VecDeque<Sample>,
}

#[derive(Debug)]
struct Sample {
    at: Duration,
    /// Start of the summation.
    summed_since: Option<Duration>,
    turns: u64,
    payload_bytes: PerDirection<u64>,
    calls: HashMap<(Tab, Arc<str>), u64>,
    /// All rows are present, so a missing one had no call.
    complete: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Rates {
    pub(crate) turns: f64,
    pub(crate) payload_bytes: PerDirection<f64>,
}

const MAX_SAMPLES: usize = 16;

/// Differences over less time are not meaningful.
const MIN_SPAN: Duration = Duration::from_millis(50);

impl History {
    /// An earlier time, or another baseline, restarts the history.
    pub(crate) fn add_snapshot(&mut self, snapshot: &Snapshot) {
        let sample = Sample::from_snapshot(snapshot);
        if let Some(last) = self.samples.back()
            && (last.at > sample.at || last.summed_since != sample.summed_since || last.turns > sample.turns)
        {
            self.samples.clear();
        }
        if self.samples.back().is_some_and(|last| last.at == sample.at) {
            self.samples.pop_back();
        }
        let from = sample.at.saturating_sub(WINDOW);
        self.samples.push_back(sample);
        // The first is the last one before the window.
        while self.samples.len() > MAX_SAMPLES || self.samples.get(1).is_some_and(|second| second.at <= from)
        {
            self.samples.pop_front();
        }
    }

    /// Total rates, `None` until enough time has passed.
    pub(crate) fn rates(&self) -> Option<Rates> {
        let (first, last, seconds) = self.ends()?;
        let per_second = |from: u64, to: u64| to.saturating_sub(from) as f64 / seconds;
        let payload_bytes = first.payload_bytes.zip(last.payload_bytes);
        Some(Rates {
            turns: per_second(first.turns, last.turns),
            payload_bytes: payload_bytes.map(|(from, to)| per_second(from, to)),
        })
    }

    /// Calls per second of a row; `None` until enough time has passed, or if the calls at the start
    /// of the window are unknown.
    pub(crate) fn calls(&self, tab: Tab, name: &Arc<str>) -> Option<f64> {
        let (first, last, seconds) = self.ends()?;
        let key = (tab, Arc::clone(name));
        let now = last.calls.get(&key)?;
        let before = match first.calls.get(&key) {
            Some(before) => *before,
            None if first.complete => 0,
            None => return None,
        };
        Some(now.saturating_sub(before) as f64 / seconds)
    }

    fn ends(&self) -> Option<(&Sample, &Sample, f64)> {
        let (first, last) = (self.samples.front()?, self.samples.back()?);
        let span = last.at.saturating_sub(first.at);
        (span >= MIN_SPAN).then_some((first, last, span.as_secs_f64()))
    }
}

impl Sample {
    fn from_snapshot(snapshot: &Snapshot) -> Self {
        let outcome = &snapshot.outcome;
        let operations = outcome
            .operations
            .iter()
            .map(|group| ((Tab::Operations, Arc::clone(&group.name)), group.count));
        let statements = outcome.statements.iter().map(|statement| {
            let key = (Tab::Statements, Arc::clone(&statement.fingerprint));
            (key, statement.calls)
        });
        let mut calls: HashMap<(Tab, Arc<str>), u64> = HashMap::new();
        for (key, count) in operations.chain(statements) {
            *calls.entry(key).or_default() += count;
        }
        Self {
            at: snapshot.observed,
            summed_since: snapshot
                .since_baseline
                .map(|since| snapshot.observed.saturating_sub(since)),
            turns: snapshot.current.turns,
            payload_bytes: snapshot.current.payload_bytes,
            calls,
            complete: outcome.operations.len() < snapshot.most_rows
                && outcome.statements.len() < snapshot.most_rows,
        }
    }
}
