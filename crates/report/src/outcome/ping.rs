//! What `ping` measured.

use model::{Intermediary, Leg, Sample, SampleOutcome};
use std::time::Duration;

/// A target that is about to be asked.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PingOpening {
    /// The target without its secrets.
    pub target: String,
    /// The server's address; `None` for a Unix socket.
    pub server: Option<String>,
    /// Its product and version, where it reported them.
    pub version: Option<String>,
    /// What is asked.
    pub question: String,
    /// What opening the connection took; none where each sample has one of its own.
    pub legs: Vec<Leg>,
}

/// What a target's samples came to.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PingOutcome {
    /// The target without its secrets.
    pub target: String,
    /// The figures.
    pub samples: SampleOutcome,
    /// From the first sample on.
    pub elapsed: Duration,
    /// What stands in front of the target, if the samples show it.
    pub intermediary: Option<Intermediary>,
    /// The last sample, for the table.
    pub last: Option<Sample>,
    /// Why the target cannot be asked; `None` if it can.
    pub failed: Option<String>,
}
