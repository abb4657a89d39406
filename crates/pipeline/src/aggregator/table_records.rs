//! The tables of a run: what a recording holds, and operations, statements and findings.

use super::{Aggregator, Window};
use analysis::fact::Fact;
use anyhow::{Context, Result};
use model::{Finding, Operation, StatementOutcome};
use report::{ReadOutcome, RecordEncoder, RecordLine, RecordWriter};
use serde::Serialize;
use std::io;
use std::path::{Path, PathBuf};
use storage::{Folder, RunKind};

/// What tables are written of.
#[derive(Debug, Clone, Copy)]
pub enum TablesInput<'a> {
    /// What goes on now, once.
    Live,
    /// The same after tables were given up: where they go is not asked for before the first file is whole, since that may take long.
    Resumed,
    /// Files. The tables of the same files, written before as observed by the same host, are replaced.
    Files(&'a [PathBuf]),
}

/// Writes a run to a folder of tables.
pub(super) struct TableRecords {
    records: RecordWriter<Rows>,
}

/// Records as rows of a folder of tables.
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

    /// Completes the files of a window, and begins others.
    fn rotate(&mut self, window: &Window) -> io::Result<()> {
        self.sums(&window.totals.statements, &window.findings)?;
        self.records.encoder().0.rotate()
    }

    pub(super) fn finish(mut self, outcome: &ReadOutcome) -> io::Result<()> {
        self.sums(&outcome.statements, &outcome.findings)?;
        for warning in &outcome.warnings {
            self.records.warning(warning)?;
        }
        self.records.summary(&outcome.summary)?;
        self.records.into_encoder().0.finish()
    }
}

impl Aggregator {
    /// Writes what is observed to a folder of tables too, as observed by `host`; without a name by the host of the run's conditions.
    ///
    /// # Errors
    /// When the folder cannot be made.
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
        self.outlets.tables = Some(TableRecords { records });
        Ok(())
    }

    /// Whether tables are written: not when they were given up after an error.
    pub const fn writes_tables(&self) -> bool {
        self.outlets.tables.is_some()
    }

    /// Completes the files of tables with the statements and findings of a window; what comes later begins new files. For a run that goes on for
    /// months. Nothing where no tables are written.
    pub fn rotate_tables(&mut self, window: &Window) {
        self.outlets.write_tables(|tables| tables.rotate(window));
    }
}

/// Without their folders: the same files may lie elsewhere when they are read again.
fn file_names(files: &[PathBuf]) -> String {
    let names = files
        .iter()
        .map(|file| file.file_name().unwrap_or(file.as_os_str()));
    let names: Vec<_> = names.map(|name| name.to_string_lossy()).collect();
    names.join("\0")
}
