//! A program run with several settings.

use model::{ProgramBest, ProgramTuned, Warning};
use std::sync::Arc;

/// What tuning a program has to say.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ProgramReport {
    /// The program, without its arguments.
    pub program: String,
    /// `host:port` of the server.
    pub server: String,
    /// Rounds that were requested.
    pub rounds: u32,
    /// Each setting at each distance; the settings of a distance are neighbours, those of the distance that
    /// is there come first.
    pub tuned: Vec<ProgramTuned>,
    /// The best of each distance.
    pub best: Vec<ProgramBest>,
    /// Settings between which nothing differed on the wire.
    pub unchanged: Vec<Vec<Arc<str>>>,
    /// What a reader of the figures must know.
    pub warnings: Vec<Warning>,
}
