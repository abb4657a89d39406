//! Tuning: which way to do a job, and with which setting.
//!
//! [`jobs`] does jobs in every way, [`search`] decides what to run. [`program`] tunes the user's own program.

mod campaign;
mod curve;
pub mod distance;
pub mod jobs;
pub mod program;
pub mod scratch;
pub mod search;
mod watched;
