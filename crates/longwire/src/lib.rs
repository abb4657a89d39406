//! The binary's modules, as a library so that tests can call them in process.
//!
//! Start at [`cli`] (the commands), then the crate `pipeline` (the flow through the crates).

#![forbid(unsafe_code)]

pub mod cli;
pub mod commands;
pub mod failure;
pub mod password;
pub mod places;
pub mod usage;
