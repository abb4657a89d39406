//! Observes for months and exports to monitoring systems, for `longwire agent`.
//!
//! Start reading at [`run()`].

#![forbid(unsafe_code)]

mod config;
mod reload;
mod run;
mod totals;

pub use config::AgentConfig;
pub use run::run;

use report::RecordFormat;
use std::path::PathBuf;
use sys::listening::PlainClients;

#[derive(Debug, Clone)]
pub struct AgentPlan {
    /// Path of the configuration.
    pub config: PathBuf,
    pub plain_clients: PlainClients,
    /// Records to stdout at the end of each window.
    pub records: Option<RecordFormat>,
}
