//! Basis of a prediction: its assumptions, and one operation replayed step by step.

use model::{Assigned, ConnectionId, PerDirection, Prediction, Share};
use std::time::Duration;

#[derive(Debug, Clone, PartialEq)]
pub struct ExplainOutcome {
    pub operation_name: String,
    pub measured: Duration,
    /// Measured time minus the replay at the measured distance, in nanoseconds. Negative if the
    /// replay takes longer.
    pub unexplained_ns: i64,
    pub predicted: Duration,
    /// The link in text form.
    pub link: String,
    /// Assumptions of the model, each with its source.
    pub assumptions: Vec<(String, String)>,
    /// The prediction of its name.
    pub prediction: Option<Prediction>,
    /// Whether a calibration replaces the assumed wake-up allowance.
    pub is_calibrated: bool,
    /// In order of their start.
    pub steps: Vec<ExplainedExchange>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExplainedExchange {
    /// The statement, or the phase if there is none.
    pub name: String,
    pub connection: ConnectionId,
    pub moved: bool,
    pub turns: u32,
    /// Payload bytes.
    pub bytes: PerDirection<u64>,
    /// How the exchange was assigned to the operation. `None` if there was no choice.
    pub assigned: Option<Assigned>,
    /// Set if the assignment is a guess.
    pub probability: Option<Share>,
    /// Start on the link, since the start of the operation.
    pub started: Duration,
    /// End of the reply on the link, since the start of the operation.
    pub completed: Duration,
}
