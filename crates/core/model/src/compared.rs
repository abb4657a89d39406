//! Operations of one name in two runs.

use crate::{OperationGroup, OperationKind};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Operations of one kind and name in an earlier and a later run; at least one has them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComparedOperation {
    /// Name of the operations.
    pub name: Arc<str>,
    /// Kind of the operations.
    pub kind: OperationKind,
    /// Before and now.
    pub groups: [Option<OperationGroup>; 2],
}

impl ComparedOperation {
    /// Pairs the operations of two runs, the largest change of a median first.
    pub fn pairs(before: Vec<OperationGroup>, now: Vec<OperationGroup>) -> Vec<Self> {
        let mut pairs = BTreeMap::new();
        for (run, groups) in [before, now].into_iter().enumerate() {
            for group in groups {
                let pair = pairs.entry((group.kind, group.name.clone()));
                pair.or_insert([None, None])[run] = Some(group);
            }
        }
        let pair = |((kind, name), groups)| Self { name, kind, groups };
        let mut pairs: Vec<Self> = pairs.into_iter().map(pair).collect();
        pairs.sort_by_key(|pair| std::cmp::Reverse(pair.change()));
        pairs
    }

    /// Medians before and now, if both runs have operations.
    pub fn medians(&self) -> Option<[Duration; 2]> {
        let [before, now] = self.groups.each_ref().map(|group| group.as_ref()?.spread.p50);
        Some([before?, now?])
    }

    /// Whether the 95 % ranges of the two medians are apart. `None` if a run has too few operations
    /// for a range.
    pub fn is_beyond_scatter(&self) -> Option<bool> {
        let [before, now] = self.groups.each_ref().map(|group| group.as_ref()?.median_range);
        let ([low_before, high_before], [low, high]) = (before?, now?);
        Some(high < low_before || high_before < low)
    }

    /// Change of the median; of operations in one run only, their median.
    fn change(&self) -> Duration {
        let median = |group: &Option<OperationGroup>| group.as_ref().and_then(|group| group.spread.p50);
        let [before, now] = self.groups.each_ref().map(median).map(Option::unwrap_or_default);
        before.abs_diff(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DistributionBuilder;

    /// Exponential durations, reproducible.
    fn group(name: &str, seed: &mut u64, count: u64, mean: f64) -> OperationGroup {
        let mut durations = DistributionBuilder::new();
        for _ in 0..count {
            *seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let uniform = ((*seed >> 33) as f64 + 0.5) / f64::from(1_u32 << 31);
            durations.add(Duration::from_secs_f64(-mean * uniform.ln()));
        }
        OperationGroup {
            name: name.into(),
            kind: OperationKind::Http,
            count,
            turns: count,
            most_turns: 1,
            spread: durations.distribution(),
            median_range: durations.median_range(),
            attribution: crate::Attribution::default(),
            setup: Duration::ZERO,
            assigned: crate::Assignments::default(),
            evidence: crate::Evidence::default(),
        }
    }

    fn verdict(seed: &mut u64, counts: [u64; 2], means: [f64; 2]) -> Option<bool> {
        let [before, now] = [0, 1].map(|run| vec![group("page", seed, counts[run], means[run])]);
        ComparedOperation::pairs(before, now)[0].is_beyond_scatter()
    }

    #[test]
    fn scatter_is_rarely_called_a_change_and_a_change_rarely_scatter() {
        let mut seed = 7;
        for count in [6, 40, 400] {
            let mut beyond = |mean| {
                let runs = (0..500).filter(|_| verdict(&mut seed, [count, 40], [1.0, mean]) == Some(true));
                runs.count()
            };
            assert!(beyond(1.0) <= 10, "the same work, {count} operations");
            assert!(beyond(9.0) >= 350, "nine times as long, {count} operations");
        }
    }

    #[test]
    fn there_is_no_verdict_without_operations_in_both_runs() {
        assert_eq!(verdict(&mut 1, [5, 400], [1.0, 100.0]), None);
        let mut seed = 1;
        let [old, new] = ["old", "new"].map(|name| vec![group(name, &mut seed, 40, 1.0)]);
        let pairs = ComparedOperation::pairs(old, new);
        assert_eq!(pairs.len(), 2);
        assert!(
            pairs
                .iter()
                .all(|pair| pair.is_beyond_scatter().is_none() && pair.medians().is_none())
        );
    }

    #[test]
    fn the_largest_change_is_first() {
        let mut seed = 3;
        let mut run = |means: [f64; 2]| {
            let [a, b] = means;
            vec![group("a", &mut seed, 40, a), group("b", &mut seed, 40, b)]
        };
        let pairs = ComparedOperation::pairs(run([1.0, 1.0]), run([1.1, 50.0]));
        assert_eq!(&*pairs[0].name, "b");
    }
}
