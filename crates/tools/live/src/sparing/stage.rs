//! One thing to spare at a time, and the operations measured meanwhile.

use super::spared::Spared;
use model::{FindingKey, SparedExecutions, SparedOperation, SparingOutcome};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

#[derive(Debug, Clone)]
pub(super) struct Stage {
    pub(super) spared: Spared,
    pub(super) finding: Option<FindingKey>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Results {
    pub(super) measured: BTreeMap<Arc<str>, SparedOperation>,
    pub(super) executions: SparedExecutions,
    pub(super) ended: u64,
    pub(super) most_at_once: usize,
    /// Whether operations have the names of requests.
    pub(super) by_request: bool,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Arm {
    With(Duration),
    Without { took: Duration, removed: u64 },
    Mixed,
}

impl Stage {
    pub(super) const fn new(spared: Spared) -> Self {
        Self {
            spared,
            finding: None,
        }
    }

    /// Results of a finding are those of its own operations.
    pub(super) fn outcome(&self, mut results: Results, spared: String, rtt: Duration) -> SparingOutcome {
        if let Some(finding) = &self.finding {
            let name = &finding.operation_name;
            let own = results.of_finding(name);
            let mut own = own.cloned().unwrap_or_else(|| SparedOperation::new(name.clone()));
            own.name = name.clone();
            results.measured = BTreeMap::from([(name.clone(), own)]);
        }
        SparingOutcome {
            spared,
            rtt,
            finding: self.finding.clone(),
            executions: results.executions,
            operations: results.measured.into_values().collect(),
            ..SparingOutcome::default()
        }
    }

    /// Whether the difference is known well enough, or more operations would not help.
    pub(super) fn is_proved(&self, results: &Results) -> bool {
        let Some(finding) = &self.finding else {
            return false;
        };
        let at_once = results.most_at_once.max(1) as u64;
        let own = results.of_finding(&finding.operation_name);
        results.ended >= MAX_OPERATIONS * at_once || own.is_some_and(is_clear)
    }
}

fn is_clear(operation: &SparedOperation) -> bool {
    let counts = [operation.with.count(), operation.without.count()];
    let [less, more] = [counts[0].min(counts[1]), counts[0].max(counts[1])];
    let is_narrow = || {
        let saved = operation.saved()?;
        let margin = saved.margin().as_nanos() as f64;
        Some(margin <= MAX_MARGIN * saved.saves_ns.unsigned_abs() as f64)
    };
    less >= MIN_OPERATIONS && more <= 2 * less && is_narrow() == Some(true)
}

impl Results {
    /// Without requests, the analysis may name a burst otherwise than by its first statement: then it
    /// is the one measured most often.
    fn of_finding(&self, name: &Arc<str>) -> Option<&SparedOperation> {
        let count = |of: &&SparedOperation| of.with.count() + of.without.count() + of.mixed;
        let most = || self.measured.values().max_by_key(count);
        let own = self.measured.get(name);
        own.or_else(|| most().filter(|_| !self.by_request))
    }

    pub(super) fn new(by_request: bool) -> Self {
        Self {
            by_request,
            ..Self::default()
        }
    }

    pub(super) fn add(&mut self, name: Arc<str>, arm: Arm) {
        let measured = self.measured.entry(name);
        let measured = measured.or_insert_with_key(|name| SparedOperation::new(name.clone()));
        match arm {
            Arm::With(took) => measured.with.add(took),
            Arm::Without { took, removed } => {
                measured.without.add(took);
                measured.max_removed = measured.max_removed.max(removed);
            }
            Arm::Mixed => measured.mixed += 1,
        }
    }
}

/// Operations with and without each.
const MIN_OPERATIONS: u64 = 8;
/// As a share of the difference.
const MAX_MARGIN: f64 = 0.03;
/// For each that is in progress at once, of any name.
const MAX_OPERATIONS: u64 = 120;

#[cfg(test)]
mod tests {
    use super::*;
    use model::FindingKind;

    const NAME: &str = "GET /";

    fn of_finding() -> Stage {
        Stage {
            spared: Spared::Connecting,
            finding: Some(FindingKey {
                kind: FindingKind::Reconnect,
                fingerprint: None,
                operation_name: Arc::from(NAME),
            }),
        }
    }

    fn results(scatter: u64) -> Results {
        let mut results = Results::new(true);
        for step in 0..8 {
            let took = |base| Duration::from_millis(base + scatter * step);
            results.add(Arc::from(NAME), Arm::With(took(400)));
            let without = Arm::Without {
                took: took(100),
                removed: 15,
            };
            results.add(Arc::from(NAME), without);
        }
        results.ended = 16;
        results
    }

    #[test]
    fn a_finding_is_proved_with_a_narrow_interval_or_after_enough_operations() {
        assert!(of_finding().is_proved(&results(1)));
        let mut wide = results(20);
        assert!(!of_finding().is_proved(&wide));
        wide.ended = MAX_OPERATIONS;
        assert!(of_finding().is_proved(&wide));
        wide.most_at_once = 4;
        assert!(!of_finding().is_proved(&wide));
        assert!(!Stage::new(Spared::Control).is_proved(&results(1)));
    }

    #[test]
    fn a_finding_has_a_result_although_its_operation_was_not_seen() {
        let mut results = results(1);
        results.measured.clear();
        results.add(Arc::from("select ?"), Arm::Mixed);
        for by_request in [true, false] {
            results.by_request = by_request;
            let outcome = of_finding().outcome(results.clone(), String::new(), Duration::ZERO);
            let [own] = &outcome.operations[..] else {
                panic!("{outcome:?}");
            };
            assert_eq!((&*own.name, own.mixed), (NAME, u64::from(!by_request)));
        }
    }
}
