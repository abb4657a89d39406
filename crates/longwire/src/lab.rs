//! Labs: several hosts, real services, a workload, and the distance between them.
//!
//! Start at [`config`] (what the file says), then [`plan`] (the points).

pub mod config;
pub mod observed;
pub mod plan;
pub mod prediction;
pub mod store;
pub mod wiring;
