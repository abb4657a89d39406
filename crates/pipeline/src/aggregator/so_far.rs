//! Intermediate results of a run, for a screen.

use super::{Aggregator, owners, seen};
use crate::sinks::recent::RecentOperations;
use analysis::current::{Current, CurrentTotals, OpenConnection};
use analysis::overview::Overview;
use model::{Finding, Summary, Warning};
use report::ReadOutcome;
use std::time::Duration;

#[derive(Debug)]
pub struct SoFar {
    /// As at the end, but limited to the requested rows, without predictions and without open
    /// operations. With a baseline, totals, statements, operations and transactions count since
    /// then.
    pub outcome: ReadOutcome,
    pub current: CurrentTotals,
    pub open: Vec<OpenConnection>,
}

impl Aggregator {
    /// Ends bursts without a new exchange since the last call. Without traffic, no other event ends
    /// them.
    pub fn close_resting(&mut self) {
        let sinks = &mut self.sinks;
        self.operations
            .close_resting(&mut |grouped| sinks.process_grouped(grouped));
    }

    /// Intermediate results with at most `rows` of each kind, and findings priced at `prices`.
    /// Takes milliseconds, so call it for a screen and not for every fact.
    pub fn so_far(&mut self, rows: usize, prices: &[Duration]) -> SoFar {
        let sinks = &mut self.sinks;
        let totals = match &mut sinks.since_baseline {
            Some(overview) => overview.so_far(rows),
            None => sinks.overview.so_far(rows),
        };
        let findings = sinks
            .findings
            .as_ref()
            .map(|findings| findings.so_far(prices))
            .unwrap_or_default();
        let findings = owners::with_owners(findings.findings, &totals.operations);
        let current = self.current.as_ref().map(Current::totals).unwrap_or_default();
        let summary = Summary {
            // The overview counts connections and their bytes at their end.
            connections: current.open + current.closed,
            payload_bytes: current.payload_bytes,
            dropped_exchanges: self.missing.dropped_exchanges(),
            ..totals.summary
        };
        let mut warnings: Vec<Warning> = self.missing.clone().warnings().collect();
        warnings.extend(self.poolers.notes());
        // Not all operations are at hand, so strays are reported at the end.
        warnings.extend(seen::warnings(&summary, &[]));
        SoFar {
            outcome: ReadOutcome {
                conditions: self.conditions.clone(),
                connections: totals.connections,
                statements: totals.statements,
                operations: totals.operations,
                held: totals.held,
                warnings,
                findings,
                summary,
                ..ReadOutcome::default()
            },
            current,
            open: self
                .current
                .as_ref()
                .map_or_else(Vec::new, |current| current.connections(rows)),
        }
    }

    pub fn findings_so_far(&self) -> Vec<Finding> {
        let findings = self.sinks.findings.as_ref();
        findings
            .map(|findings| findings.so_far_priced().findings)
            .unwrap_or_default()
    }

    /// Restricts intermediate results to the time from now on.
    pub fn set_baseline(&mut self) {
        self.sinks.since_baseline = Some(Overview::default());
    }

    pub fn remove_baseline(&mut self) {
        self.sinks.since_baseline = None;
    }

    pub fn recent(&self) -> Option<&RecentOperations> {
        self.sinks.recent.as_ref()
    }

    /// Decides now which services are poolers. A screen would otherwise be empty until more was
    /// seen.
    pub fn decide_poolers(&mut self) {
        for fact in self.poolers.finish() {
            self.summed(fact);
        }
    }
}
