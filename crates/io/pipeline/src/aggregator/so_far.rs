//! Intermediate results of a run, for a screen.

use super::Aggregator;
use crate::sinks::{Overviews, RecentOperations, SoFar, unseen};
use analysis::findings::Findings;
use model::Finding;
use std::time::Duration;

impl Aggregator {
    /// Intermediate results with at most `rows` of each kind, and findings priced at `prices`.
    /// Takes milliseconds, so call it for a screen and not for every fact.
    pub fn so_far(&mut self, rows: usize, prices: &[Duration]) -> SoFar {
        let mut so_far = SoFar::default();
        so_far.outcome.conditions = self.conditions.clone();
        self.sinks.so_far(rows, prices, &mut so_far);
        let outcome = &mut so_far.outcome;
        outcome.warnings.extend(self.poolers.notes());
        // Not all operations are at hand, so strays are reported at the end.
        outcome.warnings.extend(unseen(&outcome.summary, &[], None));
        so_far
    }

    pub fn findings_so_far(&self) -> Vec<Finding> {
        let findings = self.sinks.find::<Findings>();
        findings
            .map(|findings| findings.so_far_priced().findings)
            .unwrap_or_default()
    }

    /// Restricts intermediate results to the time from now on.
    pub fn set_baseline(&mut self) {
        if let Some(overviews) = self.sinks.find_mut::<Overviews>() {
            overviews.set_baseline();
        }
    }

    pub fn remove_baseline(&mut self) {
        if let Some(overviews) = self.sinks.find_mut::<Overviews>() {
            overviews.remove_baseline();
        }
    }

    pub fn recent(&self) -> Option<&RecentOperations> {
        self.sinks.find()
    }
}
