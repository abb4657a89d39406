//! Records of a run on stdout.

use super::faults::NOT_WRITTEN;
use super::record_output::RecordOutput;
use super::{AggregatorConfig, InspectedOperation, Requested, RunSink, boxed};
use crate::input::RunFiles;
use crate::non_blocking_writer::NonBlockingWriter;
use analysis::fact::Fact;
use anyhow::Context;
use model::{Conditions, ConnectionId, ConnectionOutcome, Exchange, LinkOutcome, Protocol};
use report::{FileColumn, ReadOutcome, RecordPrinter};
use std::io;

struct RunRecords {
    records: RecordPrinter<RecordOutput>,
    non_blocking: Option<NonBlockingWriter>,
    exchanges: bool,
    is_predicted: bool,
    files: Option<RunFiles>,
}

/// Writes the conditions, if records are requested.
pub(super) fn requested(config: &AggregatorConfig, conditions: &Conditions) -> Requested {
    let Some(format) = config.records else {
        return Ok(None);
    };
    let non_blocking = config.output_health.as_ref().map(|_| NonBlockingWriter::stdout());
    let non_blocking = non_blocking.transpose().context(NOT_WRITTEN)?;
    let output = non_blocking
        .clone()
        .map_or_else(RecordOutput::stdout, RecordOutput::NonBlocking);
    let files = config.files.clone();
    let column = match &files {
        Some(_) => FileColumn::OfConnections(None),
        None => config.file.clone().map_or(FileColumn::None, FileColumn::OfRun),
    };
    let mut records = RecordPrinter::with_files(format, column, output);
    records.conditions(conditions).context(NOT_WRITTEN)?;
    boxed(Some(RunRecords {
        records,
        non_blocking,
        exchanges: config.exchanges,
        is_predicted: !config.targets.is_empty(),
        files,
    }))
}

impl RunRecords {
    /// Writes records of a connection.
    fn write_in_file(
        &mut self,
        connection: ConnectionId,
        write: impl FnOnce(&mut RecordPrinter<RecordOutput>) -> io::Result<()>,
    ) -> io::Result<()> {
        let file = self.files.as_ref().and_then(|files| files.name_of(connection));
        self.records.in_file(file);
        write(&mut self.records)?;
        self.records.in_file(None);
        Ok(())
    }
}

impl RunSink for RunRecords {
    fn fact(&mut self, fact: &Fact) -> io::Result<()> {
        if self.exchanges
            && let Fact::Opened {
                connection,
                at,
                client,
                server,
            } = fact
        {
            self.write_in_file(*connection, |records| {
                records.opened(*connection, *at, *client, *server)
            })?;
        }
        Ok(())
    }

    fn operation(&mut self, inspected: &mut InspectedOperation) -> io::Result<()> {
        let operation = &inspected.operation;
        if self.exchanges {
            let mut steps = operation.steps.iter();
            steps.try_for_each(|step| {
                self.write_in_file(step.exchange.connection, |records| {
                    records.step(step, operation.id)
                })
            })?;
        }
        self.records.operation(operation)
    }

    fn exchange(&mut self, exchange: &Exchange, protocol: Protocol) -> io::Result<()> {
        match self.exchanges {
            true => self.write_in_file(exchange.connection, |records| {
                records.exchange(exchange, protocol, None)
            }),
            false => Ok(()),
        }
    }

    fn connection(&mut self, outcome: &ConnectionOutcome) -> io::Result<()> {
        self.write_in_file(outcome.id, |records| records.connection(outcome))
    }

    fn link(&mut self, link: &LinkOutcome) -> io::Result<()> {
        self.records.link(link)
    }

    fn checkpoint(&mut self) -> io::Result<()> {
        self.records.flush()
    }

    fn finish(mut self: Box<Self>, outcome: &ReadOutcome) -> io::Result<()> {
        if self.is_predicted {
            outcome
                .not_predicted()
                .try_for_each(|one| self.records.not_predicted(&one))?;
        }
        write_outcome(&mut self.records, outcome)?;
        self.non_blocking.map_or(Ok(()), |output| output.finish())
    }

    fn output(&self) -> Option<&'static str> {
        Some("the records on stdout are")
    }
}

fn write_outcome(records: &mut RecordPrinter<RecordOutput>, outcome: &ReadOutcome) -> io::Result<()> {
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
        .sparing
        .iter()
        .try_for_each(|sparing| records.sparing(sparing))?;
    records.warnings(&outcome.warnings)?;
    records.summary(&outcome.summary)?;
    records.flush()
}
