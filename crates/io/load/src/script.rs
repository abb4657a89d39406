//! Scripts of SQL clients, in pgbench's language.
//!
//! [`Scripts`] holds the parsed scripts of a run; each client has [`Values`]: variables and random
//! numbers. [`Values::next`] evaluates commands up to the next [`Action`]. A client chooses a
//! script and performs actions until [`Action::End`].
//!
//! The language is that of PostgreSQL's pgbench manual, versions 15 to 17. With the same seed,
//! random functions return the same values as these versions. See docs/load.md for differences.

#![deny(clippy::wildcard_enum_match_arm)]

pub mod builtin;
mod commands;
mod error;
mod expression;
mod functions;
mod names;
mod random;
mod reader;
mod scalar;
mod shell;
mod statement;
mod syntax;
mod tokens;
mod values;

pub use error::{Error, Fault};
pub use scalar::Scalar;
pub use statement::{Keep, Placeholder, Statement};
pub use values::{Value, Values};

use expression::Expression;
use names::Names;
use shell::Words;
use std::sync::Arc;
use std::time::Duration;

/// The scripts of a run, with their weights and shared variables.
#[derive(Clone)]
pub struct Scripts {
    list: Vec<Script>,
    names: Arc<Names>,
    statements: usize,
    definitions: Vec<(usize, Value)>,
    quoting: Quoting,
    debug: Option<Debug>,
    shell: Option<Shell>,
}

/// Runs a command line in a shell; returns the output if `wanted`, or the reason of a failure.
pub type Shell = fn(line: &str, wanted: bool) -> Result<String, String>;

/// Receives the lines of `debug()`.
pub type Debug = Arc<dyn Fn(&str) + Send + Sync>;

#[derive(Debug, Clone, PartialEq)]
pub struct Script {
    number: usize,
    name: Arc<str>,
    weight: u32,
    steps: Vec<Step>,
    /// Per step, from 1.
    lines: Vec<usize>,
}

/// Syntax of string constants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Quoting {
    /// Standard SQL and PostgreSQL, with `$$` quotes, and backslash escapes only in `E'...'`.
    #[default]
    Standard,
    /// MySQL and MariaDB, with backslash escapes and backquotes.
    Backslash,
}

/// How statements are sent, as with pgbench's `-M`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum QueryMode {
    /// As text with substituted values: PostgreSQL `Query`, MySQL `COM_QUERY`.
    #[default]
    Simple,
    /// Text and values separately, each time: PostgreSQL `Parse`, `Bind`, `Describe`, `Execute`,
    /// `Sync` in one request; MySQL `COM_STMT_PREPARE`, `COM_STMT_EXECUTE`, `COM_STMT_CLOSE`, which
    /// take two round trips.
    Extended,
    /// Prepared at a client's first use, then only executed.
    Prepared,
}

/// The next external action of a client.
#[derive(Debug, PartialEq)]
pub enum Action<'s> {
    /// Sends the statement and waits for results unless in a pipeline.
    Statement(&'s Statement),
    Sleep(Duration),
    /// Following statements are sent without waiting.
    StartPipeline,
    /// Sends `Sync` in a pipeline, without waiting.
    SyncPipeline,
    /// Sends `Sync` and waits for all results.
    EndPipeline,
    End,
}

#[derive(Debug, Clone, PartialEq)]
enum Step {
    Set {
        variable: usize,
        value: Expression,
    },
    /// `variable` receives the printed number.
    Shell {
        variable: Option<usize>,
        words: Words,
    },
    Sleep(Pause),
    /// Jumps to `otherwise` unless `condition` is true.
    Unless {
        condition: Expression,
        otherwise: usize,
    },
    Jump(usize),
    Statement(Statement),
    StartPipeline,
    SyncPipeline,
    EndPipeline,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Pause {
    count: Count,
    unit: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Count {
    Number(u32),
    Variable(usize),
}

impl Scripts {
    /// `quoting` is the syntax of the scripts' database.
    pub fn new(quoting: Quoting) -> Self {
        Self {
            list: Vec::new(),
            names: Arc::default(),
            statements: 0,
            definitions: Vec::new(),
            quoting,
            debug: None,
            shell: None,
        }
    }

    /// Parses one script from consecutive texts; the end of a text ends a statement.
    ///
    /// # Errors
    /// Fails as [`Scripts::add`] and [`Scripts::check`] do.
    pub fn parse<'t>(texts: impl IntoIterator<Item = &'t str>, quoting: Quoting) -> Result<Self, Error> {
        let mut scripts = Self::new(quoting);
        scripts.parse_script("script", texts, 1)?;
        scripts.check(QueryMode::Simple)?;
        Ok(scripts)
    }

    /// `name` appears in messages; `weight` is the relative frequency.
    ///
    /// # Errors
    /// Returns the fault and the line.
    pub fn add(&mut self, name: &str, text: &str, weight: u32) -> Result<(), Error> {
        self.parse_script(name, [text], weight)
    }

    fn parse_script<'t>(
        &mut self,
        name: &str,
        texts: impl IntoIterator<Item = &'t str>,
        weight: u32,
    ) -> Result<(), Error> {
        let name: Arc<str> = name.into();
        let mut reader = reader::Reader::new(
            name.clone(),
            self.quoting,
            Arc::make_mut(&mut self.names),
            self.statements,
        );
        for text in texts {
            reader.text(text)?;
        }
        let read = reader.finish()?;
        self.statements = read.statements;
        self.list.push(Script {
            number: self.list.len(),
            name,
            weight,
            steps: read.steps,
            lines: read.lines,
        });
        Ok(())
    }

    /// Sets an initial value, as `-D name=value` does. `client_id`, `random_seed` and
    /// `default_seed` are set automatically.
    ///
    /// # Errors
    /// Fails with [`Fault::Name`] if the name is invalid.
    pub fn define(&mut self, name: &str, value: &str) -> Result<(), Fault> {
        let variable = Arc::make_mut(&mut self.names).given(name)?;
        self.definitions.push((variable, Value::Text(value.into())));
        Ok(())
    }

    /// Without this, `\shell` and `\setshell` fail.
    pub fn on_shell(&mut self, shell: Shell) {
        self.shell = Some(shell);
    }

    /// Without this, lines of `debug()` are dropped.
    pub fn on_debug(&mut self, debug: Debug) {
        self.debug = Some(debug);
    }

    /// Checks that the scripts support `mode`, and that all variables may get a value.
    ///
    /// # Errors
    /// Returns the first fault.
    pub fn check(&self, mode: QueryMode) -> Result<(), Error> {
        for script in &self.list {
            for (step, line) in script.steps.iter().zip(&script.lines) {
                self.check_step(step, mode).map_err(|fault| Error {
                    script: script.name.clone(),
                    line: *line,
                    fault,
                })?;
            }
        }
        Ok(())
    }

    fn check_step(&self, step: &Step, mode: QueryMode) -> Result<(), Fault> {
        match step {
            Step::Set { value, .. } => value.check(&self.names),
            Step::Unless { condition, .. } => condition.check(&self.names),
            Step::Statement(statement) => statement.check(mode, &self.names),
            Step::StartPipeline | Step::SyncPipeline | Step::EndPipeline if mode == QueryMode::Simple => {
                Err(Fault::PipelineOfTexts)
            }
            Step::Shell { .. }
            | Step::Sleep(_)
            | Step::Jump(_)
            | Step::StartPipeline
            | Step::SyncPipeline
            | Step::EndPipeline => Ok(()),
        }
    }

    /// In the order of addition.
    pub fn list(&self) -> &[Script] {
        &self.list
    }

    /// Number of statements of all scripts; statement numbers are smaller.
    pub fn statements(&self) -> usize {
        self.statements
    }

    /// Variables and random numbers of a client. The same seed yields the same values.
    pub fn values(&self, client: u32, clients: u32, seed: u64) -> Values {
        Values::new(self, client, clients, seed)
    }
}

impl Script {
    /// From 0, in the order of addition.
    pub fn number(&self) -> usize {
        self.number
    }

    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    pub fn weight(&self) -> u32 {
        self.weight
    }

    pub fn statements(&self) -> impl Iterator<Item = &Statement> {
        self.steps.iter().filter_map(|step| {
            if let Step::Statement(statement) = step {
                Some(statement)
            } else {
                None
            }
        })
    }
}

impl std::fmt::Debug for Scripts {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Scripts")
            .field("list", &self.list)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
