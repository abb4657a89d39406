//! Reads records of an earlier run into facts.

use super::InputSummary;
use super::numbering::Numbering;
use analysis::fact::Fact;
use analysis::fingerprint::KnownFingerprints;
use anyhow::{Context, Result};
use model::{ConnectionId, RecognisedStatement, Warning, WarningKind, counted};
use report::{Record, RecordReader};
use std::io::BufRead;

pub type Recording = (String, Box<dyn BufRead + Send>);

/// The fact in a record, or the record itself.
#[expect(clippy::result_large_err, reason = "it is handed on at once, never up")]
fn fact_of(
    record: Record,
    renumber: &mut dyn FnMut(ConnectionId) -> ConnectionId,
    known: &KnownFingerprints,
) -> Result<Fact, Record> {
    Ok(match record {
        Record::Opened {
            connection,
            at,
            client,
            server,
        } => Fact::Opened {
            connection: renumber(connection),
            at,
            client,
            server,
        },
        Record::Started {
            connection,
            at,
            fingerprint,
            request,
        } => Fact::Started {
            connection: renumber(connection),
            at,
            fingerprint: fingerprint.map(|text| known.intern(&text)),
            request,
        },
        Record::Begun { connection, at } => Fact::Begun {
            connection: renumber(connection),
            at,
        },
        Record::Left { connection, at } => Fact::Left {
            connection: renumber(connection),
            at,
        },
        Record::Exchange {
            mut exchange,
            protocol,
            ..
        } => {
            exchange.connection = renumber(exchange.connection);
            exchange.fingerprint = exchange.fingerprint.map(|text| known.intern(&text));
            Fact::Exchange { exchange, protocol }
        }
        Record::Connection(mut outcome) => {
            outcome.id = renumber(outcome.id);
            Fact::Closed(Box::new(outcome))
        }
        record => return Err(record),
    })
}

pub struct RecordingFacts {
    name: String,
    records: RecordReader<Box<dyn BufRead + Send>>,
    numbering: Numbering,
    known: KnownFingerprints,
    seen: Seen,
    notes: InputSummary,
    /// Texts of statements with an unseen preparation, as far as known.
    pub(super) recognised: Vec<RecognisedStatement>,
    over: bool,
}

impl RecordingFacts {
    /// `known` is shared by all files, to distinguish their statements alike.
    ///
    /// # Errors
    /// If the recording cannot be read.
    pub fn new((name, reader): Recording, numbering: Numbering, known: KnownFingerprints) -> Result<Self> {
        let records = RecordReader::new(reader).with_context(|| format!("could not read {name}"))?;
        Ok(Self {
            name,
            records,
            numbering,
            known,
            seen: Seen::default(),
            notes: InputSummary::default(),
            recognised: Vec::new(),
            over: false,
        })
    }

    /// The next fact. `None` at the end, and at damage that is recorded.
    ///
    /// # Errors
    /// If the first record is invalid.
    pub fn next(&mut self) -> Result<Option<Fact>> {
        while !self.over {
            let record = match self.records.next() {
                Some(Ok(record)) => record,
                Some(Err(fault)) if !self.seen.any => {
                    let text = format!("{} is no recording that can be read", self.name);
                    return Err(anyhow::Error::new(fault).context(text));
                }
                Some(Err(fault)) => {
                    self.notes.damaged(
                        WarningKind::CaptureDamaged,
                        format!(
                            "{} is damaged; everything before the damage is reported: {fault}",
                            self.name
                        ),
                    );
                    self.over = true;
                    break;
                }
                None => {
                    self.over = true;
                    break;
                }
            };
            self.seen.any = true;
            if let Some(fact) = self.process_record(record) {
                return Ok(Some(fact));
            }
        }
        Ok(None)
    }

    fn process_record(&mut self, record: Record) -> Option<Fact> {
        let numbering = self.numbering;
        match fact_of(record, &mut |id| numbering.renumber(id), &self.known) {
            Ok(fact) => {
                self.seen.count(&fact);
                return Some(fact);
            }
            Err(Record::Warning(warning)) => {
                let Warning { kind, text } = warning.with_name(&self.name);
                match self.records.is_cut() {
                    true => self.notes.damaged(kind, text),
                    false => self.notes.warnings.push(Warning { kind, text }),
                }
            }
            Err(Record::Recognised(found)) => self.recognised.push(found),
            Err(Record::Summary(summary)) => {
                self.seen.end = true;
                self.seen.dropped += summary.dropped_exchanges;
            }
            Err(_) => {}
        }
        None
    }

    pub fn finish(mut self) -> InputSummary {
        let intact = self.notes.faults.is_empty();
        self.seen.note_missing(&self.name, intact, &mut self.notes);
        self.notes
    }
}

#[derive(Default)]
struct Seen {
    any: bool,
    /// The summary, the last record of a complete recording.
    end: bool,
    exchanges: u64,
    /// Exchanges dropped by the run that wrote it.
    dropped: u64,
    counted: u64,
}

impl Seen {
    fn count(&mut self, fact: &Fact) {
        match fact {
            Fact::Exchange { .. } => self.exchanges += 1,
            Fact::Closed(outcome) => self.counted += outcome.exchanges,
            Fact::Opened { .. } | Fact::Started { .. } | Fact::Begun { .. } | Fact::Left { .. } => {}
        }
    }

    /// Reports missing data; a missing end only if the recording is otherwise `intact`.
    fn note_missing(&self, name: &str, intact: bool, input: &mut InputSummary) {
        if !self.end && intact {
            input.damaged(WarningKind::CaptureCut, format!(
                "{name} has no summary at its end: the run that wrote it, or its copy, was cut short; everything before is reported"
            ));
        }
        if self.dropped > 0 {
            return input.damaged(WarningKind::ExchangesDropped, format!(
                "{name} lacks {} that were dropped while it was written, because longwire did not keep up: operations and statements are of the others",
                counted(self.dropped, "exchange", "exchanges")
            ));
        }
        if self.exchanges < self.counted {
            input.damaged(WarningKind::LeftOut, format!(
                "{name} holds {} of {} exchanges: operations and statements are those of the exchanges it \
                 holds; write it with --exchanges, or with `watch -o`",
                self.exchanges, self.counted
            ));
        }
    }
}
