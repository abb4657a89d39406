//! Budgets: the maximum cost of operations, and whether they stay within it.
//!
//! Start at [`budget`] (the limits), then [`judge`] (the verdicts).

pub mod budget;
pub mod file;
pub mod judge;
pub mod pattern;
mod seen;
