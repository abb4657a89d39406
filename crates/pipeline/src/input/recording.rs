//! Turns records of an earlier run into facts.

use super::InputSummary;
use analysis::fact::Fact;
use analysis::fingerprint::KnownFingerprints;
use anyhow::{Context, Result};
use model::{ConnectionId, Warning};
use report::{Record, RecordReader};
use std::io::BufRead;

/// A recording's name and bytes.
pub type Recording = (String, Box<dyn BufRead + Send>);

/// The fact that a record keeps; the record itself where it keeps none.
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
            Fact::Closed(outcome)
        }
        record => return Err(record),
    })
}

/// Reads one recording; its connections get numbers after those seen before, its statements are distinguished across all files.
///
/// # Errors
/// When it cannot be read, or its first record is none. Faults after that are noted in `input`.
pub fn read(
    name: &str,
    reader: Box<dyn BufRead + Send>,
    (next_id, known): (&mut u32, &KnownFingerprints),
    facts: &mut dyn FnMut(Fact),
    input: &mut InputSummary,
) -> Result<()> {
    let first_id = *next_id;
    let mut renumber = |id: ConnectionId| {
        let id = ConnectionId(id.0.saturating_add(first_id));
        *next_id = (*next_id).max(id.0.saturating_add(1));
        id
    };
    let mut records = RecordReader::new(reader).with_context(|| format!("could not read {name}"))?;
    let (mut seen, faults) = (Seen::default(), input.faults.len());
    while let Some(record) = records.next() {
        let record = match record {
            Ok(record) => record,
            Err(fault) if !seen.any => {
                return Err(
                    anyhow::Error::new(fault).context(format!("{name} is no recording that can be read"))
                );
            }
            Err(fault) => {
                input.damaged(format!(
                    "{name} is damaged, what precedes the damage is reported: {fault}"
                ));
                break;
            }
        };
        seen.any = true;
        match fact_of(record, &mut renumber, known) {
            Ok(fact) => {
                seen.count(&fact);
                facts(fact);
            }
            Err(Record::Warning(warning)) => {
                let text = format!("{name}: {}", warning.text);
                match records.is_cut() {
                    true => input.damaged(text),
                    false => input.warnings.push(Warning { text }),
                }
            }
            Err(Record::Summary(_)) => seen.end = true,
            Err(_) => {}
        }
    }
    seen.note_missing(name, input.faults.len() == faults, input);
    Ok(())
}

/// How much of a recording was seen.
#[derive(Default)]
struct Seen {
    /// A record at all.
    any: bool,
    /// The summary, with which every whole recording ends.
    end: bool,
    exchanges: u64,
    /// Exchanges, as the connections count them.
    counted: u64,
}

impl Seen {
    fn count(&mut self, fact: &Fact) {
        match fact {
            Fact::Exchange { .. } => self.exchanges += 1,
            Fact::Closed(outcome) => self.counted += outcome.exchanges,
            Fact::Opened { .. } | Fact::Started { .. } | Fact::Begun { .. } => {}
        }
    }

    /// Notes what is missing; a missing end only where nothing else is wrong (`intact`).
    fn note_missing(&self, name: &str, intact: bool, input: &mut InputSummary) {
        if !self.end && intact {
            input.damaged(format!(
                "{name} has no summary at its end: the run that wrote it, or its copy, was cut short; what came before is reported"
            ));
        }
        if self.exchanges < self.counted {
            input.damaged(format!(
                "{name} holds {} of {} exchanges: operations and statements are those of the exchanges it \
                 holds; write it with --exchanges, or with `watch -o`",
                self.exchanges, self.counted
            ));
        }
    }
}
