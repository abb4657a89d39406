//! The binary's parts, as a library so that tests can run them without a process.
//!
//! Start at [`cli`] (the commands), then [`pipeline`] (the flow through the crates).

#![forbid(unsafe_code)]

pub mod advise;
pub mod check;
pub mod cli;
pub mod commands;
pub mod delivery;
pub mod failure;
pub mod input;
pub mod lab;
pub mod output;
pub mod page;
pub mod password;
pub mod pipeline;
pub mod private_file;
pub mod split;
pub mod tune;
pub mod verify;
