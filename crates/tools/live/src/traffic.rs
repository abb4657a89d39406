//! Sources of live facts: relays or network interfaces.

use crate::interface::{InterfaceKeys, InterfaceSource};
use crate::relays::{self, EndedRelay, Relays};
use analysis::fact::Fact;
use model::{ConnectionId, HostProcess, PerSide, Warning};
use pipeline::aggregator::Aggregator;
use pipeline::fact_channel::{FactChannel, FactLosses, Posted};
use pipeline::input::live::ProgramsOfConnection;
use pipeline::output::Status;
use pipeline::output_health::OutputHealth;
use screen::RingCounts;
use std::sync::Arc;
use std::time::Duration;

pub trait LiveTraffic {
    /// Waits up to about `patience` and returns the facts that arrived.
    fn wait(&mut self, patience: Duration) -> Vec<Fact>;

    /// Waits as [`LiveTraffic::wait`], and hands over what is new.
    fn collect(&mut self, patience: Duration, aggregator: &mut Aggregator) {
        for fact in self.wait(patience) {
            aggregator.fact(fact);
        }
        for (connection, processes) in self.found_processes() {
            aggregator.programs(connection, &processes);
        }
        aggregator.lost(self.take_losses());
    }

    /// Facts lost since the last call between source and consumer.
    fn take_losses(&mut self) -> FactLosses {
        FactLosses::default()
    }

    fn warnings(&self) -> Vec<Warning>;

    fn report_news(&mut self, _delivery: &OutputHealth) {}

    fn over(&self) -> Option<&'static str> {
        None
    }

    /// Kernel counters of an interface, or `None` for relays.
    fn ring(&self) -> Option<RingCounts> {
        None
    }

    /// `None` if the source does not know the number ahead of the facts, which are delayed to wait
    /// for packets after a connection's end.
    fn open_connections(&self) -> Option<u64> {
        None
    }

    /// Local programs found since the last call, by connection, client first.
    fn found_processes(&self) -> Vec<ProgramsOfConnection> {
        Vec::new()
    }

    /// Local programs at the ends of an open connection, if known.
    fn processes(&self, _connection: ConnectionId) -> PerSide<Option<Arc<HostProcess>>> {
        PerSide::default()
    }
}

pub struct RelayedTraffic {
    pub channel: Arc<FactChannel>,
    pub relays: Relays,
}

pub struct InterfaceTraffic {
    pub source: InterfaceSource,
    /// Keeps the command's TLS keys available until it is dropped.
    pub keys: InterfaceKeys,
}

impl RelayedTraffic {
    /// Stops the relays once the last bytes have passed, and hands over the last facts.
    pub fn stop(self, status: Status, aggregator: &mut Aggregator) -> Vec<EndedRelay> {
        let ended = self.relays.stop(status);
        for fact in facts(self.channel.take_all()) {
            aggregator.fact(fact);
        }
        aggregator.lost(self.channel.take_losses());
        ended
    }
}

impl LiveTraffic for RelayedTraffic {
    fn wait(&mut self, patience: Duration) -> Vec<Fact> {
        facts(self.channel.wait(patience))
    }

    fn take_losses(&mut self) -> FactLosses {
        self.channel.take_losses()
    }

    fn warnings(&self) -> Vec<Warning> {
        relays::warnings_so_far(&self.relays)
    }
}

/// Drops payloads, which a screen does not need.
fn facts(posted: Vec<Posted>) -> Vec<Fact> {
    let facts = posted.into_iter().filter_map(|posted| match posted {
        Posted::Fact(fact) => Some(fact),
        Posted::Payload(_) => None,
    });
    facts.collect()
}

impl LiveTraffic for InterfaceTraffic {
    /// Facts arrive in batches every few milliseconds. Collecting several batches is cheaper than
    /// waking up for each.
    fn wait(&mut self, patience: Duration) -> Vec<Fact> {
        let mut facts = self.source.wait(patience);
        if !facts.is_empty() {
            std::thread::sleep(GATHER);
            facts.extend(self.source.wait(Duration::ZERO));
        }
        facts
    }

    fn warnings(&self) -> Vec<Warning> {
        Vec::new()
    }

    fn report_news(&mut self, output_health: &OutputHealth) {
        self.source.report_ends(output_health);
    }

    fn over(&self) -> Option<&'static str> {
        self.source
            .is_over()
            .then_some("the interface is gone, nothing more is seen; q quits")
    }

    fn ring(&self) -> Option<RingCounts> {
        let counts = self.source.counts();
        Some(RingCounts {
            passed: counts.passed,
            dropped: counts.dropped,
        })
    }

    fn open_connections(&self) -> Option<u64> {
        Some(self.source.open_connections())
    }

    fn found_processes(&self) -> Vec<ProgramsOfConnection> {
        self.source.found_processes()
    }

    fn processes(&self, connection: ConnectionId) -> PerSide<Option<Arc<HostProcess>>> {
        self.source.processes(connection)
    }
}

/// Same as the relay channel's batching interval.
const GATHER: Duration = Duration::from_millis(50);
