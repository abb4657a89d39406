//! Writes the tables of a run: the records of a recording, and operations, statements and findings.

use super::recording::write_fact;
use super::{InspectedOperation, RunSink, Window};
use analysis::fact::Fact;
use anyhow::{Context, Result};
use model::{Conditions, Finding, StatementOutcome};
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

pub(crate) struct TableRecords {
    records: RecordWriter<Rows>,
    completed: Instant,
}

struct Rows(Folder);

impl RecordEncoder for Rows {
    fn encode<B: Serialize>(&mut self, line: &RecordLine<'_, B>) -> io::Result<()> {
        self.0.record(line.name(), line.body(), line)
    }
}

impl RunSink for TableRecords {
    fn observed(&mut self, fact: &Fact) -> io::Result<()> {
        write_fact(&mut self.records, fact)
    }

    fn operation(&mut self, inspected: &mut InspectedOperation) -> io::Result<()> {
        self.records.operation(&inspected.operation)
    }

    /// Completes files that are old enough, so that they are safe.
    fn checkpoint(&mut self) -> io::Result<()> {
        self.complete_after(TABLES_LAST)
    }

    /// Completes the files with the statements and findings of the window, and starts new ones.
    fn end_window(&mut self, window: &mut Window) -> io::Result<()> {
        self.sums(&window.totals.statements, &window.findings)?;
        self.complete_after(Duration::ZERO)
    }

    fn finish(mut self: Box<Self>, outcome: &ReadOutcome) -> io::Result<()> {
        self.sums(&outcome.statements, &outcome.findings)?;
        for found in &outcome.recognised {
            self.records.recognised(found)?;
        }
        self.records.warnings(&outcome.warnings)?;
        self.records.summary(&outcome.summary)?;
        self.records.into_encoder().0.finish()
    }

    fn output(&self) -> Option<&'static str> {
        Some("the tables are")
    }
}

impl TableRecords {
    pub fn create(
        folder: &Path,
        host: Option<&str>,
        input: TablesInput<'_>,
        conditions: &Conditions,
    ) -> Result<Self> {
        let not_made = || format!("could not write tables to {}", folder.display());
        let host = host.or(conditions.host.as_deref()).unwrap_or("unknown");
        let source = match input {
            TablesInput::Live | TablesInput::Resumed => conditions.observation_point.clone(),
            TablesInput::Files(files) => file_names(files),
        };
        let run = match input {
            TablesInput::Live => RunKind::Once,
            TablesInput::Resumed => RunKind::Resumed,
            TablesInput::Files(_) => RunKind::Again,
        };
        let folder = Folder::create(folder, host, &source, run).with_context(not_made)?;
        let mut records = RecordWriter::encoding(Rows(folder));
        records.conditions(conditions).with_context(not_made)?;
        Ok(Self {
            records,
            completed: Instant::now(),
        })
    }

    fn sums(&mut self, statements: &[StatementOutcome], findings: &[Finding]) -> io::Result<()> {
        statements
            .iter()
            .try_for_each(|statement| self.records.statement(statement))?;
        findings
            .iter()
            .try_for_each(|finding| self.records.finding(finding))
    }

    fn complete_after(&mut self, age: Duration) -> io::Result<()> {
        if self.completed.elapsed() < age {
            return Ok(());
        }
        self.completed = Instant::now();
        self.records.encoder().0.rotate()
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
    use crate::aggregator::{Aggregator, AggregatorConfig};
    use model::{ConnectionId, Endpoint, Timestamp};

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
        aggregator.checkpoint();
        assert_eq!(files(folder.path()), [] as [PathBuf; 0], "it is not time");
        let tables = aggregator.sinks().find_mut::<TableRecords>().expect("tables");
        tables.complete_after(Duration::ZERO).expect("they are complete");
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
