//! Operations replayed without what the remedies of findings leave out.
//!
//! What is left out keeps the time of client and server and loses its way: no round trip, no transfer. So a saving is what the operation as a whole gains,
//! with all that overlapped; that the server has less to do is not claimed.

use crate::plan::OperationPlan;
use foldhash::HashMap;
use model::{FindingKey, LeftOut};
use std::time::Duration;

/// What remedies save on one target, over the operations that were replayed without them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RemedySum {
    /// Operations.
    pub operations: u64,
    /// Time saved in them.
    pub saved: Duration,
}

/// What remedies save, by finding and target.
#[derive(Debug, Default)]
pub struct Remedies {
    sums: HashMap<FindingKey, Vec<RemedySum>>,
    last_operation: HashMap<FindingKey, u64>,
}

impl Remedies {
    /// Adds what the remedy of a finding saves in an operation, or a part of one, on each of the targets on which it was replayed.
    pub(crate) fn add(&mut self, finding: &FindingKey, operation: u64, saved: &[Option<Duration>]) {
        let sums = self
            .sums
            .entry(finding.clone())
            .or_insert_with(|| vec![RemedySum::default(); saved.len()]);
        let is_new = self.last_operation.insert(finding.clone(), operation) != Some(operation);
        for (sum, saved) in sums.iter_mut().zip(saved) {
            if let Some(saved) = saved {
                sum.operations += u64::from(is_new);
                sum.saved += *saved;
            }
        }
    }

    /// What the remedy of a finding saves on the target with this number; absent where nothing was replayed without it.
    pub fn of(&self, finding: &FindingKey, target: usize) -> Option<RemedySum> {
        let sum = self.sums.get(finding)?.get(target)?;
        (sum.operations > 0).then_some(*sum)
    }

    /// The findings whose remedies left something out of an operation.
    pub fn findings(&self) -> impl Iterator<Item = &FindingKey> {
        self.sums.keys()
    }
}

/// The plan without what these leave out.
pub(crate) fn without<'a>(
    plan: &OperationPlan,
    left_out: impl IntoIterator<Item = &'a LeftOut>,
) -> OperationPlan {
    let mut plan = plan.clone();
    for one in left_out {
        for step in &one.steps {
            plan.leave_out(*step as usize);
        }
        for step in &one.held_back {
            plan.hold_nothing_back(*step as usize);
        }
    }
    plan
}
