//! Outcome of `ping`.

use model::{Intermediary, Leg, Sample, SampleOutcome};
use std::time::Duration;

#[derive(Debug, Clone, PartialEq, Default)]
pub struct PingOpening {
    /// The target without secrets.
    pub target: String,
    /// `None` for a Unix socket.
    pub server: Option<String>,
    /// Product and version, if the server reports them.
    pub version: Option<String>,
    pub question: String,
    /// Empty if each sample opens its own connection.
    pub legs: Vec<Leg>,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct PingOutcome {
    /// The target without secrets.
    pub target: String,
    pub samples: SampleOutcome,
    /// Since the first sample.
    pub elapsed: Duration,
    /// Time of the TCP handshake of the opening.
    pub handshake: Option<Duration>,
    pub intermediary: Option<Intermediary>,
    pub last: Option<Sample>,
    /// The reason why the target cannot be measured.
    pub failed: Option<String>,
}
