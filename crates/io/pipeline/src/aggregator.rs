//! Takes facts of all connections through poolers and operations to the sinks of a run.

mod so_far;
mod window;

pub use crate::sinks::{AggregatorConfig, Exports, SoFar, TABLES_LAST, TablesInput, Window};

use crate::fact_channel::FactLosses;
use crate::moved::MovedConnections;
use crate::sinks::{MissingData, SinceProgress, Sinks, TableRecords};
use analysis::fact::Fact;
use analysis::fingerprint::KnownFingerprints;
use analysis::operations::Operations;
use analysis::poolers::Poolers;
use anyhow::Result;
use model::{Conditions, ConnectionId, Endpoint, HostProcess, LinkOutcome, PerSide, Warning, WarningKind};
use report::ReadOutcome;
use report::outcome::ProgressLine;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

pub struct Aggregator {
    poolers: Poolers,
    operations: Operations,
    sinks: Sinks,
    moved: MovedConnections,
    dropped_exchanges: u64,
    conditions: Conditions,
    fingerprints: KnownFingerprints,
}

impl Aggregator {
    /// Writes the conditions, if records or a recording are requested.
    ///
    /// # Errors
    /// If an output cannot be created.
    pub fn new(config: &AggregatorConfig, conditions: Conditions) -> Result<Self> {
        let conditions = Conditions {
            calibration: config.calibration.clone(),
            ..conditions
        };
        let moved = MovedConnections::new(config.moved.clone());
        let mut operations = Operations::new(config.rule)
            .with_names(config.names.iter().cloned())
            .with_hosts(config.hosts.clone())
            .with_statements_alone(config.statements_alone);
        if let Some(boxes) = &config.boxes {
            operations = operations.with_boxes(boxes.clone());
        }
        Ok(Self {
            poolers: Poolers::new(config.hosts.given.clone()),
            operations,
            sinks: Sinks::new(config, &conditions, &moved)?,
            moved,
            dropped_exchanges: 0,
            conditions,
            fingerprints: KnownFingerprints::default(),
        })
    }

    /// Replaces the targets of all later aggregation.
    pub fn export(&mut self, exports: Exports) {
        self.sinks.set(exports);
    }

    /// Also writes tables, with `host` as their observer. The default is the host of the run's
    /// conditions.
    ///
    /// # Errors
    /// If the folder cannot be written.
    pub fn tables(&mut self, folder: &Path, host: Option<&str>, input: TablesInput<'_>) -> Result<()> {
        let records = TableRecords::create(folder, host, input, &self.conditions)?;
        self.sinks.set(records);
        Ok(())
    }

    /// `false` if tables were given up after an error.
    pub fn writes_tables(&self) -> bool {
        self.sinks.find::<TableRecords>().is_some()
    }

    /// Output errors are kept for [`Aggregator::finish`], or reported at once by a run that
    /// survives them.
    pub fn fact(&mut self, fact: Fact) {
        self.sinks.each(|sink| sink.observed(&fact));
        self.poolers.process_fact(fact).each(|fact| self.summed(fact));
    }

    fn summed(&mut self, fact: Fact) {
        let sinks = &mut self.sinks;
        sinks.each(|sink| sink.fact(&fact));
        let closed = match &fact {
            Fact::Closed(outcome) => Some(outcome.clone()),
            Fact::Opened { .. }
            | Fact::Started { .. }
            | Fact::Begun { .. }
            | Fact::Left { .. }
            | Fact::Exchange { .. } => None,
        };
        self.operations.fact(fact, &mut |grouped| sinks.grouped(grouped));
        if let Some(outcome) = closed {
            sinks.connection(&outcome);
        }
    }

    pub fn lost(&mut self, losses: FactLosses) {
        self.dropped_exchanges += losses.exchanges;
        if let Some(missing) = self.sinks.find_mut::<MissingData>() {
            missing.lost(losses);
        }
    }

    pub fn dropped_exchanges(&self) -> u64 {
        self.dropped_exchanges
    }

    /// Programs at the ends of an open connection on this machine, client first. Facts that arrive
    /// later are assigned to them.
    pub fn programs(&mut self, connection: ConnectionId, programs: &PerSide<Option<Arc<HostProcess>>>) {
        let numbers = programs.each_ref().map(|program| Some(program.as_ref()?.number));
        self.operations.programs(connection, numbers);
    }

    pub fn link(&mut self, link: &LinkOutcome) {
        self.sinks.each(|sink| sink.link(link));
    }

    /// Flushes all output, so that the recording and readers of records are up to date, and tables
    /// lose at most a minute. Call it about once a second.
    pub fn checkpoint(&mut self) {
        self.sinks.each(|sink| sink.checkpoint());
    }

    pub fn progress(&mut self, elapsed: Duration, interval: Duration, open_connections: u64) -> ProgressLine {
        let since = self.sinks.find_mut::<SinceProgress>();
        let since = since.map(std::mem::take).unwrap_or_default();
        since.line(elapsed, interval, open_connections)
    }

    /// Ends bursts without a new exchange since the last call. Without traffic, no other event ends
    /// them.
    pub fn close_resting(&mut self) {
        let sinks = &mut self.sinks;
        self.operations
            .close_resting(&mut |grouped| sinks.grouped(grouped));
    }

    /// Decides now which services are poolers. A screen would otherwise be empty until more was
    /// seen.
    pub fn decide_poolers(&mut self) {
        for fact in self.poolers.finish() {
            self.summed(fact);
        }
    }

    /// Whether an output is lost and the rest is unwanted. For a run that survives the loss of
    /// outputs, whether all are lost.
    pub fn is_over(&self) -> bool {
        self.sinks.is_over()
    }

    /// The run's fingerprints for decoders. They know the texts of statements with an unseen
    /// preparation.
    pub fn fingerprints(&self) -> KnownFingerprints {
        self.fingerprints.clone()
    }

    pub fn moved(&self) -> MovedConnections {
        self.moved.clone()
    }

    #[cfg(test)]
    pub(crate) const fn sinks(&mut self) -> &mut Sinks {
        &mut self.sinks
    }

    /// Writes the remaining records and returns the values of the view.
    pub fn finish(self, warnings: Vec<Warning>, packets: Option<u64>) -> Result<ReadOutcome> {
        self.finish_amended(warnings, packets, |_| ())
    }

    /// Calls `amend` to change the outcome before it is written, for example to add measurements.
    pub fn finish_amended(
        mut self,
        mut warnings: Vec<Warning>,
        packets: Option<u64>,
        amend: impl FnOnce(&mut ReadOutcome),
    ) -> Result<ReadOutcome> {
        self.decide_poolers();
        warnings.extend(self.poolers.notes());
        warnings.extend(not_moved(&self.poolers, &self.moved));
        let mut sinks = self.sinks;
        warnings.extend(self.operations.finish(&mut |grouped| sinks.grouped(grouped)));
        let mut outcome = ReadOutcome {
            conditions: self.conditions,
            recognised: self.fingerprints.recognised(),
            warnings,
            ..ReadOutcome::default()
        };
        sinks.conclude(&mut outcome);
        outcome.warnings.extend(calls_moved(&self.moved));
        outcome.summary.packets = packets;
        amend(&mut outcome);
        sinks.finish(&outcome)?;
        Ok(outcome)
    }
}

/// Names the called services that move without being chosen.
fn calls_moved(moved: &MovedConnections) -> Option<Warning> {
    let called: Vec<String> = moved.called().iter().map(Endpoint::to_string).collect();
    let text = format!(
        "calls of {} move too, because they are made within requests. --on names the connections that move",
        called.join(", ")
    );
    (!called.is_empty()).then(|| Warning::new(WarningKind::CallsMoved, text))
}

/// Warns of connections chosen to move that predictions do not replay, because they are behind a
/// pooler.
fn not_moved(poolers: &Poolers, moved: &MovedConnections) -> Vec<Warning> {
    let behind = poolers.found().filter(|(_, back)| moved.names(*back));
    let mut texts: Vec<String> = behind
        .map(|(front, back)| {
            format!(
                "--on names {back}, which is behind the pooler {front}: predictions leave that leg out. --on {front} moves the \
                 connections to the pooler"
            )
        })
        .collect();
    texts.sort();
    texts
        .into_iter()
        .map(|text| Warning::new(WarningKind::NothingMoved, text))
        .collect()
}
