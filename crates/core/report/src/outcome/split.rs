//! Outcome of `split`.

use model::{LinkOutcome, SplitOutcome, SplitPrediction, Warning};
use std::time::Duration;

#[derive(Debug, Clone, PartialEq)]
pub struct SplitReport {
    pub work: String,
    /// `host:port` of the server.
    pub server: String,
    pub rounds: u32,
    pub visit: Duration,
    /// Parts of the time, by number of clients.
    pub points: Vec<SplitOutcome>,
    pub predictions: Vec<SplitPrediction>,
    /// Predictions over emulated links, with measurements.
    pub proofs: Vec<SplitPrediction>,
    pub links: Vec<LinkOutcome>,
    pub warnings: Vec<Warning>,
}
