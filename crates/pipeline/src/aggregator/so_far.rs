//! What is summed up while a run goes on: for a screen.

use super::{Aggregator, owners, seen};
use crate::recent::RecentOperations;
use analysis::current::{Current, CurrentTotals, OpenConnection};
use analysis::overview::Overview;
use model::{Finding, Summary, Warning};
use report::ReadOutcome;
use std::time::Duration;

/// What was summed up so far, while the run goes on.
#[derive(Debug)]
pub struct SoFar {
    /// As at the end, but with the rows asked for alone, and without predictions; operations in progress are
    /// not in it. After a baseline was set, its totals, statements, operations and transactions are those
    /// since then.
    pub outcome: ReadOutcome,
    /// What is open, and what passed in all.
    pub current: CurrentTotals,
    /// The open connections with most round trips.
    pub open: Vec<OpenConnection>,
}

impl Aggregator {
    /// Ends the bursts in which nothing came since the last call. For a run that goes on: without traffic
    /// nothing else ends them.
    pub fn close_resting(&mut self) {
        let sinks = &mut self.sinks;
        self.operations
            .close_resting(&mut |grouped| sinks.process_grouped(grouped));
    }

    /// What was summed up so far, with at most `rows` of each kind, and findings priced at `prices`. Costs
    /// milliseconds: for a screen, not for every fact.
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
            // The overview counts connections, and their bytes, when they end.
            connections: current.open + current.closed,
            payload_bytes: current.payload_bytes,
            dropped_exchanges: self.missing.dropped_exchanges(),
            ..totals.summary
        };
        let mut warnings: Vec<Warning> = self.missing.clone().warnings().collect();
        warnings.extend(self.poolers.notes());
        // Not all operations are at hand: whose round trips are nobody's is said at the end.
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

    /// What was found so far, priced as at the end.
    pub fn findings_so_far(&self) -> Vec<Finding> {
        let findings = self.sinks.findings.as_ref();
        findings
            .map(|findings| findings.so_far_priced().findings)
            .unwrap_or_default()
    }

    /// From now on, what is requested is summed up since now.
    pub fn set_baseline(&mut self) {
        self.sinks.since_baseline = Some(Overview::default());
    }

    /// What is requested is again summed up since the beginning.
    pub fn remove_baseline(&mut self) {
        self.sinks.since_baseline = None;
    }

    /// The last operations, of a run that is inspected while it goes on.
    pub fn recent(&self) -> Option<&RecentOperations> {
        self.sinks.recent.as_ref()
    }

    /// Decides by what was seen so far which services are poolers, instead of waiting for more: a screen
    /// would be empty until then.
    pub fn decide_poolers(&mut self) {
        for fact in self.poolers.finish() {
            self.summed(fact);
        }
    }
}
