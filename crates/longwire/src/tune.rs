//! Tuning: which way to do a job, and with which setting.
//!
//! [`program`] tunes a program of the user's own.

pub mod program;
