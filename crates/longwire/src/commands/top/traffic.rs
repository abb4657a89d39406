//! Where the facts of a run come from while it goes on: relays, or network interfaces.

use crate::commands::interface_source::{InterfaceKeys, InterfaceSource};
use crate::commands::relays::{self, Relays};
use analysis::fact::Fact;
use model::{ConnectionId, HostProcess, Warning};
use pipeline::fact_channel::{FactChannel, FactLosses, Posted};
use pipeline::input::live::ProgramsOfConnection;
use pipeline::output_health::OutputHealth;
use screen::RingCounts;
use std::sync::Arc;
use std::time::Duration;

/// What a live run observes.
pub trait LiveTraffic {
    /// Waits at most about `patience`, and takes the facts that have arrived.
    fn wait(&mut self, patience: Duration) -> Vec<Fact>;

    /// What was lost since the last call between what observes and this.
    fn take_losses(&mut self) -> FactLosses {
        FactLosses::default()
    }

    /// What a reader of the figures must know of what was seen so far.
    fn warnings(&self) -> Vec<Warning>;

    /// Reports what happened to the observation itself since the last call; called once a second.
    fn report_news(&mut self, _delivery: &OutputHealth) {}

    /// Why nothing can be seen any more, where that is so.
    fn over(&self) -> Option<&'static str> {
        None
    }

    /// What the kernel counted; `None` for relays.
    fn ring(&self) -> Option<RingCounts> {
        None
    }

    /// How many connections are open, where the observer knows it before their facts do: packets that come
    /// after the end of a connection are waited for.
    fn open_connections(&self) -> Option<u64> {
        None
    }

    /// The programs of this host that were found since the last call, by connection, client first.
    fn found_processes(&self) -> Vec<ProgramsOfConnection> {
        Vec::new()
    }

    /// The programs of this host that have an end of an open connection, client first, as far as they are
    /// known.
    fn processes(&self, _connection: ConnectionId) -> [Option<Arc<HostProcess>>; 2] {
        [None, None]
    }
}

/// Relays in front of servers.
pub struct RelayedTraffic {
    /// Where their facts arrive.
    pub channel: Arc<FactChannel>,
    /// They themselves.
    pub relays: Relays,
}

/// What passes network interfaces.
pub struct InterfaceTraffic {
    /// The observation.
    pub source: InterfaceSource,
    /// What opens TLS: a command's own keys are there as long as this.
    #[expect(
        dead_code,
        reason = "the file goes when this is dropped, and nothing else is asked of it"
    )]
    pub keys: InterfaceKeys,
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

/// The facts of what was posted: a screen asks for no payload.
pub fn facts(posted: Vec<Posted>) -> Vec<Fact> {
    let facts = posted.into_iter().filter_map(|posted| match posted {
        Posted::Fact(fact) => Some(fact),
        Posted::Payload(_) => None,
    });
    facts.collect()
}

impl LiveTraffic for InterfaceTraffic {
    /// Facts come in batches of a few milliseconds: several are gathered, as taking each alone would cost
    /// more than they do.
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

    fn processes(&self, connection: ConnectionId) -> [Option<Arc<HostProcess>>; 2] {
        self.source.processes(connection)
    }
}

/// As long as the channel of relays gathers.
const GATHER: Duration = Duration::from_millis(50);
