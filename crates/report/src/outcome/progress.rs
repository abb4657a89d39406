//! How a run is going.

use model::Share;
use std::time::Duration;

/// What happened since the last progress line.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ProgressLine {
    /// Since the run began.
    pub elapsed: Duration,
    /// How long this line is about; never zero for a line with rates.
    pub interval: Duration,
    /// Connections open now.
    pub open_connections: u64,
    /// Exchanges completed in the interval.
    pub exchanges: u64,
    /// Round trips in the interval.
    pub turns: u64,
    /// Share of the waiting time in the interval that was network; `None` if no client waited.
    pub network: Option<Share>,
}
