//! The files of a run: each partition has one at a time.

use crate::file::UnfinishedFile;
use crate::place::TablesPlace;
use crate::worker::Worker;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use tables::date::day;
use tables::{TableName, TableRows};

/// Where rows belong.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Partition {
    pub(crate) table: TableName,
    /// Days since the epoch.
    pub(crate) day: u64,
    pub(crate) protocol: Option<String>,
}

/// What kind of run tables are written of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunKind {
    /// There is none of its name but this one, and it waits for nothing.
    Once,
    /// The same; whether the bucket is there is not asked before the first file goes there.
    Resumed,
    /// The files of a run of the same host and source that began at the same time give way, all of them: for
    /// what can be read again.
    Again,
}

/// Rows of all partitions that waited at the same time, and the run that they are of.
pub(crate) struct Batch {
    pub(crate) run: String,
    pub(crate) rows: Vec<(Partition, TableRows)>,
}

/// Writes batches to files.
pub(crate) struct TableFiles {
    place: TablesPlace,
    /// Puts files with their names into a bucket, one after the other.
    uploads: Option<Worker<(String, File)>>,
    host: String,
    part: u32,
    /// Under way, with their names.
    files: BTreeMap<Partition, (UnfinishedFile, String)>,
    written: Written,
    run: String,
}

/// The outcome of runs of this name.
enum Written {
    /// There is none but this one.
    Once,
    /// The same input may have been written before: these are the files of now.
    Again(BTreeSet<String>),
}

impl TableFiles {
    /// Files in `root`, of `host`.
    pub(crate) fn new(root: &Path, host: &str, kind: RunKind) -> io::Result<Self> {
        let place = TablesPlace::new(root)?;
        let uploads = match &place {
            TablesPlace::Folder(root) => {
                std::fs::create_dir_all(root)?;
                None
            }
            TablesPlace::Bucket(store) => {
                // A bucket that is not there, or not ours, is found out now and not after an hour.
                if kind != RunKind::Resumed {
                    store.check()?;
                }
                let store = Arc::clone(store);
                Some(Worker::start(
                    "uploads",
                    MAX_WAITING,
                    move |files: &Receiver<(String, File)>| {
                        files.iter().try_for_each(|(name, file)| store.put(&name, &file))
                    },
                )?)
            }
        };
        Ok(Self {
            place,
            uploads,
            host: escaped(host),
            part: 0,
            files: BTreeMap::new(),
            written: match kind {
                RunKind::Again => Written::Again(BTreeSet::new()),
                RunKind::Once | RunKind::Resumed => Written::Once,
            },
            run: String::new(),
        })
    }

    /// Writes a batch as one row group for each partition, so that the numbers of rows follow those of the
    /// row groups before: a reader of the whole run holds no more than its writer did.
    pub(crate) fn write(&mut self, batch: Batch) -> io::Result<()> {
        self.run = batch.run;
        let mut has_large = false;
        for (partition, rows) in batch.rows {
            if !self.files.contains_key(&partition) {
                let begun = self.begin(&partition)?;
                self.files.insert(partition.clone(), begun);
            }
            if let Some((file, _)) = self.files.get_mut(&partition) {
                has_large |= file.write(&rows)? >= BYTES_OF_FILE;
            }
        }
        if has_large || self.files.len() >= OPEN_FILES {
            self.complete()?;
        }
        Ok(())
    }

    /// Completes all files; what comes later begins new ones.
    pub(crate) fn complete(&mut self) -> io::Result<()> {
        if let Some(uploads) = &mut self.uploads {
            uploads.check()?;
        }
        self.part += 1;
        for (file, name) in std::mem::take(&mut self.files).into_values() {
            let file = file.finish()?;
            if let Some(uploads) = &mut self.uploads {
                match self.written {
                    Written::Once => uploads.try_bring((name.clone(), file))?,
                    Written::Again(_) => uploads.bring((name.clone(), file))?,
                }
            }
            if let Written::Again(written) = &mut self.written {
                written.insert(name);
            }
        }
        Ok(())
    }

    /// Completes all files, and takes away those of the same run that are left from before.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.complete()?;
        self.uploads.take().map_or(Ok(()), Worker::finish)?;
        let Written::Again(written) = &self.written else {
            return Ok(());
        };
        let prefix = format!("{}-", self.run);
        let folders: BTreeSet<&str> = written
            .iter()
            .filter_map(|name| Some(name.rsplit_once('/')?.0))
            .collect();
        for folder in folders {
            for name in self.place.names(folder)? {
                let is_ours = name
                    .rsplit('/')
                    .next()
                    .is_some_and(|file| file.starts_with(&prefix));
                if is_ours && !written.contains(&name) {
                    self.place.remove(&name)?;
                }
            }
        }
        Ok(())
    }

    fn begin(&self, partition: &Partition) -> io::Result<(UnfinishedFile, String)> {
        let (table, day) = (partition.table, day(partition.day * NANOS_A_DAY));
        let mut name = format!("{}/date={day}/host={}/", table.name(), self.host);
        if let Some(protocol) = &partition.protocol {
            name.push_str(&format!("protocol={}/", escaped(protocol)));
        }
        name.push_str(&format!("{}-{:04}.parquet", self.run, self.part));
        let file = match &self.place {
            TablesPlace::Folder(root) => UnfinishedFile::in_folder(table, &self.run, root.join(&name))?,
            TablesPlace::Bucket(_) => UnfinishedFile::unnamed(table, &self.run)?,
        };
        Ok((file, name))
    }
}

/// A name as part of a path: what is special to paths or to readers of partitions as `%` and two digits, as
/// Hive has it.
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

/// A file of this size is completed, and another begun.
const BYTES_OF_FILE: u64 = 128 << 20;

/// Files that wait for the bucket at most: some windows of a run with several protocols.
const MAX_WAITING: usize = 64;

/// Files open at once at most.
const OPEN_FILES: usize = 64;

pub(crate) const NANOS_A_DAY: u64 = 86_400_000_000_000;
