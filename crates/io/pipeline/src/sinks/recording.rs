//! The recording of a run: its facts as observed, because poolers can be recognised again.

use super::record_output::RecordOutput;
use super::{AggregatorConfig, Requested, RunSink, boxed};
use crate::non_blocking_writer::NonBlockingWriter;
use crate::private_file;
use analysis::fact::Fact;
use anyhow::Context;
use model::Conditions;
use report::{ReadOutcome, RecordEncoder, RecordWriter, RecordingWriter};
use std::io;

struct Recording {
    writer: RecordingWriter<RecordOutput>,
    non_blocking: Option<NonBlockingWriter>,
}

pub(super) fn requested(config: &AggregatorConfig, conditions: &Conditions) -> Requested {
    let Some(path) = &config.recording else {
        return Ok(None);
    };
    let not_created = || format!("could not create {}", path.display());
    let (output, non_blocking) = match config.output_health {
        Some(_) => {
            let writer = NonBlockingWriter::create(path).with_context(not_created)?;
            (RecordOutput::NonBlocking(writer.clone()), Some(writer))
        }
        None => {
            let file = private_file::create(path).with_context(not_created)?;
            (RecordOutput::File(file), None)
        }
    };
    match (RecordingWriter::new(output, conditions), &config.output_health) {
        (Ok(writer), _) => boxed(Some(Recording { writer, non_blocking })),
        (Err(fault), Some(output_health)) => {
            output_health.gave_up(GIVEN_UP, fault);
            Ok(None)
        }
        (Err(fault), None) => Err(fault).with_context(|| format!("could not write {}", path.display())),
    }
}

const GIVEN_UP: &str = "the recording is";

impl RunSink for Recording {
    fn observed(&mut self, fact: &Fact) -> io::Result<()> {
        write_fact(self.writer.records(), fact)
    }

    fn checkpoint(&mut self) -> io::Result<()> {
        self.writer.checkpoint()
    }

    fn finish(mut self: Box<Self>, outcome: &ReadOutcome) -> io::Result<()> {
        let records = self.writer.records();
        let mut recognised = outcome.recognised.iter();
        recognised.try_for_each(|found| records.recognised(found))?;
        records.warnings(&outcome.warnings)?;
        self.writer.finish(&outcome.summary)?;
        self.non_blocking.map_or(Ok(()), |output| output.finish())
    }

    fn output(&self) -> Option<&'static str> {
        Some(GIVEN_UP)
    }
}

/// Writes the record of a fact, from which it can be read back.
pub(super) fn write_fact<E: RecordEncoder>(records: &mut RecordWriter<E>, fact: &Fact) -> io::Result<()> {
    match fact {
        Fact::Opened {
            connection,
            at,
            client,
            server,
        } => records.opened(*connection, *at, *client, *server),
        Fact::Started {
            connection,
            at,
            fingerprint,
            request,
        } => records.started(*connection, *at, fingerprint.as_ref(), *request),
        Fact::Begun { connection, at } => records.begun(*connection, *at),
        Fact::Left { connection, at } => records.left(*connection, *at),
        Fact::Exchange { exchange, protocol } => records.exchange(exchange, *protocol, None),
        Fact::Closed(outcome) => records.connection(outcome),
    }
}
