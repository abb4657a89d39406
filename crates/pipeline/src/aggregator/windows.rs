//! Splits a run into separate windows, for a run of months with sums that would only grow.

use super::{Aggregator, no_room, owners};
use analysis::findings::Findings;
use analysis::overview::OverviewTotals;
use model::{Finding, Warning};
use report::ReadOutcome;

#[derive(Debug, Clone, Default)]
pub struct Window {
    pub totals: OverviewTotals,
    pub findings: Vec<Finding>,
    pub warnings: Vec<Warning>,
}

impl Window {
    /// The last window, from the outcome of a finished run.
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
    /// Ends a window and returns results since the last call, or since the beginning. The run
    /// continues with zero totals.
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
