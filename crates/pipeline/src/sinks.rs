//! Sinks of a run: each sum and each output in a file of its own.

pub mod kept;
pub(crate) mod missing;
pub(crate) mod predictions;
pub mod recent;
pub(crate) mod record_output;
pub(crate) mod samples;
