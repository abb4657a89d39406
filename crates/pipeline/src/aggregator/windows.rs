//! A run in windows, each summed up by itself: for one that goes on for months, whose sums would only grow.

use super::{Aggregator, no_room, owners};
use analysis::findings::Findings;
use analysis::overview::OverviewTotals;
use model::{Finding, Warning};
use report::ReadOutcome;

/// What was summed up in a window.
#[derive(Debug, Clone, Default)]
pub struct Window {
    /// The totals: connections that ended in it, its statements, operations and transactions.
    pub totals: OverviewTotals,
    /// What was found in it.
    pub findings: Vec<Finding>,
    /// What its reader must know.
    pub warnings: Vec<Warning>,
}

impl Window {
    /// The last one: what a run had that is over.
    pub fn new(outcome: ReadOutcome) -> Self {
        Self {
            totals: OverviewTotals {
                connections: outcome.connections,
                statements: outcome.statements,
                operations: outcome.operations,
                held: outcome.held,
                summary: outcome.summary,
            },
            findings: outcome.findings,
            warnings: outcome.warnings,
        }
    }
}

impl Aggregator {
    /// Ends a window: gives what was summed up and found since the last call, or the beginning. The run goes
    /// on, its figures from nothing.
    pub fn end_window(&mut self) -> Window {
        let missing = std::mem::take(&mut self.missing);
        let found = self
            .sinks
            .findings
            .as_mut()
            .map(Findings::end_window)
            .unwrap_or_default();
        let mut totals = self.sinks.overview.end_window();
        totals.summary.dropped_exchanges = missing.dropped_exchanges();
        let mut warnings: Vec<Warning> = missing.warnings().collect();
        warnings.extend(no_room(&found));
        Window {
            findings: owners::with_owners(found.findings, &totals.operations),
            totals,
            warnings,
        }
    }
}
