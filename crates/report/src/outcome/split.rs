//! Where a transaction's time goes.

use model::{LinkOutcome, SplitOutcome, SplitPrediction, Warning};
use std::time::Duration;

/// What `split` has to say.
#[derive(Debug, Clone, PartialEq)]
pub struct SplitReport {
    /// What a transaction is.
    pub work: String,
    /// `host:port` of the server.
    pub server: String,
    /// Rounds requested.
    pub rounds: u32,
    /// How long each visit lasted.
    pub visit: Duration,
    /// Where the time goes, by number of clients.
    pub points: Vec<SplitOutcome>,
    /// The throughput elsewhere.
    pub predictions: Vec<SplitPrediction>,
    /// The same over emulated links, next to what was measured there.
    pub proofs: Vec<SplitPrediction>,
    /// Links that were emulated.
    pub links: Vec<LinkOutcome>,
    /// What a reader of the figures must know.
    pub warnings: Vec<Warning>,
}
