//! Keeps some operations of each name, for the page to show and replay.

use super::{InspectedOperation, RunSink};
use model::{Operation, OperationGroup};
use predict::Concurrency;
use std::cell::RefCell;
use std::collections::HashMap;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// Some operations of each name, evenly over the run. Bounded to the names with most time. Clones
/// share the samples.
#[derive(Debug, Clone, Default)]
pub struct Samples(Rc<RefCell<SamplesByName>>);

#[derive(Debug, Default)]
struct SamplesByName {
    names: HashMap<Arc<str>, Sampled>,
    unfinished: HashMap<u64, Parts>,
    steps: usize,
    /// The order of exchanges, known after the run.
    concurrency: Concurrency,
}

type Whole = Vec<Operation>;

#[derive(Debug, Default)]
struct Parts {
    parts: Whole,
    duration: Duration,
    steps: usize,
}

#[derive(Debug, Default)]
struct Sampled {
    time: Duration,
    seen: u64,
    /// One in this many is kept.
    stride: u64,
    whole: Vec<Whole>,
    /// The start of an operation that was too long to keep.
    beginning: Option<Operation>,
}

impl Samples {
    pub fn process_operation(&self, operation: &Operation) {
        self.0.borrow_mut().process_operation(operation);
    }

    pub fn set_concurrency(&self, concurrency: Concurrency) {
        self.0.borrow_mut().concurrency = concurrency;
    }

    /// The operation with the dependencies of its exchanges on a link with distance.
    pub fn expected(&self, operation: &Operation) -> Operation {
        self.0.borrow().concurrency.expected(operation)
    }

    /// Sampled operations of `name` in order, each as its parts.
    pub fn operations_of(&self, name: &Arc<str>) -> Vec<Whole> {
        let kept = self.0.borrow();
        kept.names
            .get(name)
            .map_or_else(Vec::new, |sampled| sampled.whole.clone())
    }

    /// An operation to show: of the sampled name with most time, the one with a duration nearest
    /// the median.
    pub fn example(&self, groups: &[OperationGroup]) -> Option<Operation> {
        let kept = self.0.borrow();
        by_time(groups).into_iter().find_map(|group| {
            let sampled = kept.names.get(&group.name)?;
            let median = group.spread.p50.unwrap_or_default();
            let first_parts = sampled.whole.iter().filter_map(|whole| whole.first());
            let nearest = first_parts.min_by_key(|operation| operation.duration.abs_diff(median));
            nearest.or(sampled.beginning.as_ref()).cloned()
        })
    }
}

impl RunSink for Samples {
    fn operation(&mut self, inspected: &mut InspectedOperation) -> io::Result<()> {
        self.process_operation(&inspected.operation);
        Ok(())
    }

    fn output(&self) -> Option<&'static str> {
        Some("the page is")
    }
}

pub fn by_time(groups: &[OperationGroup]) -> Vec<&OperationGroup> {
    let mut sorted: Vec<&OperationGroup> = groups.iter().collect();
    sorted.sort_by_key(|group| std::cmp::Reverse(group.attribution.total()));
    sorted
}

impl SamplesByName {
    fn process_operation(&mut self, operation: &Operation) {
        let mut parts = self.unfinished.remove(&operation.id).unwrap_or_default();
        parts.duration += operation.duration;
        parts.steps += operation.steps.len();
        if parts.steps <= MAX_EXCHANGES_PER_NAME || parts.parts.is_empty() {
            parts.parts.push(operation.clone());
        }
        if operation.continues {
            self.unfinished.insert(operation.id, parts);
        } else {
            self.keep(&operation.name, parts);
        }
    }

    fn keep(&mut self, name: &Arc<str>, parts: Parts) {
        if !self.names.contains_key(name) && self.names.len() >= MAX_NAMES {
            self.forget_least();
        }
        let sampled = self.names.entry(Arc::clone(name)).or_default();
        sampled.time += parts.duration;
        sampled.seen += 1;
        if parts.steps > MAX_EXCHANGES_PER_NAME {
            sampled.begin(parts.parts);
            return;
        }
        if !(sampled.seen - 1).is_multiple_of(sampled.stride.max(1)) {
            return;
        }
        self.steps += parts.steps;
        sampled.whole.push(parts.parts);
        self.steps -= sampled.thin_out();
        while self.steps > MAX_STEPS && self.names.len() > 1 {
            self.forget_least();
        }
    }

    fn forget_least(&mut self) {
        let least = self
            .names
            .iter()
            .min_by_key(|(name, sampled)| (sampled.time, Arc::clone(name)));
        if let Some(name) = least.map(|(name, _)| Arc::clone(name))
            && let Some(sampled) = self.names.remove(&name)
        {
            self.steps -= sampled.whole.iter().map(|whole| steps(whole)).sum::<usize>();
        }
    }
}

impl Sampled {
    fn begin(&mut self, parts: Whole) {
        if self.beginning.is_none()
            && let Some(mut first) = parts.into_iter().next()
        {
            first.steps.truncate(MAX_SHOWN_EXCHANGES);
            self.beginning = Some(first);
        }
    }

    /// Halves the samples while there are too many. Returns the number of exchanges dropped.
    fn thin_out(&mut self) -> usize {
        let mut dropped = 0;
        while self.whole.len() > 1
            && (self.whole.len() > MAX_OPERATIONS_PER_NAME
                || self.whole.iter().map(|whole| steps(whole)).sum::<usize>() > MAX_EXCHANGES_PER_NAME)
        {
            let mut index = 0;
            self.whole.retain(|whole| {
                index += 1;
                let kept = index % 2 == 1;
                dropped += if kept { 0 } else { steps(whole) };
                kept
            });
            self.stride = self.stride.max(1) * 2;
        }
        dropped
    }
}

fn steps(whole: &[Operation]) -> usize {
    whole.iter().map(|part| part.steps.len()).sum()
}

/// Beyond this, the name with the shortest time is dropped.
const MAX_NAMES: usize = 64;

const MAX_OPERATIONS_PER_NAME: usize = 64;

/// Also the longest operation that is kept complete.
const MAX_EXCHANGES_PER_NAME: usize = 20_000;

/// They take about 50 MB.
const MAX_STEPS: usize = 100_000;

const MAX_SHOWN_EXCHANGES: usize = 5_000;

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Attribution, OperationKind, Timestamp};

    fn operation(id: u64, name: &str, millis: u64, continues: bool) -> Operation {
        Operation {
            at: Timestamp::from_nanos(id),
            duration: Duration::from_millis(millis),
            continues,
            ..Operation::of_steps(id, name.into(), Vec::new())
        }
    }

    fn group(name: &str, median: u64) -> OperationGroup {
        OperationGroup {
            name: name.into(),
            kind: OperationKind::Burst,
            count: 1,
            turns: 1,
            most_turns: 1,
            spread: model::Distribution {
                p50: Some(Duration::from_millis(median)),
                ..model::Distribution::default()
            },
            median_range: None,
            attribution: Attribution {
                client: Duration::from_millis(median),
                ..Attribution::default()
            },
            setup: Duration::ZERO,
            assigned: model::Assignments::default(),
            evidence: model::Evidence::default(),
        }
    }

    #[test]
    fn samples_lie_evenly_over_the_run() {
        let samples = Samples::default();
        for id in 0..1000 {
            samples.process_operation(&operation(id, "a", 1, false));
        }
        let ids: Vec<u64> = samples
            .operations_of(&"a".into())
            .iter()
            .map(|whole| whole[0].id)
            .collect();
        assert!(
            ids.len() > MAX_OPERATIONS_PER_NAME / 2 && ids.len() <= MAX_OPERATIONS_PER_NAME,
            "{ids:?}"
        );
        assert!(ids.windows(2).all(|pair| pair[1] - pair[0] == ids[1]), "{ids:?}");
    }

    #[test]
    fn the_names_with_most_time_stay() {
        let samples = Samples::default();
        for id in 0..500 {
            samples.process_operation(&operation(id, &format!("rare {id}"), 1, false));
            samples.process_operation(&operation(1000 + id, "often", 2, false));
        }
        assert!(samples.0.borrow().names.len() <= MAX_NAMES);
        assert!(!samples.operations_of(&"often".into()).is_empty());
    }

    #[test]
    fn parts_of_one_operation_stay_together() {
        let samples = Samples::default();
        samples.process_operation(&operation(7, "long", 5, true));
        samples.process_operation(&operation(8, "other", 1, false));
        samples.process_operation(&operation(7, "long", 6, false));
        let kept = samples.operations_of(&"long".into());
        assert_eq!(kept.len(), 1);
        assert_eq!(kept[0].len(), 2);
    }

    #[test]
    fn the_example_is_nearest_the_median_of_the_name_with_most_time() {
        let samples = Samples::default();
        for (id, millis) in [(1, 10), (2, 31), (3, 90)] {
            samples.process_operation(&operation(id, "page", millis, false));
        }
        samples.process_operation(&operation(4, "ping", 1, false));
        let example = samples.example(&[group("ping", 1), group("page", 30)]);
        assert_eq!(example.map(|operation| operation.id), Some(2));
        assert!(samples.example(&[group("unseen", 1)]).is_none());
    }
}
