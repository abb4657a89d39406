//! Records of a run to the files of its tables.

use crate::file::UnfinishedFile;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};
use tables::date::day;
use tables::{TableCell, TableName, TableRow};

/// Takes the lines of records (`docs/output.md`) and writes their rows to a folder. It holds at most [`ROWS_HELD`] rows.
pub struct Folder {
    root: PathBuf,
    host: String,
    run: String,
    /// The beginning of a line whose end was not written yet.
    line: Vec<u8>,
    rows: BTreeMap<Partition, Vec<TableRow>>,
    held: usize,
    files: BTreeMap<Partition, UnfinishedFile>,
    sequence: u64,
    part: u32,
    /// The day of the last row with a time: rows without one are put there.
    day: String,
}

/// Where a row belongs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Partition {
    table: TableName,
    day: String,
    protocol: Option<String>,
}

impl Folder {
    /// Tables in `root`, of what `host` observed. Each run has a name of its own, by the time and its process: runs at the same time do not meet.
    ///
    /// # Errors
    /// When the folder cannot be made.
    pub fn create(root: PathBuf, host: &str) -> io::Result<Self> {
        std::fs::create_dir_all(&root)?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let nanos = u64::try_from(now.as_nanos()).unwrap_or(u64::MAX);
        Ok(Self {
            root,
            host: escaped(host),
            run: format!("{nanos:016x}-{}", std::process::id()),
            line: Vec::new(),
            rows: BTreeMap::new(),
            held: 0,
            files: BTreeMap::new(),
            sequence: 0,
            part: 0,
            day: day(nanos),
        })
    }

    /// Completes all files: what was written so far is there for readers. What comes later begins new ones.
    ///
    /// # Errors
    /// When the folder cannot be written.
    pub fn rotate(&mut self) -> io::Result<()> {
        self.write_rows()?;
        self.part += 1;
        std::mem::take(&mut self.files)
            .into_values()
            .try_for_each(UnfinishedFile::finish)
    }

    fn take(&mut self, line: &[u8]) -> io::Result<()> {
        let row = TableRow::of_line(line, &self.run, self.sequence)?;
        self.sequence += 1;
        if let TableCell::Integer(at) = row.get("at_ns") {
            self.day = day(at.cast_unsigned());
        }
        let protocol = match (row.table.is_by_protocol(), row.get("protocol_name")) {
            (true, TableCell::Text(protocol)) => Some(escaped(protocol)),
            _ => None,
        };
        let partition = Partition {
            table: row.table,
            day: self.day.clone(),
            protocol,
        };
        self.rows.entry(partition).or_default().push(row);
        self.held += 1;
        if self.held >= ROWS_HELD {
            self.write_rows()?;
        }
        Ok(())
    }

    /// Writes the rows held of all partitions at once, so that their numbers follow those of the row groups before: a reader of the whole run
    /// holds no more than the writer did.
    fn write_rows(&mut self) -> io::Result<()> {
        self.held = 0;
        let mut has_large = false;
        for (partition, rows) in std::mem::take(&mut self.rows) {
            let path = self.path(&partition);
            let file = match self.files.entry(partition) {
                std::collections::btree_map::Entry::Occupied(file) => file.into_mut(),
                std::collections::btree_map::Entry::Vacant(place) => {
                    let table = place.key().table;
                    place.insert(UnfinishedFile::create(table, path)?)
                }
            };
            has_large |= file.write(rows)? >= BYTES_OF_FILE;
        }
        if has_large || self.files.len() >= OPEN_FILES {
            self.rotate()?;
        }
        Ok(())
    }

    fn path(&self, partition: &Partition) -> PathBuf {
        let mut path = self.root.join(partition.table.name());
        path.push(format!("date={}", partition.day));
        path.push(format!("host={}", self.host));
        if let Some(protocol) = &partition.protocol {
            path.push(format!("protocol={protocol}"));
        }
        path.push(format!("{}-{:04}.parquet", self.run, self.part));
        path
    }
}

impl Write for Folder {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut rest = bytes;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let (line, after) = rest.split_at(end);
            rest = after.get(1..).unwrap_or_default();
            if self.line.is_empty() {
                self.take(line)?;
            } else {
                let mut whole = std::mem::take(&mut self.line);
                whole.extend_from_slice(line);
                self.take(&whole)?;
            }
        }
        self.line.extend_from_slice(rest);
        Ok(bytes.len())
    }

    /// Rows wait for [`Folder::rotate`]: a row group of few rows is neither small nor quick to read.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
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
const ROWS_HELD: usize = 1 << 15;

/// A file of this size is completed, and another begun.
const BYTES_OF_FILE: u64 = 128 << 20;

/// Files open at once at most.
const OPEN_FILES: usize = 64;
