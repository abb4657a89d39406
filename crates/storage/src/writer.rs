//! Records of a run to the files of its tables.

use crate::file::UnfinishedFile;
use crate::run_name::run_name;
use serde::Serialize;
use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;
use tables::date::day;
use tables::{RecordRow, TableName, TableRows};

/// Takes records (`docs/output.md`) and writes their rows to a folder. It holds at most [`ROWS_HELD`] rows, or some more than [`BYTES_HELD`] bytes of
/// their texts.
pub struct Folder {
    root: PathBuf,
    host: String,
    source: String,
    /// Known from the first row with a time on.
    run: Option<String>,
    row: RecordRow,
    partitions: Vec<Partition>,
    held: usize,
    sequence: u64,
    part: u32,
    /// The time of the last row with one: rows without are put on its day.
    at_ns: u64,
    written: Written,
}

/// Where rows belong, those that wait, and the file that they go to.
struct Partition {
    table: TableName,
    day: u64,
    protocol: Option<String>,
    rows: TableRows,
    file: Option<UnfinishedFile>,
}

/// What became of runs of this name.
enum Written {
    /// There is none but this one.
    Once,
    /// The same input may have been written before: these are the files of now.
    Again(BTreeSet<PathBuf>),
}

impl Folder {
    /// Tables in `root`, of what `host` observed at `source`, for as long as it goes on.
    ///
    /// # Errors
    /// When the folder cannot be made.
    pub fn create(root: PathBuf, host: &str, source: &str) -> io::Result<Self> {
        std::fs::create_dir_all(&root)?;
        Ok(Self {
            root,
            host: escaped(host),
            source: source.to_owned(),
            run: None,
            row: RecordRow::default(),
            partitions: Vec::new(),
            held: 0,
            sequence: 0,
            part: 0,
            at_ns: 0,
            written: Written::Once,
        })
    }

    /// The files of a run of the same host and source that began at the same time are replaced, all of them: for what can be read again.
    #[must_use]
    pub fn replacing(mut self) -> Self {
        self.written = Written::Again(BTreeSet::new());
        self
    }

    /// Takes a record of the type `kind`.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn record(&mut self, kind: &str, record: &impl Serialize) -> io::Result<()> {
        self.row.fill(kind, record, self.sequence)?;
        self.sequence += 1;
        if let Some(at) = self.row.number("at_ns") {
            self.at_ns = at.cast_unsigned();
            if self.run.is_none() {
                self.run = Some(run_name(self.at_ns, &[&self.host, &self.source]));
                // What came before has no time: it is of the day on which the run begins.
                for partition in &mut self.partitions {
                    partition.day = self.at_ns / NANOS_A_DAY;
                }
            }
        }
        let place = self.place();
        let Some(partition) = self.partitions.get_mut(place) else {
            return Ok(());
        };
        partition.rows.push(&self.row);
        self.held += 1;
        if self.held >= ROWS_HELD || partition.rows.text_bytes() >= BYTES_HELD {
            self.write_rows()?;
        }
        Ok(())
    }

    /// Where the partition of the row is.
    fn place(&mut self) -> usize {
        let table = self.row.table();
        let day = self.at_ns / NANOS_A_DAY;
        let protocol = match table.is_by_protocol() {
            true => self.row.text("protocol_name"),
            false => None,
        };
        let known = self.partitions.iter().position(|partition| {
            partition.table == table && partition.day == day && partition.protocol.as_deref() == protocol
        });
        known.unwrap_or_else(|| {
            self.partitions.push(Partition {
                table,
                day,
                protocol: protocol.map(str::to_owned),
                rows: TableRows::new(table),
                file: None,
            });
            self.partitions.len() - 1
        })
    }

    /// Completes all files: what was written so far is there for readers. What comes later begins new ones.
    ///
    /// # Errors
    /// When the folder cannot be written.
    pub fn rotate(&mut self) -> io::Result<()> {
        self.write_rows()?;
        self.complete()
    }

    /// Completes all files, and takes away those of the same run that are left from before.
    ///
    /// # Errors
    /// When the folder cannot be written.
    pub fn finish(mut self) -> io::Result<()> {
        self.rotate()?;
        let Written::Again(written) = &self.written else {
            return Ok(());
        };
        let folders: BTreeSet<PathBuf> = written
            .iter()
            .filter_map(|path| path.parent())
            .map(PathBuf::from)
            .collect();
        let prefix = format!("{}-", self.run.unwrap_or_default());
        for folder in folders {
            for entry in std::fs::read_dir(folder)? {
                let path = entry?.path();
                let name = path
                    .file_name()
                    .unwrap_or_default()
                    .to_string_lossy()
                    .into_owned();
                if name.starts_with(&prefix) && !written.contains(&path) {
                    std::fs::remove_file(path)?;
                }
            }
        }
        Ok(())
    }

    fn complete(&mut self) -> io::Result<()> {
        self.part += 1;
        for partition in std::mem::take(&mut self.partitions) {
            let Some(file) = partition.file else { continue };
            let path = file.finish()?;
            if let Written::Again(written) = &mut self.written {
                written.insert(path);
            }
        }
        Ok(())
    }

    /// Writes the rows held of all partitions at once, so that their numbers follow those of the row groups before: a reader of the whole run
    /// holds no more than the writer did.
    fn write_rows(&mut self) -> io::Result<()> {
        self.held = 0;
        let mut has_large = false;
        for place in 0..self.partitions.len() {
            let Some(partition) = self.partitions.get(place) else {
                break;
            };
            if partition.rows.count() == 0 {
                continue;
            }
            let opened = match partition.file {
                Some(_) => None,
                None => Some(self.begin(partition)?),
            };
            if let Some(partition) = self.partitions.get_mut(place) {
                let rows = std::mem::replace(&mut partition.rows, TableRows::new(partition.table));
                let file = partition.file.take().or(opened);
                partition.file = file;
                if let Some(file) = &mut partition.file {
                    has_large |= file.write(&rows)? >= BYTES_OF_FILE;
                }
            }
        }
        if has_large || self.partitions.len() >= OPEN_FILES {
            self.complete()?;
        }
        Ok(())
    }

    fn begin(&self, partition: &Partition) -> io::Result<UnfinishedFile> {
        // A run in which nothing happened has no time.
        let run = match &self.run {
            Some(run) => run.clone(),
            None => run_name(0, &[&self.host, &self.source]),
        };
        let mut path = self.root.join(partition.table.name());
        path.push(format!("date={}", day(partition.day * NANOS_A_DAY)));
        path.push(format!("host={}", self.host));
        if let Some(protocol) = &partition.protocol {
            path.push(format!("protocol={}", escaped(protocol)));
        }
        path.push(format!("{run}-{:04}.parquet", self.part));
        UnfinishedFile::create(partition.table, &run, path)
    }
}

/// A name as part of a path: what is special to paths or to readers of partitions as `%` and two digits, as Hive has it.
fn escaped(name: &str) -> String {
    let mut escaped = String::with_capacity(name.len());
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => escaped.push(char::from(byte)),
            b'.' if !escaped.is_empty() => escaped.push('.'),
            byte => escaped.push_str(&format!("%{byte:02X}")),
        }
    }
    escaped
}

/// Rows held at most before they become row groups: about 40 MB.
const ROWS_HELD: usize = 1 << 17;

/// Bytes of their texts held at most for one partition.
const BYTES_HELD: usize = 32 << 20;

/// A file of this size is completed, and another begun.
const BYTES_OF_FILE: u64 = 128 << 20;

/// Files open at once at most.
const OPEN_FILES: usize = 64;

const NANOS_A_DAY: u64 = 86_400_000_000_000;
