//! Outcome of tuning a program.

use model::{ProgramBest, ProgramTuned, Warning};
use std::sync::Arc;

#[derive(Debug, Clone, PartialEq, Default)]
pub struct ProgramReport {
    /// The program without its arguments.
    pub program: String,
    /// `host:port` of the server.
    pub server: String,
    pub rounds: u32,
    /// Each setting at each distance, grouped by distance. The present distance comes first.
    pub tuned: Vec<ProgramTuned>,
    pub best: Vec<ProgramBest>,
    /// Groups of settings with identical traffic.
    pub unchanged: Vec<Vec<Arc<str>>>,
    pub warnings: Vec<Warning>,
}
