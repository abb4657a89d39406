use model::{Summary, format_duration};
use std::time::Duration;

#[derive(Debug, Default)]
pub(crate) struct AgentTotals {
    connections: u64,
    operations: u64,
    exchanges: u64,
    turns: u64,
    bytes: u64,
}

impl AgentTotals {
    pub(crate) fn add(&mut self, window: &Summary) {
        self.connections += window.connections;
        self.operations += window.operations;
        self.exchanges += window.exchanges;
        self.turns += window.turns;
        self.bytes += window.payload_bytes.iter().sum::<u64>();
    }

    pub(crate) fn line(&self, observed: Duration) -> String {
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
