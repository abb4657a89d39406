//! Open connections and transactions, for a live view.

use super::{RunSink, SoFar};
use analysis::current::Current;
use analysis::fact::Fact;
use std::io;
use std::time::Duration;

impl RunSink for Current {
    fn fact(&mut self, fact: &Fact) -> io::Result<()> {
        Current::fact(self, fact);
        Ok(())
    }

    fn so_far(&mut self, rows: usize, _: &[Duration], so_far: &mut SoFar) {
        let current = self.totals();
        // The overview counts connections and their bytes at their end.
        so_far.outcome.summary.connections = current.open + current.closed;
        so_far.outcome.summary.payload_bytes = current.payload_bytes;
        so_far.current = current;
        so_far.open = self.connections(rows);
    }
}
