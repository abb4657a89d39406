//! Budgets, kept and broken.

use model::{BudgetVerdict, Change, OperationGroup, Warning};

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
    pub warnings: Vec<Warning>,
}
