//! Budgets are upper limits on the cost of operations.
//!
//! Start at [`budget`] (the limits), then `judge.rs` (the verdicts).

#![forbid(unsafe_code)]

pub mod budget;
pub mod file;
mod judge;
mod outcome;
mod seen;

pub use budget::Budget;
pub use file::BudgetFile;
pub use outcome::outcome;
