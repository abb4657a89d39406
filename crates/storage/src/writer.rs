//! Records of a run to the rows of its tables.

use crate::background::BackgroundWriter;
use crate::files::{Batch, NANOS_A_DAY, Partition, RunKind, TableFiles};
use crate::run_name::run_name;
use serde::Serialize;
use std::io;
use std::path::Path;
use tables::{RecordRow, TableRows};

/// Takes records (`docs/output.md`) and writes their rows to a folder or a bucket. It holds at most
/// [`ROWS_HELD`] rows, or some more than [`BYTES_HELD`] bytes of their texts, and twice as many that are
/// being written.
pub struct Folder {
    writer: BackgroundWriter,
    host: String,
    source: String,
    /// Known from the first row with a time on.
    run: Option<String>,
    row: RecordRow,
    partitions: Vec<(Partition, TableRows)>,
    held: usize,
    sequence: u64,
    /// The time of the last row with one: rows without are put on its day.
    at_ns: u64,
}

impl Folder {
    /// Tables in `root`, a folder or `s3://BUCKET/PREFIX`, of what `host` observed at `source`. `kind` says
    /// what becomes of an earlier run of this name.
    ///
    /// # Errors
    /// When the folder cannot be made, or the bucket cannot be listed.
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

    /// Takes a record of the type `kind`: what it has besides type and schema, and all of it.
    ///
    /// # Errors
    /// When a file cannot be written, this one or one before.
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
                // What came before has no time: it is of the day on which the run begins.
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

    /// Where the rows of the row's partition are.
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

    /// Completes all files: what was written so far will be there for readers. What comes later begins new
    /// ones. Before the first record with a time there is nothing to complete.
    ///
    /// # Errors
    /// When a file before could not be written.
    pub fn rotate(&mut self) -> io::Result<()> {
        match self.write_rows()? {
            true => self.writer.complete(),
            false => Ok(()),
        }
    }

    /// Completes all files, and takes away those of the same run that are left from before. A run in which
    /// nothing has a time has no tables.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn finish(mut self) -> io::Result<()> {
        self.write_rows()?;
        self.writer.finish()
    }

    /// Has the rows that are held written, if it is known which run they are of.
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

/// Rows held at most before they become row groups: about 40 MB.
const ROWS_HELD: usize = 1 << 17;

/// Bytes of their texts held at most.
const BYTES_HELD: usize = 32 << 20;
