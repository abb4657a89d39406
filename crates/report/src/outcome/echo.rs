//! Round trips and rates between two longwires.

use model::{BulkOutcome, EchoOutcome, Warning};
use std::time::Duration;

#[derive(Debug, Clone, PartialEq)]
pub struct EchoReport {
    /// `host:port` of the other side.
    pub server: String,
    /// Whether both sides share this machine's processors.
    pub same_host: bool,
    /// Processors of the other side.
    pub processors: Option<u32>,
    /// Duration of each combination.
    pub time: Duration,
    /// Median round trip to a listener in this process: the machine's own overhead.
    pub floor: Option<Duration>,
    pub echoes: Vec<EchoOutcome>,
    pub bulks: Vec<BulkOutcome>,
    pub warnings: Vec<Warning>,
}
