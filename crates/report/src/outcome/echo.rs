//! Round trips and rates between two longwires.

use model::{BulkOutcome, EchoOutcome, Warning};
use std::time::Duration;

/// What `echo` has to say.
#[derive(Debug, Clone, PartialEq)]
pub struct EchoReport {
    /// `host:port` of the other side.
    pub server: String,
    /// Whether both sides are on this machine and share its processors.
    pub same_host: bool,
    /// Processors of the other side.
    pub processors: Option<u32>,
    /// How long each combination was measured.
    pub time: Duration,
    /// Median round trip to a listener of this very process: what this machine adds.
    pub floor: Option<Duration>,
    /// Round trips, in the order measured.
    pub echoes: Vec<EchoOutcome>,
    /// Rates, in the order measured.
    pub bulks: Vec<BulkOutcome>,
    /// What a reader of the figures must know.
    pub warnings: Vec<Warning>,
}
