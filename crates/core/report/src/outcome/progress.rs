//! Progress of a run.

use model::Share;
use std::time::Duration;

/// Changes since the previous line of progress.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ProgressLine {
    /// Since the run began.
    pub elapsed: Duration,
    /// Never zero for a line with rates.
    pub interval: Duration,
    pub open_connections: u64,
    pub exchanges: u64,
    pub turns: u64,
    /// The network's share of waiting time in the interval. `None` if no client waited.
    pub network: Option<Share>,
}
