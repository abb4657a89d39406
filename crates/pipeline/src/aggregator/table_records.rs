//! Writes the tables of a run: the records of a recording, and operations, statements and findings.

use super::{Aggregator, Window};
use analysis::fact::Fact;
use anyhow::{Context, Result};
use model::{Finding, Operation, StatementOutcome};
use report::{ReadOutcome, RecordEncoder, RecordLine, RecordWriter};
use serde::Serialize;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tables::storage::{Folder, RunKind};

#[derive(Debug, Clone, Copy)]
pub enum TablesInput<'a> {
    Live,
    /// A live run after tables were given up. A bucket is verified only by the first upload,
    /// because a check may take long.
    Resumed,
    /// The tables of files. Replaces earlier tables of the same files and host.
    Files(&'a [PathBuf]),
}

pub(super) struct TableRecords {
    records: RecordWriter<Rows>,
}

struct Rows(Folder);

impl RecordEncoder for Rows {
    fn encode<B: Serialize>(&mut self, line: &RecordLine<'_, B>) -> io::Result<()> {
        self.0.record(line.name(), line.body(), line)
    }
}

impl TableRecords {
    pub(super) fn fact(&mut self, fact: &Fact) -> io::Result<()> {
        match fact {
            Fact::Opened {
                connection,
                at,
                client,
                server,
            } => self.records.opened(*connection, *at, *client, *server),
            Fact::Started {
                connection,
                at,
                fingerprint,
                request,
            } => self
                .records
                .started(*connection, *at, fingerprint.as_ref(), *request),
            Fact::Begun { connection, at } => self.records.begun(*connection, *at),
            Fact::Exchange { exchange, protocol } => self.records.exchange(exchange, *protocol, None),
            Fact::Closed(outcome) => self.records.connection(outcome),
        }
    }

    pub(super) fn operation(&mut self, operation: &Operation) -> io::Result<()> {
        self.records.operation(operation)
    }

    fn sums(&mut self, statements: &[StatementOutcome], findings: &[Finding]) -> io::Result<()> {
        statements
            .iter()
            .try_for_each(|statement| self.records.statement(statement))?;
        findings
            .iter()
            .try_for_each(|finding| self.records.finding(finding))
    }

    fn rotate(&mut self, window: &Window) -> io::Result<()> {
        self.sums(&window.totals.statements, &window.findings)?;
        self.complete()
    }

    fn complete(&mut self) -> io::Result<()> {
        self.records.encoder().0.rotate()
    }

    pub(super) fn finish(mut self, outcome: &ReadOutcome) -> io::Result<()> {
        self.sums(&outcome.statements, &outcome.findings)?;
        for found in &outcome.recognised {
            self.records.recognised(found)?;
        }
        for warning in &outcome.warnings {
            self.records.warning(warning)?;
        }
        self.records.summary(&outcome.summary)?;
        self.records.into_encoder().0.finish()
    }
}

impl Aggregator {
    /// Also writes tables, with `host` as their observer. The default is the host of the run's
    /// conditions.
    pub fn tables(&mut self, folder: &Path, host: Option<&str>, input: TablesInput<'_>) -> Result<()> {
        let not_made = || format!("could not write tables to {}", folder.display());
        let host = host.or(self.conditions.host.as_deref()).unwrap_or("unknown");
        let source = match input {
            TablesInput::Live | TablesInput::Resumed => self.conditions.observation_point.clone(),
            TablesInput::Files(files) => file_names(files),
        };
        let run = match input {
            TablesInput::Live => RunKind::Once,
            TablesInput::Resumed => RunKind::Resumed,
            TablesInput::Files(_) => RunKind::Again,
        };
        let folder = Folder::create(folder, host, &source, run).with_context(not_made)?;
        let mut records = RecordWriter::encoding(Rows(folder));
        records.conditions(&self.conditions).with_context(not_made)?;
        self.sinks.tables = Some(TableRecords { records });
        Ok(())
    }

    /// `false` if tables were given up after an error.
    pub const fn writes_tables(&self) -> bool {
        self.sinks.tables.is_some()
    }

    /// Completes the files of tables with the statements and findings of a window, and starts new
    /// ones. Used in a run of months, and only if it writes tables.
    pub fn rotate_tables(&mut self, window: &Window) {
        self.tables_completed = Instant::now();
        self.sinks.write_tables(|tables| tables.rotate(window));
    }

    /// Completes the files of tables if the last were completed longer than `after` ago, so that
    /// they are safe. Returns whether that time had passed, even if tables were given up.
    pub fn complete_tables(&mut self, after: Duration) -> bool {
        if self.tables_completed.elapsed() < after {
            return false;
        }
        self.tables_completed = Instant::now();
        self.sinks.write_tables(TableRecords::complete);
        true
    }
}

/// Age at which a continuing run completes its files. A killed run or a full disk loses at most a
/// minute.
pub const TABLES_LAST: Duration = Duration::from_secs(50);

/// Without folders, as the same files may be read again elsewhere.
fn file_names(files: &[PathBuf]) -> String {
    let names = files
        .iter()
        .map(|file| file.file_name().unwrap_or(file.as_os_str()));
    let names: Vec<_> = names.map(|name| name.to_string_lossy()).collect();
    names.join("\0")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aggregator::AggregatorConfig;
    use model::{Conditions, ConnectionId, Endpoint, Timestamp};

    fn files(folder: &Path) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        for path in entries.map(|entry| entry.path()) {
            match path.is_dir() {
                true => found.extend(files(&path)),
                false => found.push(path),
            }
        }
        found
    }

    #[test]
    fn what_a_killed_run_observed_until_a_minute_before_its_end_is_in_its_tables() {
        let folder = tempfile::tempdir().expect("a directory");
        let mut aggregator =
            Aggregator::new(&AggregatorConfig::default(), Conditions::default()).expect("an aggregator");
        aggregator
            .tables(folder.path(), Some("here"), TablesInput::Live)
            .expect("a folder");
        let endpoint = |port| Endpoint {
            address: std::net::Ipv4Addr::LOCALHOST.into(),
            port,
        };
        let open = |aggregator: &mut Aggregator, number: u32| {
            aggregator.fact(Fact::Opened {
                connection: ConnectionId(number),
                at: Timestamp::from_nanos(1_700_000_000_000_000_000 + u64::from(number)),
                client: endpoint(40_000),
                server: endpoint(5432),
            });
        };
        open(&mut aggregator, 0);
        assert!(
            !aggregator.complete_tables(Duration::from_secs(3600)),
            "it is not time"
        );
        assert!(aggregator.complete_tables(Duration::ZERO));
        open(&mut aggregator, 1);
        // Without the end of the run: its thread has completed everything it received.
        drop(aggregator);
        let left = files(folder.path());
        assert!(!left.is_empty(), "no file is complete");
        assert!(
            left.iter()
                .all(|path| path.to_string_lossy().ends_with("-0000.parquet")),
            "{left:?}"
        );
    }
}
