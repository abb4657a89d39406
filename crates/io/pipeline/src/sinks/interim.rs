//! Results of a run before its end.

use analysis::current::{CurrentTotals, OpenConnection};
use analysis::overview::OverviewTotals;
use model::{Finding, Warning};
use report::ReadOutcome;

#[derive(Debug, Default)]
pub struct SoFar {
    /// As at the end, but limited to the requested rows, without predictions and without open
    /// operations. With a baseline, totals, statements, operations and transactions count since
    /// then.
    pub outcome: ReadOutcome,
    pub current: CurrentTotals,
    pub open: Vec<OpenConnection>,
}

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
