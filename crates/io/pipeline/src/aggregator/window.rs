//! Splits a run into separate windows, for a run of months with sums that would only grow.

use super::Aggregator;
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
    /// Ends a window, completes the files of its tables, and returns results since the last call,
    /// or since the beginning. The run continues with zero totals.
    pub fn end_window(&mut self) -> Window {
        let mut window = Window::default();
        self.sinks.each(|sink| sink.end_window(&mut window));
        window
    }
}
