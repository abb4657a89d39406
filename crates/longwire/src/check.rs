//! Budgets are upper limits on the cost of operations.
//!
//! Start at [`budget`] (the limits), then [`judge`] (the verdicts).

pub mod budget;
pub mod file;
pub mod judge;
pub mod pattern;
mod seen;
