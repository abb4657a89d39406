//! Finds the fastest way to do a job, and its best setting.
//!
//! [`jobs`] runs jobs in every way, [`search`] decides which to run next. [`program`] tunes the
//! user's own program.

mod campaign;
mod curve;
pub mod distance;
pub mod jobs;
pub mod program;
pub mod scratch;
pub mod search;
mod watched;
