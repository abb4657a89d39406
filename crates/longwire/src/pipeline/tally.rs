//! Facts of all connections to outcomes: operations, totals, predictions, and the records of each.

use super::moved::Moved;
use analysis::fact::Fact;
use analysis::operations::rule::Rule;
use analysis::operations::{Grouped, Operations};
use analysis::overview::Overview;
use anyhow::{Context, Result};
use model::{Conditions, Endpoint, Exchange, Prediction, Share, Warning};
use predict::{Predictor, Target};
use report::text::Progress;
use report::{JsonWriter, ReadOutcome, RecordingWriter};
use std::fs::File;
use std::io::{self, StdoutLock, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// What a tally is asked for.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// What makes an operation.
    pub rule: Rule,
    /// Links to predict for; none when no prediction is asked.
    pub targets: Vec<Target>,
    /// Which connections move there.
    pub moved: Vec<super::moved::Choice>,
    /// Names for connections to these servers, as operations.
    pub names: Vec<(Endpoint, Arc<str>)>,
    /// Whether to write records to stdout.
    pub json: bool,
    /// Whether those include one for each exchange.
    pub exchanges: bool,
}

/// Sums up a run as its facts come.
pub struct Tally {
    operations: Operations,
    overview: Overview,
    predictor: Option<Predictor>,
    moved: Moved,
    records: Option<JsonWriter<Out>>,
    exchanges: bool,
    recording: Option<RecordingWriter<File>>,
    since_progress: SinceProgress,
    conditions: Conditions,
    fault: Option<io::Error>,
}

/// What came since the last progress line.
#[derive(Debug, Default)]
struct SinceProgress {
    exchanges: u64,
    turns: u64,
    waited: Duration,
    network: Duration,
}

type Out = io::BufWriter<StdoutLock<'static>>;

impl Tally {
    /// Begins; writes the conditions when records are wanted.
    ///
    /// # Errors
    /// When stdout does not take them.
    pub fn new(wanted: &Wanted, conditions: Conditions) -> Result<Self> {
        let moved = Moved::new(wanted.moved.clone());
        let records = if wanted.json {
            let mut records = JsonWriter::new(io::BufWriter::with_capacity(1 << 16, io::stdout().lock()));
            records.conditions(&conditions)?;
            Some(records)
        } else {
            None
        };
        let predictor = (!wanted.targets.is_empty()).then(|| {
            let moved = moved.clone();
            Predictor::new(wanted.targets.clone(), Box::new(move |step| moved.moves(step)))
        });
        Ok(Self {
            operations: Operations::new(wanted.rule).with_names(wanted.names.iter().cloned()),
            overview: Overview::default(),
            predictor,
            moved,
            records,
            exchanges: wanted.exchanges,
            recording: None,
            since_progress: SinceProgress::default(),
            conditions,
            fault: None,
        })
    }

    /// Keeps all facts in a recording too.
    ///
    /// # Errors
    /// When the file cannot be created.
    pub fn record(&mut self, path: &Path) -> Result<()> {
        let file = File::create(path).with_context(|| format!("could not create {}", path.display()))?;
        let recording = RecordingWriter::new(file, &self.conditions);
        self.recording = Some(recording.with_context(|| format!("could not write {}", path.display()))?);
        Ok(())
    }

    /// Makes readable what the recording has so far.
    ///
    /// # Errors
    /// When the file does not take it.
    pub fn checkpoint(&mut self) -> Result<()> {
        if let Some(recording) = &mut self.recording {
            recording.checkpoint().context("could not write the recording")?;
        }
        if let Some(records) = &mut self.records {
            note(&mut self.fault, records.flush());
        }
        Ok(())
    }

    /// What happened since the last call.
    pub fn progress(&mut self, elapsed: Duration, interval: Duration, open_connections: u64) -> Progress {
        let since = std::mem::take(&mut self.since_progress);
        Progress {
            elapsed,
            interval,
            open_connections,
            exchanges: since.exchanges,
            turns: since.turns,
            network: Share::of(since.network, since.waited),
        }
    }

    /// Takes the next fact. A fault of stdout is kept and told by [`Tally::finish`].
    pub fn fact(&mut self, fact: Fact) {
        if let Fact::Opened {
            connection, server, ..
        } = fact
        {
            self.moved.opened(connection, server);
        }
        self.overview.fact(&fact);
        if let Fact::Exchange { exchange, .. } = &fact {
            self.since_progress.add(exchange);
        }
        if let Some(recording) = &mut self.recording {
            note(&mut self.fault, write_fact(recording, &fact));
        }
        if let (Fact::Closed(outcome), Some(records)) = (&fact, &mut self.records) {
            let result = records.connection(outcome);
            note(&mut self.fault, result);
        }
        let Self {
            operations,
            overview,
            predictor,
            records,
            exchanges,
            fault,
            ..
        } = self;
        operations.fact(fact, &mut |grouped| {
            group(
                grouped,
                overview,
                predictor.as_mut(),
                records.as_mut(),
                *exchanges,
                fault,
            );
        });
    }

    /// Whether stdout is gone: nobody wants the rest.
    pub fn is_over(&self) -> bool {
        self.fault.is_some()
    }

    /// The run is over: writes the remaining records, or gives what the view is made from.
    ///
    /// # Errors
    /// When stdout did not take a record.
    pub fn finish(mut self, warnings: Vec<Warning>, packets: Option<u64>) -> Result<ReadOutcome> {
        let recording = self.recording.take();
        let Self {
            operations,
            mut overview,
            mut predictor,
            mut records,
            exchanges,
            conditions,
            mut fault,
            ..
        } = self;
        operations.finish(&mut |grouped| {
            group(
                grouped,
                &mut overview,
                predictor.as_mut(),
                records.as_mut(),
                exchanges,
                &mut fault,
            );
        });
        let mut totals = overview.finish();
        totals.summary.packets = packets;
        let predictions = predictor.map(Predictor::finish).unwrap_or_default();
        if let Some(mut records) = records.take() {
            for statement in &totals.statements {
                note(&mut fault, records.statement(statement));
            }
            note(&mut fault, write_predictions(&mut records, &predictions));
            for warning in &warnings {
                note(&mut fault, records.warning(warning));
            }
            note(&mut fault, records.summary(&totals.summary));
            note(&mut fault, records.flush());
        }
        if let Some(mut recording) = recording {
            for warning in &warnings {
                note(&mut fault, recording.warning(warning));
            }
            note(&mut fault, recording.finish(&totals.summary).map(drop));
        }
        if let Some(fault) = fault {
            return Err(anyhow::Error::new(fault).context("could not write the records"));
        }
        Ok(ReadOutcome {
            conditions,
            connections: totals.connections,
            statements: totals.statements,
            operations: totals.operations,
            warnings,
            predictions,
            summary: totals.summary,
        })
    }
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

fn write_fact(recording: &mut RecordingWriter<File>, fact: &Fact) -> io::Result<()> {
    match fact {
        Fact::Opened {
            connection,
            at,
            client,
            server,
        } => recording.opened(*connection, *at, *client, *server),
        Fact::Started { connection, at } => recording.started(*connection, *at),
        Fact::Exchange { exchange, protocol } => recording.exchange(exchange, *protocol),
        Fact::Closed(outcome) => recording.connection(outcome),
    }
}

fn group(
    grouped: Grouped,
    overview: &mut Overview,
    predictor: Option<&mut Predictor>,
    records: Option<&mut JsonWriter<Out>>,
    exchanges: bool,
    fault: &mut Option<io::Error>,
) {
    match grouped {
        Grouped::Operation(operation) => {
            overview.operation(&operation);
            if let Some(predictor) = predictor {
                predictor.add(&operation);
            }
            if let Some(records) = records {
                if exchanges {
                    for step in &operation.steps {
                        note(fault, records.step(step, operation.id));
                    }
                }
                note(fault, records.operation(&operation));
            }
        }
        Grouped::Alone(exchange, protocol) => {
            if let Some(records) = records.filter(|_| exchanges) {
                note(fault, records.exchange(&exchange, protocol, None));
            }
        }
    }
}

fn write_predictions<W: Write>(records: &mut JsonWriter<W>, predictions: &[Prediction]) -> io::Result<()> {
    predictions
        .iter()
        .try_for_each(|prediction| records.prediction(prediction))
}

fn note(fault: &mut Option<io::Error>, result: io::Result<()>) {
    if let Err(error) = result {
        fault.get_or_insert(error);
    }
}
