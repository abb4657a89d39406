//! The tables of a run: what a recording holds, and operations, statements and findings.

use super::{Aggregator, Window};
use analysis::fact::Fact;
use anyhow::{Context, Result};
use model::{Finding, Operation, StatementOutcome};
use report::{JsonWriter, ReadOutcome};
use std::io;
use std::path::Path;
use storage::Folder;

/// Writes a run to a folder of tables.
pub(super) struct TableRecords {
    records: JsonWriter<Folder>,
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
    fn rotate(self, window: &Window) -> io::Result<Self> {
        let mut tables = self;
        tables.sums(&window.totals.statements, &window.findings)?;
        let mut folder = tables.records.into_inner()?;
        folder.rotate()?;
        Ok(Self {
            records: JsonWriter::new(folder),
        })
    }

    pub(super) fn finish(mut self, outcome: &ReadOutcome) -> io::Result<()> {
        self.sums(&outcome.statements, &outcome.findings)?;
        for warning in &outcome.warnings {
            self.records.warning(warning)?;
        }
        self.records.summary(&outcome.summary)?;
        self.records.into_inner()?.rotate()
    }
}

impl Aggregator {
    /// Writes what is observed to a folder of tables too, as observed by `host`; without a name by the host of the run's conditions.
    ///
    /// # Errors
    /// When the folder cannot be made.
    pub fn tables(&mut self, folder: &Path, host: Option<&str>) -> Result<()> {
        let not_made = || format!("could not make {}", folder.display());
        let host = host.or(self.conditions.host.as_deref()).unwrap_or("unknown");
        let folder = Folder::create(folder.to_owned(), host).with_context(not_made)?;
        let mut records = JsonWriter::new(folder);
        records.conditions(&self.conditions).with_context(not_made)?;
        self.outlets.tables = Some(TableRecords { records });
        Ok(())
    }

    /// Completes the files of tables with the statements and findings of a window; what comes later begins new files. For a run that goes on for
    /// months. Nothing where no tables are written.
    pub fn rotate_tables(&mut self, window: &Window) {
        if let Some(tables) = self.outlets.tables.take() {
            match tables.rotate(window) {
                Ok(tables) => self.outlets.tables = Some(tables),
                Err(fault) => self.outlets.tables_written(Err(fault)),
            }
        }
    }
}
