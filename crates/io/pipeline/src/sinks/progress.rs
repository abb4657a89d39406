//! Sums since the last line of progress.

use super::RunSink;
use analysis::fact::Fact;
use model::Share;
use report::outcome::ProgressLine;
use std::io;
use std::time::Duration;

#[derive(Debug, Default)]
pub(crate) struct SinceProgress {
    exchanges: u64,
    turns: u64,
    waited: Duration,
    network: Duration,
}

impl SinceProgress {
    pub fn line(&self, elapsed: Duration, interval: Duration, open_connections: u64) -> ProgressLine {
        ProgressLine {
            elapsed,
            interval,
            open_connections,
            exchanges: self.exchanges,
            turns: self.turns,
            network: Share::from_parts(self.network, self.waited),
        }
    }
}

impl RunSink for SinceProgress {
    fn observed(&mut self, fact: &Fact) -> io::Result<()> {
        if let Fact::Exchange { exchange, .. } = fact {
            self.exchanges += 1;
            self.turns += u64::from(exchange.turns);
            let waited = exchange.ended().since(exchange.at);
            self.waited += waited;
            self.network += waited.saturating_sub(exchange.server());
        }
        Ok(())
    }
}
