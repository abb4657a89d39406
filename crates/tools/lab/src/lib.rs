//! Runs labs of hosts, real services, a workload, and the distance between them.
//!
//! Start at [`config`] (the file), then [`plan`] (the points).

#![forbid(unsafe_code)]

pub mod addresses;
pub mod config;
pub mod observed;
pub mod outcome;
pub(crate) mod own_directory;
pub mod page;
pub mod plan;
pub mod prediction;
pub mod progress;
pub mod run;
pub mod services;
mod slope;
pub mod store;
pub mod wiring;
pub mod workload;
