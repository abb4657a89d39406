//! Aggregates facts of all connections into outcomes: operations, totals, predictions and records.

mod exports;
mod owners;
mod so_far;
mod table_records;
mod windows;

pub use exports::Exports;
pub use so_far::SoFar;
pub use table_records::{TABLES_LAST, TablesInput};
pub use windows::Window;

use super::moved::{ConnectionChoice, MovedConnections, by_whether_they_move};
use super::non_blocking_writer::NonBlockingWriter;
use crate::fact_channel::FactLosses;
use crate::output_health::OutputHealth;
use crate::page::Samples;
use crate::private_file;
use crate::senders;
use crate::sinks::kept::KeptOperations;
use crate::sinks::missing::{Missing, seen};
use crate::sinks::predictions::thread::PredictionThread;
use crate::sinks::predictions::{prices, unexplained};
use crate::sinks::recent::RecentOperations;
use crate::sinks::record_output::RecordSink;
use analysis::current::Current;
use analysis::exchange_pool::ExchangePool;
use analysis::fact::Fact;
use analysis::findings::{Distances, Findings, FindingsReport};
use analysis::fingerprint::KnownFingerprints;
use analysis::hosts::HostSettings;
use analysis::operations::rule::Rule;
use analysis::operations::{Grouped, Operations};
use analysis::overview::Overview;
use analysis::poolers::Poolers;
use anyhow::{Context, Result};
use model::{
    Conditions, ConnectionId, Endpoint, Exchange, HostProcess, LinkOutcome, Operation, PerSide, Share,
    Summary, Warning, WarningKind,
};
use predict::{Computing, PredictionTarget, Predictor, Senders, WakeUp, Workers};
use report::outcome::ProgressLine;
use report::{JsonWriter, ReadOutcome, RecordingWriter};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use table_records::TableRecords;

#[derive(Debug, Clone, Default)]
pub struct AggregatorConfig {
    pub rule: Rule,
    pub hosts: HostSettings,
    pub targets: Vec<PredictionTarget>,
    pub computing: Computing,
    pub wake_up: WakeUp,
    pub workers: Workers,
    pub senders: Senders,
    pub moved: Vec<ConnectionChoice>,
    pub longest: bool,
    /// Whether the run is inspected before its end ([`Aggregator::so_far`]). Tracks open
    /// connections and keeps the last operations.
    pub live: bool,
    /// Whether each autocommitted statement is an operation, as in a recording of `load` (clients
    /// there do not pause).
    pub statements_alone: bool,
    pub names: Vec<(Endpoint, Arc<str>)>,
    pub json: bool,
    pub exchanges: bool,
    /// Distances for prices of findings; `None` without findings.
    pub findings: Option<Distances>,
    pub samples: Option<Samples>,
    pub kept: Option<KeptOperations>,
    /// Pool for boxes of exchanges, if the decoding thread reuses them.
    pub boxes: Option<ExchangePool>,
    /// Records lost outputs of a run that survives the loss. Outputs are then non-blocking.
    pub output_health: Option<OutputHealth>,
}

pub struct Aggregator {
    rule: Rule,
    targets: Vec<PredictionTarget>,
    poolers: Poolers,
    operations: Operations,
    sinks: Sinks,
    moved: MovedConnections,
    recording: Option<Recording>,
    since_progress: SinceProgress,
    missing: Missing,
    dropped_exchanges: u64,
    conditions: Conditions,
    current: Option<Current>,
    fingerprints: KnownFingerprints,
    tables_completed: Instant,
}

struct Sinks {
    overview: Overview,
    since_baseline: Option<Overview>,
    recent: Option<RecentOperations>,
    predictor: Option<PredictionThread>,
    senders: Senders,
    findings: Option<Findings>,
    longest: Longest,
    samples: Option<Samples>,
    kept: Option<KeptOperations>,
    records: Option<JsonWriter<RecordSink>>,
    non_blocking_writer: Option<NonBlockingWriter>,
    output_health: Option<OutputHealth>,
    exchanges: bool,
    exports: Exports,
    tables: Option<TableRecords>,
    /// The first error of an output. It is reported at the end, and writing stops.
    fault: Option<io::Error>,
}

struct Recording {
    writer: RecordingWriter<RecordSink>,
    non_blocking_writer: Option<NonBlockingWriter>,
}

impl Aggregator {
    /// Writes the conditions, if records are requested.
    pub fn new(config: &AggregatorConfig, conditions: Conditions) -> Result<Self> {
        let moved = MovedConnections::new(config.moved.clone());
        let (mut records, mut non_blocking_writer) = (None, None);
        if config.json {
            if config.output_health.is_some() {
                non_blocking_writer = Some(NonBlockingWriter::stdout().context(NOT_WRITTEN)?);
            }
            let sink = non_blocking_writer
                .clone()
                .map_or_else(RecordSink::stdout, RecordSink::NonBlocking);
            let writer = records.insert(JsonWriter::new(sink));
            writer.conditions(&conditions).context(NOT_WRITTEN)?;
        }
        let predictor = (!config.targets.is_empty()).then(|| {
            let moved = moved.clone();
            Predictor::new(config.targets.clone(), Box::new(move |step| moved.moves(step)))
                .with_computing(config.computing)
                .with_wake_up(config.wake_up)
                .with_workers(config.workers)
                .with_senders(config.senders)
        });
        let predictor = predictor.map(PredictionThread::start);
        let mut operations = Operations::new(config.rule)
            .with_names(config.names.iter().cloned())
            .with_hosts(config.hosts.clone())
            .with_statements_alone(config.statements_alone);
        if let Some(boxes) = &config.boxes {
            operations = operations.with_boxes(boxes.clone());
        }
        Ok(Self {
            rule: config.rule,
            targets: config.targets.clone(),
            poolers: Poolers::new(config.hosts.given.clone()),
            operations,
            sinks: Sinks {
                overview: Overview::default(),
                since_baseline: None,
                recent: config.live.then(RecentOperations::default),
                predictor,
                senders: config.senders,
                findings: config.findings.clone().map(Findings::new),
                longest: Longest {
                    is_wanted: config.longest,
                    operation: None,
                },
                samples: config.samples.clone(),
                kept: config.kept.clone(),
                records,
                non_blocking_writer,
                output_health: config.output_health.clone(),
                exchanges: config.exchanges,
                exports: Exports::default(),
                tables: None,
                fault: None,
            },
            moved,
            recording: None,
            since_progress: SinceProgress::default(),
            missing: Missing::default(),
            dropped_exchanges: 0,
            conditions,
            current: config.live.then(Current::default),
            fingerprints: KnownFingerprints::default(),
            tables_completed: Instant::now(),
        })
    }

    /// Also writes all facts to a recording.
    ///
    /// # Errors
    /// If the file cannot be created.
    pub fn record(&mut self, path: &Path) -> Result<()> {
        let not_created = || format!("could not create {}", path.display());
        let non_blocking_writer = match self.sinks.output_health {
            Some(_) => Some(NonBlockingWriter::create(path).with_context(not_created)?),
            None => None,
        };
        let sink = match &non_blocking_writer {
            Some(non_blocking_writer) => RecordSink::NonBlocking(non_blocking_writer.clone()),
            None => RecordSink::File(private_file::create(path).with_context(not_created)?),
        };
        match (
            RecordingWriter::new(sink, &self.conditions),
            &self.sinks.output_health,
        ) {
            (Ok(writer), _) => {
                self.recording = Some(Recording {
                    writer,
                    non_blocking_writer,
                })
            }
            (Err(fault), Some(output_health)) => output_health.gave_up("the recording is", fault),
            (Err(fault), None) => {
                return Err(fault).with_context(|| format!("could not write {}", path.display()));
            }
        }
        Ok(())
    }

    /// Flushes all output, so that the recording and readers of records are up to date.
    pub fn checkpoint(&mut self) -> Result<()> {
        if let Some(recording) = &mut self.recording {
            let written = recording.writer.checkpoint();
            match &self.sinks.output_health {
                Some(_) => self.recorded(written),
                None => written.context("could not write the recording")?,
            }
        }
        self.sinks.write(JsonWriter::flush);
        Ok(())
    }

    pub fn progress(&mut self, elapsed: Duration, interval: Duration, open_connections: u64) -> ProgressLine {
        let since = std::mem::take(&mut self.since_progress);
        ProgressLine {
            elapsed,
            interval,
            open_connections,
            exchanges: since.exchanges,
            turns: since.turns,
            network: Share::from_parts(since.network, since.waited),
        }
    }

    /// Output errors are kept for [`Aggregator::finish`].
    pub fn fact(&mut self, fact: Fact) {
        // Recordings keep a pooler's facts, because they can be recognised again.
        if let Some(recording) = &mut self.recording {
            let written = write_fact(&mut recording.writer, &fact);
            self.recorded(written);
        }
        self.sinks.write_tables(|tables| tables.fact(&fact));
        if let Fact::Exchange { exchange, .. } = &fact {
            self.since_progress.add(exchange);
        }
        self.poolers.process_fact(fact).each(|fact| self.summed(fact));
    }

    pub fn lost(&mut self, losses: FactLosses) {
        self.dropped_exchanges += losses.exchanges;
        self.missing.lost(losses);
    }

    pub fn dropped_exchanges(&self) -> u64 {
        self.dropped_exchanges
    }

    fn summed(&mut self, fact: Fact) {
        self.sinks.overview.fact(&fact);
        if let Some(overview) = &mut self.sinks.since_baseline {
            overview.fact(&fact);
        }
        if let Some(current) = &mut self.current {
            current.fact(&fact);
        }
        if let Some(findings) = &mut self.sinks.findings {
            findings.fact(&fact);
        }
        self.sinks.exports.fact(&fact);
        let mut closed = None;
        match &fact {
            Fact::Opened {
                connection,
                at,
                client,
                server,
            } => {
                if self.sinks.replays() {
                    self.moved.opened(*connection, *server);
                }
                if self.sinks.exchanges {
                    self.sinks
                        .write(|records| records.opened(*connection, *at, *client, *server));
                }
            }
            Fact::Started { .. } | Fact::Begun { .. } => {}
            Fact::Exchange { exchange, .. } => {
                self.missing.exchange(exchange);
            }
            Fact::Closed(outcome) => {
                self.missing.connection(outcome);
                closed = Some(outcome.clone());
            }
        }
        let sinks = &mut self.sinks;
        self.operations
            .fact(fact, &mut |grouped| sinks.process_grouped(grouped));
        if let Some(outcome) = closed {
            self.sinks.write(|records| records.connection(&outcome));
        }
    }

    /// Programs at the ends of an open connection on this machine, client first. Facts that arrive
    /// later are assigned to them.
    pub fn programs(&mut self, connection: ConnectionId, programs: &PerSide<Option<Arc<HostProcess>>>) {
        let numbers = programs.each_ref().map(|program| Some(program.as_ref()?.number));
        self.operations.programs(connection, numbers);
    }

    fn recorded(&mut self, written: io::Result<()>) {
        match (&self.sinks.output_health, written) {
            (Some(output_health), Err(fault)) => {
                output_health.gave_up("the recording is", fault);
                self.recording = None;
            }
            (_, written) => self.sinks.record_written(written),
        }
    }

    pub fn link(&mut self, link: &LinkOutcome) {
        self.sinks.write(|records| records.link(link));
    }

    /// Whether an output is lost and the rest is unwanted. For a run that survives the loss of
    /// outputs, whether all are lost.
    pub fn is_over(&self) -> bool {
        let sinks = &self.sinks;
        match &sinks.output_health {
            None => sinks.fault.is_some(),
            Some(_) => {
                let records_lost = sinks.non_blocking_writer.is_some() && sinks.records.is_none();
                records_lost && self.recording.is_none() && sinks.tables.is_none() && sinks.samples.is_none()
            }
        }
    }

    /// The run's fingerprints for decoders. They know the texts of statements with an unseen
    /// preparation.
    pub fn fingerprints(&self) -> KnownFingerprints {
        self.fingerprints.clone()
    }

    pub fn moved(&self) -> MovedConnections {
        self.moved.clone()
    }

    /// Writes the remaining records and returns the values of the view.
    pub fn finish(
        self,
        warnings: Vec<Warning>,
        packets: Option<u64>,
    ) -> Result<(ReadOutcome, Option<Operation>)> {
        self.finish_amended(warnings, packets, |_| ())
    }

    /// Calls `amend` to change the outcome before it is written, for example to add measurements.
    pub fn finish_amended(
        mut self,
        mut warnings: Vec<Warning>,
        packets: Option<u64>,
        amend: impl FnOnce(&mut ReadOutcome),
    ) -> Result<(ReadOutcome, Option<Operation>)> {
        for fact in self.poolers.finish() {
            self.summed(fact);
        }
        warnings.extend(self.poolers.notes());
        warnings.extend(not_moved(&self.poolers, &self.moved));
        let Self {
            rule,
            targets,
            operations,
            mut sinks,
            recording,
            missing,
            conditions,
            moved,
            fingerprints,
            ..
        } = self;
        let inferred = operations.finish(&mut |grouped| sinks.process_grouped(grouped));
        warnings.extend(inferred);
        let recognised = fingerprints.recognised();
        sinks.overview.recognise(&recognised);
        let mut totals = std::mem::take(&mut sinks.overview).finish();
        totals.summary.packets = packets;
        totals.summary.dropped_exchanges = missing.dropped_exchanges();
        warnings.extend(missing.warnings());
        warnings.extend(seen::warnings(&totals.summary, &totals.operations));
        warnings.extend(no_requests(rule, &totals.summary));
        let found = sinks.findings.take().map(Findings::finish).unwrap_or_default();
        warnings.extend(no_room(&found));
        let predicts = sinks.predictor.is_some();
        let mut predicted = sinks
            .predictor
            .take()
            .map(PredictionThread::finish)
            .unwrap_or_default();
        if predicts {
            warnings.extend(senders::warning(sinks.senders, &predicted));
        }
        let concurrency = predicted.concurrency;
        if predicts && !moved.moves_any() && totals.summary.operations > 0 {
            warnings.push(Warning::new(WarningKind::NothingMoved, NOTHING_MOVED));
        }
        let findings = prices::priced_by_replays(
            owners::with_owners(found.findings, &totals.operations),
            &predicted.remedies,
            &targets,
            &predicted.predictions,
        );
        prices::forget_unreported(&predicted.remedies, &findings, &mut predicted.predictions);
        let (predictions, unmoved) = by_whether_they_move(predicted.predictions);
        warnings.extend(unexplained::warning(&predictions));
        let longest = sinks.longest.operation.as_ref();
        let longest = longest.map(|longest| concurrency.expected(longest));
        if let Some(samples) = &sinks.samples {
            samples.set_concurrency(concurrency);
        }
        let mut outcome = ReadOutcome {
            conditions,
            connections: totals.connections,
            statements: totals.statements,
            operations: totals.operations,
            held: totals.held,
            recognised,
            warnings,
            predictions,
            unmoved,
            held_predictions: predicted.held,
            findings,
            links: Vec::new(),
            summary: totals.summary,
        };
        amend(&mut outcome);
        sinks.finish(recording, &outcome)?;
        Ok((outcome, longest))
    }
}

fn no_requests(rule: Rule, summary: &Summary) -> Option<Warning> {
    (rule == Rule::Http && summary.operations == 0 && summary.connections > 0)
        .then(|| Warning::new(WarningKind::NothingSeen, NO_REQUESTS))
}

const NO_REQUESTS: &str = "--operations http, but no answered HTTP request was seen: capture the application's HTTP port too. With a \
                           relay, name the application as a target (longwire watch http://HOST:PORT DATABASE) and send its requests \
                           there. HTTPS cannot be read. --operations auto shows the transactions and statements";

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

fn no_room(found: &FindingsReport) -> Option<Warning> {
    (found.left_out > 0).then(|| {
        let text = format!(
            "too many different findings: {} more were left out; read fewer connections at a time",
            found.left_out
        );
        Warning::new(WarningKind::LeftOut, text)
    })
}

const NOTHING_MOVED: &str = "no connection was moved to the other link, so the predictions repeat the measurement; name the \
                             connections that move with --on";

const NOT_WRITTEN: &str = "could not write all records";

impl Sinks {
    fn replays(&self) -> bool {
        self.predictor.is_some() || self.samples.is_some() || self.recent.is_some()
    }

    fn finish(mut self, recording: Option<Recording>, outcome: &ReadOutcome) -> Result<()> {
        self.write(|records| write_outcome(records, outcome));
        if let Some(recording) = recording {
            let written = recording.finish(outcome);
            match &self.output_health {
                Some(output_health) => output_health.record_written("the recording is", written),
                None => self.record_written(written),
            }
        }
        if let Some(tables) = self.tables.take() {
            let written = tables.finish(outcome);
            self.tables_written(written);
        }
        if let (Some(non_blocking_writer), Some(_)) = (self.non_blocking_writer.take(), &self.records) {
            self.record_written(non_blocking_writer.finish());
        }
        match self.fault {
            Some(fault) => Err(anyhow::Error::new(fault).context(NOT_WRITTEN)),
            None => Ok(()),
        }
    }

    fn process_grouped(&mut self, grouped: Grouped) {
        let exchanges = self.exchanges;
        match grouped {
            Grouped::Operation(operation) => {
                self.overview.operation(&operation);
                if let Some(overview) = &mut self.since_baseline {
                    overview.operation(&operation);
                }
                if let Some(recent) = &mut self.recent {
                    recent.process_operation(&operation);
                }
                self.longest.process_operation(&operation);
                if let Some(samples) = &self.samples {
                    samples.process_operation(&operation);
                }
                if let Some(kept) = &self.kept {
                    kept.process_operation(&operation);
                }
                let findings = self.findings.as_mut();
                let found = findings
                    .map(|findings| findings.operation(&operation))
                    .unwrap_or_default();
                self.exports.operation(&operation, found.is_waste);
                self.write_tables(|tables| tables.operation(&operation));
                self.write(|records| {
                    if exchanges {
                        operation
                            .steps
                            .iter()
                            .try_for_each(|step| records.step(step, operation.id))?;
                    }
                    records.operation(&operation)
                });
                if let Some(predictor) = &mut self.predictor {
                    predictor.process_operation(operation, found.left_out);
                }
            }
            Grouped::Alone(exchange, protocol) if exchanges => {
                self.write(|records| records.exchange(&exchange, protocol, None));
            }
            Grouped::Alone(..) => {}
        }
    }

    fn write(&mut self, write: impl FnOnce(&mut JsonWriter<RecordSink>) -> io::Result<()>) {
        if self.fault.is_none()
            && let Some(records) = &mut self.records
        {
            let written = write(records);
            self.record_written(written);
        }
    }

    fn write_tables(&mut self, write: impl FnOnce(&mut TableRecords) -> io::Result<()>) {
        if let Some(tables) = &mut self.tables {
            let written = write(tables);
            self.tables_written(written);
        }
    }

    /// Handles the result of a write of tables. An error ends them and removes unfinished files.
    fn tables_written(&mut self, written: io::Result<()>) {
        let Err(fault) = written else { return };
        self.tables = None;
        match &self.output_health {
            Some(output_health) => output_health.gave_up("the tables are", fault),
            None => {
                self.fault.get_or_insert(fault);
            }
        }
    }

    fn record_written(&mut self, written: io::Result<()>) {
        let Err(fault) = written else { return };
        match &self.output_health {
            Some(output_health) => {
                output_health.gave_up("the records on stdout are", fault);
                self.records = None;
            }
            None => {
                self.fault.get_or_insert(fault);
            }
        }
    }
}

#[derive(Debug, Default)]
struct Longest {
    is_wanted: bool,
    operation: Option<Operation>,
}

impl Longest {
    fn process_operation(&mut self, operation: &Operation) {
        let longer = self
            .operation
            .as_ref()
            .is_none_or(|longest| longest.duration < operation.duration);
        if self.is_wanted && longer {
            self.operation = Some(operation.clone());
        }
    }
}

#[derive(Debug, Default)]
struct SinceProgress {
    exchanges: u64,
    turns: u64,
    waited: Duration,
    network: Duration,
}

impl SinceProgress {
    fn add(&mut self, exchange: &Exchange) {
        self.exchanges += 1;
        self.turns += u64::from(exchange.turns);
        let waited = exchange.ended().since(exchange.at);
        self.waited += waited;
        self.network += waited.saturating_sub(exchange.server());
    }
}

impl Recording {
    fn finish(mut self, outcome: &ReadOutcome) -> io::Result<()> {
        outcome
            .recognised
            .iter()
            .try_for_each(|found| self.writer.recognised(found))?;
        outcome
            .warnings
            .iter()
            .try_for_each(|warning| self.writer.warning(warning))?;
        self.writer.finish(&outcome.summary)?;
        self.non_blocking_writer
            .map_or(Ok(()), |non_blocking_writer| non_blocking_writer.finish())
    }
}

fn write_fact(recording: &mut RecordingWriter<RecordSink>, fact: &Fact) -> io::Result<()> {
    match fact {
        Fact::Opened {
            connection,
            at,
            client,
            server,
        } => recording.opened(*connection, *at, *client, *server),
        Fact::Started {
            connection,
            at,
            fingerprint,
            request,
        } => recording.started(*connection, *at, fingerprint.as_ref(), *request),
        Fact::Begun { connection, at } => recording.begun(*connection, *at),
        Fact::Exchange { exchange, protocol } => recording.exchange(exchange, *protocol),
        Fact::Closed(outcome) => recording.connection(outcome),
    }
}

fn write_outcome(records: &mut JsonWriter<RecordSink>, outcome: &ReadOutcome) -> io::Result<()> {
    outcome
        .statements
        .iter()
        .try_for_each(|statement| records.statement(statement))?;
    outcome
        .recognised
        .iter()
        .try_for_each(|found| records.recognised(found))?;
    outcome
        .predictions
        .iter()
        .try_for_each(|prediction| records.prediction(prediction))?;
    outcome.held.iter().try_for_each(|held| records.held(held))?;
    outcome
        .held_predictions
        .iter()
        .try_for_each(|held| records.held_prediction(held))?;
    outcome
        .findings
        .iter()
        .try_for_each(|finding| records.finding(finding))?;
    outcome.links.iter().try_for_each(|link| records.link(link))?;
    outcome
        .warnings
        .iter()
        .try_for_each(|warning| records.warning(warning))?;
    records.summary(&outcome.summary)?;
    records.flush()
}
