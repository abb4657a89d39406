//! The files of a run: one open file per partition.

use crate::date::day;
use crate::storage::file::UnfinishedFile;
use crate::storage::place::TablesPlace;
use crate::storage::worker::Worker;
use crate::{TableName, TableRows};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::Receiver;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Partition {
    pub(crate) table: TableName,
    pub(crate) day: u64,
    pub(crate) protocol: Option<String>,
}

/// How a run treats earlier files of the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunKind {
    /// The name is unique, and the bucket is checked at the start.
    Once,
    /// As `Once`, but without a check of the bucket before the first upload.
    Resumed,
    /// Replaces all files of an earlier run with the same host, source and start: for input that
    /// can be read again.
    Again,
}

pub(crate) struct Batch {
    pub(crate) run: String,
    pub(crate) rows: Vec<(Partition, TableRows)>,
}

pub(crate) struct TableFiles {
    place: TablesPlace,
    uploads: Option<Worker<(String, File)>>,
    host: String,
    part: u32,
    files: BTreeMap<Partition, (UnfinishedFile, String)>,
    written: Written,
    run: String,
}

enum Written {
    Once,
    Again(BTreeSet<String>),
}

impl TableFiles {
    pub(crate) fn new(root: &Path, host: &str, kind: RunKind) -> io::Result<Self> {
        let place = TablesPlace::new(root)?;
        let uploads = match &place {
            TablesPlace::Folder(root) => {
                std::fs::create_dir_all(root)?;
                None
            }
            TablesPlace::Bucket(store) => {
                // Reports a missing or forbidden bucket now, not after an hour.
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

    /// Writes one row group per partition, so that row numbers ascend over row groups: a reader of
    /// the run holds no more rows than its writer.
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

    /// Later rows begin new files.
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

    /// Completes all files, and deletes those left from an earlier run of the name.
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

/// Escapes a name for a path as in Hive: `%` and two digits for characters special to paths or
/// partitions.
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

const BYTES_OF_FILE: u64 = 128 << 20;

/// Files waiting for upload: some windows of a run with several protocols.
const MAX_WAITING: usize = 64;

const OPEN_FILES: usize = 64;

pub(crate) const NANOS_A_DAY: u64 = 86_400_000_000_000;
