//! Turns the records of a run into rows of its tables.

use crate::storage::background::BackgroundWriter;
use crate::storage::files::{Batch, NANOS_A_DAY, Partition, RunKind, TableFiles};
use crate::storage::run_name::run_name;
use crate::{RecordRow, TableRows};
use serde::Serialize;
use std::io;
use std::path::Path;

/// Writes records (`docs/output.md`) as rows to a folder or bucket. Holds at most [`ROWS_HELD`]
/// rows, or slightly more than [`BYTES_HELD`] bytes of text, and twice as many in writing.
pub struct Folder {
    writer: BackgroundWriter,
    host: String,
    source: String,
    run: Option<String>,
    row: RecordRow,
    partitions: Vec<(Partition, TableRows)>,
    held: usize,
    sequence: u64,
    /// Time of the last row that has one; rows without go to its day.
    at_ns: u64,
}

impl Folder {
    /// Creates tables in `root`, a folder or `s3://BUCKET/PREFIX`, for observations of `host` at
    /// `source`. `kind` decides about an earlier run of this name.
    ///
    /// # Errors
    /// If the folder cannot be created, or the bucket cannot be listed.
    pub fn create(root: &Path, host: &str, source: &str, kind: RunKind) -> io::Result<Self> {
        let files = TableFiles::new(root, host, kind)?;
        Ok(Self {
            writer: BackgroundWriter::start(files)?,
            host: host.to_owned(),
            source: source.to_owned(),
            run: None,
            row: RecordRow::default(),
            partitions: Vec::new(),
            held: 0,
            sequence: 0,
            at_ns: 0,
        })
    }

    /// Adds a record of type `kind`: its keys besides type and schema, and the whole line.
    ///
    /// # Errors
    /// If a file cannot be written, also earlier.
    pub fn record(
        &mut self,
        kind: &'static str,
        keys: &impl Serialize,
        line: &impl Serialize,
    ) -> io::Result<()> {
        self.row.fill(kind, keys, line, self.sequence)?;
        self.sequence += 1;
        if let Some(at) = self.row.number("at_ns") {
            self.at_ns = at.cast_unsigned();
            if self.run.is_none() {
                self.run = Some(run_name(self.at_ns, &[&self.host, &self.source]));
                // Earlier rows have no time: they belong to the day on which the run begins.
                for (partition, _) in &mut self.partitions {
                    partition.day = self.at_ns / NANOS_A_DAY;
                }
            }
        }
        let place = self.slot_index();
        let Some((_, rows)) = self.partitions.get_mut(place) else {
            return Ok(());
        };
        rows.push(&self.row);
        self.held += 1;
        let text_bytes: usize = self.partitions.iter().map(|(_, rows)| rows.text_bytes()).sum();
        if self.held >= ROWS_HELD || text_bytes >= BYTES_HELD {
            self.write_rows()?;
        }
        Ok(())
    }

    fn slot_index(&mut self) -> usize {
        let table = self.row.table();
        let day = self.at_ns / NANOS_A_DAY;
        let protocol = match table.is_by_protocol() {
            true => self.row.text("protocol_name"),
            false => None,
        };
        let known = self.partitions.iter().position(|(partition, _)| {
            partition.table == table && partition.day == day && partition.protocol.as_deref() == protocol
        });
        known.unwrap_or_else(|| {
            let partition = Partition {
                table,
                day,
                protocol: protocol.map(str::to_owned),
            };
            self.partitions.push((partition, TableRows::new(table)));
            self.partitions.len() - 1
        })
    }

    /// Completes all files, so that readers see the rows; later rows begin new ones. Has no effect
    /// before the first record with a time.
    ///
    /// # Errors
    /// If an earlier file could not be written.
    pub fn rotate(&mut self) -> io::Result<()> {
        match self.write_rows()? {
            true => self.writer.complete(),
            false => Ok(()),
        }
    }

    /// Completes all files, and deletes those left from an earlier run of the name. A run without
    /// any time has no tables.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn finish(mut self) -> io::Result<()> {
        self.write_rows()?;
        self.writer.finish()
    }

    /// Returns false before the first record with a time.
    fn write_rows(&mut self) -> io::Result<bool> {
        let Some(run) = self.run.clone() else {
            return Ok(false);
        };
        self.held = 0;
        let rows = std::mem::take(&mut self.partitions);
        self.writer.write(Batch { run, rows })?;
        Ok(true)
    }
}

/// They take about 40 MB.
const ROWS_HELD: usize = 1 << 17;

const BYTES_HELD: usize = 32 << 20;
