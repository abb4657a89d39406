//! Sources of live facts: relays or network interfaces.

use crate::interface::{InterfaceKeys, InterfaceSource};
use crate::relays::{self, EndedRelay, Relays};
use crate::sparing::Sparing;
use crate::sparing::proofs::Prover;
use crate::targets::PlannedRelay;
use analysis::fact::Fact;
use anyhow::Result;
use model::{ConnectionId, HostProcess, PerSide, Timestamp, Warning};
use pipeline::aggregator::Aggregator;
use pipeline::compression::{CompressionMeter, CompressionOutcome, CompressionPlan};
use pipeline::fact_channel::{FactChannel, Posted};
use pipeline::output::Status;
use pipeline::output_health::OutputHealth;
use relay::command::TlsPlan;
use screen::RingCounts;
use std::sync::Arc;
use std::time::Duration;
use sys::receiver::WaitLimit;

pub trait LiveTraffic {
    /// Waits, and passes the facts that arrived to `aggregator`.
    fn collect(&mut self, limit: WaitLimit<'_>, aggregator: &mut Aggregator);

    /// Why a run without a command ends; `is_wanted` tells whether more data is.
    fn ended(&self, is_wanted: bool) -> Option<Status>;

    fn open_connections(&self) -> u64;

    fn warnings(&self) -> Vec<Warning> {
        Vec::new()
    }

    fn report_news(&mut self, _delivery: &OutputHealth) {}

    fn status(&self) -> Option<String> {
        None
    }

    fn over(&self) -> Option<&'static str> {
        None
    }

    /// Kernel counters of an interface, or `None` for relays.
    fn ring(&self) -> Option<RingCounts> {
        None
    }

    /// Local programs at the ends of an open connection, if known.
    fn processes(&self, _connection: ConnectionId) -> PerSide<Option<Arc<HostProcess>>> {
        PerSide::default()
    }
}

pub struct RelayedTraffic {
    pub relays: Relays,
    channel: Arc<FactChannel>,
    meter: Option<CompressionMeter>,
    prover: Option<Prover>,
    /// Reason for giving up on compression levels.
    fault: Option<anyhow::Error>,
}

pub struct EndedTraffic {
    pub relays: Vec<EndedRelay>,
    pub compressed: Option<CompressionOutcome>,
    pub fault: Option<anyhow::Error>,
}

pub struct InterfaceTraffic {
    pub source: InterfaceSource,
    /// Keeps the command's TLS keys available until it is dropped.
    pub keys: InterfaceKeys,
    /// Facts arrive in batches every few milliseconds. Collecting those of this time is cheaper than
    /// waking up for each.
    pub gather: Duration,
}

impl RelayedTraffic {
    /// # Errors
    /// If a relay cannot listen.
    pub fn start(
        planned: Vec<(PlannedRelay, TlsPlan)>,
        mut channel: FactChannel,
        compressing: Option<CompressionPlan>,
        sparing: Option<&Arc<Sparing>>,
    ) -> Result<Self> {
        if compressing.is_some() {
            channel = channel.with_payload();
        }
        let channel = Arc::new(channel);
        Ok(Self {
            relays: Relays::start(planned, &channel, sparing)?,
            meter: compressing.map(CompressionMeter::new),
            channel,
            prover: None,
            fault: None,
        })
    }

    /// Facts of operations that are not only observed are dropped.
    ///
    /// # Errors
    /// If a relay cannot listen.
    pub fn start_proving(
        planned: Vec<(PlannedRelay, TlsPlan)>,
        channel: FactChannel,
        compressing: Option<CompressionPlan>,
        prover: Prover,
    ) -> Result<Self> {
        let traffic = Self::start(planned, channel, compressing, Some(&prover.sparing))?;
        Ok(Self {
            prover: Some(prover),
            ..traffic
        })
    }

    /// Stops the relays once the last bytes have passed, and hands over the last facts.
    pub fn stop(mut self, status: Status, aggregator: &mut Aggregator) -> EndedTraffic {
        let relays = self.relays.stop(status);
        let posted = self.channel.take_all();
        let until = self.prover.as_ref().and_then(Prover::observed_until);
        process_facts(posted, until, &mut self.meter, &mut self.fault, aggregator);
        aggregator.lost(self.channel.take_losses());
        let mut ended = EndedTraffic {
            relays,
            compressed: None,
            fault: self.fault,
        };
        let mut pass = |fact| pass_until(until, fact, aggregator);
        match self.meter.map(|meter| meter.finish(&mut pass)) {
            Some(Ok(compressed)) => ended.compressed = Some(compressed),
            Some(Err(fault)) => ended.fault = Some(fault),
            None => {}
        }
        ended
    }
}

fn process_facts(
    posted: Vec<Posted>,
    until: Option<Timestamp>,
    meter: &mut Option<CompressionMeter>,
    fault: &mut Option<anyhow::Error>,
    aggregator: &mut Aggregator,
) {
    let mut pass = |fact| pass_until(until, fact, aggregator);
    let Some(levels) = meter else {
        return posted.into_iter().for_each(|posted| match posted {
            Posted::Fact(fact) => pass(fact),
            Posted::Payload(_) => {}
        });
    };
    if let Err(error) = levels.process_facts(posted, &mut pass) {
        *meter = None;
        *fault = Some(error);
    }
}

fn pass_until(until: Option<Timestamp>, fact: Fact, aggregator: &mut Aggregator) {
    let at = if let Fact::Closed(outcome) = &fact {
        outcome.at
    } else {
        fact.time()
    };
    if until.is_none_or(|until| at < until) {
        aggregator.fact(fact);
    }
}

impl LiveTraffic for RelayedTraffic {
    fn collect(&mut self, limit: WaitLimit<'_>, aggregator: &mut Aggregator) {
        let posted = self.channel.wait(limit);
        let until = self.prover.as_ref().and_then(Prover::observed_until);
        process_facts(posted, until, &mut self.meter, &mut self.fault, aggregator);
        aggregator.lost(self.channel.take_losses());
        if let Some(prover) = &mut self.prover {
            prover.choose(aggregator);
        }
    }

    fn ended(&self, is_wanted: bool) -> Option<Status> {
        (!is_wanted && self.relays.open_connections() == 0).then_some(Status::Done)
    }

    fn open_connections(&self) -> u64 {
        self.relays.open_connections()
    }

    fn warnings(&self) -> Vec<Warning> {
        relays::warnings_so_far(&self.relays)
    }

    fn status(&self) -> Option<String> {
        self.prover.as_ref()?.status()
    }
}

impl LiveTraffic for InterfaceTraffic {
    fn collect(&mut self, limit: WaitLimit<'_>, aggregator: &mut Aggregator) {
        let mut facts = self.source.wait(limit);
        if !facts.is_empty() && !self.gather.is_zero() {
            limit.stop.wait_timeout(self.gather);
            facts.extend(self.source.wait(WaitLimit::new(limit.stop, Duration::ZERO)));
        }
        facts.into_iter().for_each(|fact| aggregator.fact(fact));
        for (connection, processes) in self.source.found_processes() {
            aggregator.programs(connection, &processes);
        }
    }

    fn ended(&self, is_wanted: bool) -> Option<Status> {
        match self.source.is_over() {
            true => Some(Status::Negative),
            false => (!is_wanted).then_some(Status::Done),
        }
    }

    fn open_connections(&self) -> u64 {
        self.source.open_connections()
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

    fn processes(&self, connection: ConnectionId) -> PerSide<Option<Arc<HostProcess>>> {
        self.source.processes(connection)
    }
}

/// Same as the relay channel's batching interval.
pub const GATHER: Duration = Duration::from_millis(50);
