//! Budgets, kept and broken.

use model::{BudgetVerdict, Change, OperationGroup, Warning};

/// What `check` has to say.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CheckReport {
    /// What was checked: the names of the files.
    pub title: String,
    /// Operations of every name, each budgeted or not.
    pub operations: Vec<OperationGroup>,
    /// Each budget of each name.
    pub verdicts: Vec<BudgetVerdict>,
    /// Whether budgets that are not judged fail nothing.
    pub allows_unseen: bool,
    /// What has changed since the baseline, of every name; empty without one.
    pub changes: Vec<Change>,
    /// What a reader of the figures must know.
    pub warnings: Vec<Warning>,
}
