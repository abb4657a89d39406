//! Records back to model values.

use super::connection::{BegunRecord, ConnectionRecord, LeftRecord, OpenedRecord, StartedRecord};
use super::exchange::ExchangeRecord;
use super::outcome::SummaryRecord;
use super::record::{ReadBody, Record};
use super::{Interner, RecordBody, SCHEMA, Text};
use crate::error::Error;
use crate::recording::Source;
use model::serde_units::NOT_UNDERSTOOD;
use model::{Conditions, RecognisedStatement, Warning, WarningKind};
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::io::{self, BufRead, Read};

/// Reads records, compressed or not.
///
/// Reading continues after the error of a bad line, unless the error says otherwise. A truncated
/// stream (a killed run) returns its complete records and then a [`Record::Warning`].
pub struct RecordReader<R: BufRead> {
    source: Source<R>,
    line: Vec<u8>,
    number: u64,
    shared: Interner,
    done: bool,
    cut: bool,
}

impl<R: BufRead> RecordReader<R> {
    /// `input` is a recording or plain JSON Lines.
    ///
    /// # Errors
    /// If the first bytes cannot be read.
    pub fn new(input: R) -> Result<Self, Error> {
        Ok(Self {
            source: Source::new(input).map_err(|source| Error::Read { line: 0, source })?,
            line: Vec::new(),
            number: 0,
            shared: Interner::default(),
            done: false,
            cut: false,
        })
    }

    /// Whether the stream ended in the middle of a record.
    pub fn is_cut(&self) -> bool {
        self.cut
    }

    fn next_record(&mut self) -> Option<Result<Record, Error>> {
        loop {
            let ending = match read_line(&mut self.source, &mut self.line) {
                Ok(ending) => ending,
                Err(fault) if fault.kind() == io::ErrorKind::UnexpectedEof => {
                    self.done = true;
                    return Some(Ok(self.cut_short()));
                }
                Err(source) => {
                    self.done = true;
                    let line = self.number;
                    return Some(Err(Error::Read { line, source }));
                }
            };
            self.done = ending == Ending::Stream;
            if self.done && self.line.is_empty() {
                return None;
            }
            self.number += 1;
            if ending == Ending::TooLong {
                return Some(Err(Error::TooLong {
                    line: self.number,
                    limit: LINE_LIMIT,
                }));
            }
            if self.line.trim_ascii().is_empty() {
                continue;
            }
            let record = parse(&self.line, self.number, &mut self.shared);
            if self.done && record.is_err() && ends_in_the_middle(&self.line) {
                return Some(Ok(self.cut_short()));
            }
            self.done |= matches!(record, Err(Error::NewerSchema { .. }));
            return Some(record);
        }
    }

    fn cut_short(&mut self) -> Record {
        self.cut = true;
        let text = format!(
            "the records end in the middle, after line {}: the run that wrote them, or its copy, was cut short; everything before is complete",
            self.number
        );
        Record::Warning(Warning::new(WarningKind::CaptureCut, text))
    }
}

impl<R: BufRead> Iterator for RecordReader<R> {
    type Item = Result<Record, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done { None } else { self.next_record() }
    }
}

#[derive(PartialEq, Eq)]
enum Ending {
    LineFeed,
    /// The stream ended, perhaps within the line.
    Stream,
    /// The line has more bytes than were kept.
    TooLong,
}

/// Reads one line without its line feed. Keeps at most [`LINE_LIMIT`] bytes.
fn read_line(source: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<Ending> {
    line.clear();
    source
        .by_ref()
        .take(LINE_LIMIT as u64 + 1)
        .read_until(b'\n', line)?;
    if line.pop_if(|last| *last == b'\n').is_some() {
        return Ok(Ending::LineFeed);
    }
    if line.len() <= LINE_LIMIT {
        return Ok(Ending::Stream);
    }
    line.clear();
    line.shrink_to(0);
    source.skip_until(b'\n')?;
    Ok(Ending::TooLong)
}

/// Whether `line` is an incomplete prefix of JSON.
fn ends_in_the_middle(line: &[u8]) -> bool {
    serde_json::from_slice::<IgnoredAny>(line).is_err_and(|fault| fault.is_eof())
}

#[derive(Deserialize)]
struct Head<'a> {
    #[serde(rename = "type", borrow)]
    name: Text<'a>,
    schema: u64,
}

fn parse(line: &[u8], number: u64, shared: &mut Interner) -> Result<Record, Error> {
    if line.starts_with(EXCHANGE_START) {
        return read_record::<ExchangeRecord<'_>>(line, number, shared);
    }
    let head: Head<'_> = from_slice(line, number)?;
    if head.schema > u64::from(SCHEMA) {
        return Err(Error::NewerSchema {
            line: number,
            schema: head.schema,
        });
    }
    match READERS.iter().find(|(name, _)| *name == head.name.0) {
        Some((_, read)) => read(line, number, shared),
        None => Ok(Record::Other {
            name: head.name.0.into_owned(),
        }),
    }
}

type ReadLine = fn(&[u8], u64, &mut Interner) -> Result<Record, Error>;

macro_rules! readers {
    ($($body:ty,)*) => {
        &[$((<$body>::NAME, |line, number, shared| read_record::<$body>(line, number, shared)),)*]
    };
}

const READERS: &[(&str, ReadLine)] = readers! {
    ExchangeRecord<'_>,
    Conditions,
    OpenedRecord,
    StartedRecord,
    BegunRecord,
    LeftRecord,
    ConnectionRecord<'_>,
    Warning,
    RecognisedStatement,
    SummaryRecord,
};

fn read_record<'a, B: ReadBody + Deserialize<'a>>(
    line: &'a [u8],
    number: u64,
    shared: &mut Interner,
) -> Result<Record, Error> {
    let body: B = from_slice(line, number)?;
    Ok(body.into_record(shared))
}

fn from_slice<'a, T: Deserialize<'a>>(line: &'a [u8], number: u64) -> Result<T, Error> {
    serde_json::from_slice(line).map_err(|fault| {
        let text = fault.to_string();
        // The parser sees a single line: its line number would mislead.
        let (line, reason) = (number, text.rsplit_once(" at line ").map(|(reason, _)| reason));
        match reason {
            Some(reason) if reason.ends_with(NOT_UNDERSTOOD) => Error::NotUnderstood {
                line,
                reason: reason.to_owned(),
            },
            Some(reason) => Error::NotARecord {
                line,
                reason: format!("{reason} at column {}", fault.column()),
            },
            None => Error::NotARecord { line, reason: text },
        }
    })
}

/// Start of the most frequent record, as the writer emits it. Skips the search for type and schema.
const EXCHANGE_START: &[u8] = br#"{"type":"exchange","schema":1,"#;
const LINE_LIMIT: usize = 16 * 1024 * 1024;
