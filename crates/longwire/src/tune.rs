//! Tuning: which way to do a job, and with which setting.
//!
//! [`search`] decides what to run. [`program`] tunes a program of the user's own.

pub mod campaign;
mod curve;
pub mod distance;
pub mod program;
pub mod scratch;
pub mod search;
mod watched;
