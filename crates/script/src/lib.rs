//! Scripts: what SQL clients do, in the language of pgbench's scripts.
//!
//! [`Scripts`] holds the scripts of a run, read once; each client has its own [`Values`]: its variables and its random
//! numbers. [`Values::next`] computes and jumps until there is something for the network to do, an
//! [`Action`]. So the loop of a client is: choose a script, ask for the next action, do it, until
//! [`Action::End`].
//!
//! The language is that of the pgbench page of PostgreSQL's manual, versions 15 to 17; with the same seed,
//! random functions give the same values as pgbench's of those versions. docs/load.md has what differs.

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

pub use error::{Fault, ScriptError};
pub use scalar::Scalar;
pub use statement::{Keep, Placeholder, Statement};
pub use values::{Value, Values};

use expression::Expression;
use names::Names;
use shell::Words;
use std::sync::Arc;
use std::time::Duration;

/// The scripts of a run: what each does, how often it is chosen, and the variables all of them share.
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

/// Runs a command line in a shell; gives what it printed, if that is wanted, or why there is nothing.
pub type Shell = fn(line: &str, wanted: bool) -> Result<String, String>;

/// Where lines of `debug()` go.
pub type Debug = Arc<dyn Fn(&str) + Send + Sync>;

/// One script.
#[derive(Debug, Clone, PartialEq)]
pub struct Script {
    number: usize,
    name: Arc<str>,
    weight: u32,
    steps: Vec<Step>,
    /// Of each step, from 1.
    lines: Vec<usize>,
}

/// How string constants are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Quoting {
    /// SQL's and PostgreSQL's: a backslash is a letter like others, but for `E'...'`; there are `$$` quotes.
    #[default]
    Standard,
    /// MySQL's and MariaDB's: a backslash takes its meaning from the next letter; there are backquotes.
    Backslash,
}

/// How statements go to the server, as pgbench's `-M` has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum QueryMode {
    /// As text with the values of the variables in it: PostgreSQL `Query`, MySQL `COM_QUERY`.
    #[default]
    Simple,
    /// Text and values separately, each time again: PostgreSQL `Parse`, `Bind`, `Describe`, `Execute`, `Sync`
    /// in one request; MySQL `COM_STMT_PREPARE`, `COM_STMT_EXECUTE`, `COM_STMT_CLOSE`, which are two round
    /// trips.
    Extended,
    /// Prepared when a client first runs it, then only executed.
    Prepared,
}

/// What a client does next, beyond computing.
#[derive(Debug, PartialEq)]
pub enum Action<'s> {
    /// Send this and take its results, or only send it inside a pipeline.
    Statement(&'s Statement),
    /// Wait this long.
    Sleep(Duration),
    /// What follows is sent without waiting.
    StartPipeline,
    /// A `Sync` inside a pipeline, without waiting.
    SyncPipeline,
    /// A `Sync`; wait for all results.
    EndPipeline,
    /// The script has ended.
    End,
}

/// One command of a script.
#[derive(Debug, Clone, PartialEq)]
enum Step {
    /// Gives a variable a value.
    Set {
        variable: usize,
        value: Expression,
    },
    /// Runs a program; its first line of output becomes the variable's value.
    Shell {
        variable: Option<usize>,
        words: Words,
    },
    /// Waits.
    Sleep(Pause),
    /// Goes on at `otherwise` unless `condition` holds.
    Unless {
        condition: Expression,
        otherwise: usize,
    },
    /// Goes on at a step.
    Jump(usize),
    Statement(Statement),
    StartPipeline,
    SyncPipeline,
    EndPipeline,
}

/// How long `\sleep` waits: a number or a variable, of a unit.
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
    /// None yet. `quoting` is that of the database the scripts are for.
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

    /// One script, of texts one after another; a statement ends with its text at the latest.
    ///
    /// # Errors
    /// As [`Scripts::add`] and [`Scripts::check`].
    pub fn parse<'t>(
        texts: impl IntoIterator<Item = &'t str>,
        quoting: Quoting,
    ) -> Result<Self, ScriptError> {
        let mut scripts = Self::new(quoting);
        scripts.parse_script("script", texts, 1)?;
        scripts.check(QueryMode::Simple)?;
        Ok(scripts)
    }

    /// Reads one more script. `name` is its file, for messages; `weight` is how often it is chosen, relative
    /// to the weights of the others.
    ///
    /// # Errors
    /// What is wrong with it, and in which line.
    pub fn add(&mut self, name: &str, text: &str, weight: u32) -> Result<(), ScriptError> {
        self.parse_script(name, [text], weight)
    }

    fn parse_script<'t>(
        &mut self,
        name: &str,
        texts: impl IntoIterator<Item = &'t str>,
        weight: u32,
    ) -> Result<(), ScriptError> {
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

    /// Gives a variable its value from the start, as `-D name=value` does; what a script needs of these
    /// itself is set anyway: `client_id`, `random_seed`, `default_seed`.
    ///
    /// # Errors
    /// [`Fault::Name`] when it is no name.
    pub fn define(&mut self, name: &str, value: &str) -> Result<(), Fault> {
        let variable = Arc::make_mut(&mut self.names).given(name)?;
        self.definitions.push((variable, Value::Text(value.into())));
        Ok(())
    }

    /// Says what runs the programs of `\shell` and `\setshell`; without it they fail.
    pub fn on_shell(&mut self, shell: Shell) {
        self.shell = Some(shell);
    }

    /// Says where lines of `debug()` go; without it they are not written.
    pub fn on_debug(&mut self, debug: Debug) {
        self.debug = Some(debug);
    }

    /// Finds what cannot work with statements sent as `mode` says, and variables that never get a value.
    ///
    /// # Errors
    /// The first such place.
    pub fn check(&self, mode: QueryMode) -> Result<(), ScriptError> {
        for script in &self.list {
            for (step, line) in script.steps.iter().zip(&script.lines) {
                self.check_step(step, mode).map_err(|fault| ScriptError {
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
            Step::Set { value, .. } => self.names.check(value),
            Step::Unless { condition, .. } => self.names.check(condition),
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

    /// The scripts, in the order in which they were added.
    pub fn list(&self) -> &[Script] {
        &self.list
    }

    /// Statements of all scripts together: their numbers are below it.
    pub fn statements(&self) -> usize {
        self.statements
    }

    /// The variables and random numbers of client `client` of `clients`. The same seed gives the same values.
    pub fn values(&self, client: u32, clients: u32, seed: u64) -> Values {
        Values::new(self, client, clients, seed)
    }
}

impl Script {
    /// Which, from 0, in the order in which they were added.
    pub fn number(&self) -> usize {
        self.number
    }

    /// Its file, or what else it is called.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// How often it is chosen, relative to the weights of the others.
    pub fn weight(&self) -> u32 {
        self.weight
    }

    /// Its statements, in the order in which they stand.
    pub fn statements(&self) -> impl Iterator<Item = &Statement> {
        self.steps.iter().filter_map(|step| match step {
            Step::Statement(statement) => Some(statement),
            _ => None,
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
