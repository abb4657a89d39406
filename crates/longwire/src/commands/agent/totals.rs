//! What was observed since the agent began, over all windows.

use model::{Summary, format_duration};
use std::time::Duration;

/// Sums of all windows.
#[derive(Debug, Default)]
pub(super) struct AgentTotals {
    connections: u64,
    operations: u64,
    exchanges: u64,
    turns: u64,
    bytes: u64,
}

impl AgentTotals {
    /// Adds a window.
    pub(super) fn add(&mut self, window: &Summary) {
        self.connections += window.connections;
        self.operations += window.operations;
        self.exchanges += window.exchanges;
        self.turns += window.turns;
        self.bytes += window.payload_bytes.iter().sum::<u64>();
    }

    /// All of it in one line.
    pub(super) fn line(&self, observed: Duration) -> String {
        format!(
            "observed for {}: {} exchanges in {} operations, {} round trips; {} connections ended, with {} bytes",
            format_duration(observed),
            self.exchanges,
            self.operations,
            self.turns,
            self.connections,
            self.bytes
        )
    }
}
