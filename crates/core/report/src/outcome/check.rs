//! Budgets, kept and broken.

use model::{BudgetVerdict, Change, OperationGroup, Summary, Warning};

#[derive(Debug, Clone, PartialEq, Default)]
pub struct CheckReport {
    /// Names of the files.
    pub title: String,
    /// Operations of every name, each budgeted or not.
    pub operations: Vec<OperationGroup>,
    pub verdicts: Vec<BudgetVerdict>,
    /// Whether unjudged budgets pass.
    pub allows_unseen: bool,
    /// Empty without a baseline.
    pub changes: Vec<Change>,
    pub summary: Summary,
    pub warnings: Vec<Warning>,
}

impl CheckReport {
    /// Whether no operation of the baseline has the name of one now.
    pub fn has_nothing_to_compare(&self) -> bool {
        let is_in_both = |change: &Change| change.turns.iter().all(Option::is_some);
        !self.changes.is_empty() && !self.changes.iter().any(is_in_both)
    }
}
