//! Budgets: what operations may cost at most, and whether they keep to it.
//!
//! Start at [`budget`] (what was asked), then [`judge`] (what follows).

pub mod budget;
pub mod file;
pub mod judge;
pub mod pattern;
