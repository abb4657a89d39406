//! Scripts: statements with variables, in the language of pgbench's scripts as far as it is here: `\set NAME EXPRESSION`
//! and `:NAME` in statements.

use super::expression::{Expression, Fault};
use std::collections::HashMap;
use std::sync::Arc;

/// What one operation does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script {
    steps: Arc<[Step]>,
    variables: usize,
}

/// What is wrong with a script.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScriptError {
    /// There is no statement in it.
    #[error("the script has no statement")]
    Empty,
    /// A command that begins with a backslash and is not `\set`.
    #[error(
        "line {line} of the script: only \\set NAME EXPRESSION is known of commands that begin with a backslash"
    )]
    Command {
        /// Line, from 1, counted over all texts of the script.
        line: usize,
    },
    /// The expression of a `\set` is wrong.
    #[error("line {line} of the script: {fault}")]
    Expression {
        /// Line, from 1, counted over all texts of the script.
        line: usize,
        /// What is wrong.
        fault: Fault,
    },
    /// An expression has no value: a division by zero, a number beyond 64 bits, an empty range.
    #[error("an expression of the script has no value: {0}")]
    Value(Fault),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Gives a variable a value.
    Set { variable: usize, value: Expression },
    /// Runs a statement.
    Statement(Vec<Part>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    Text(String),
    Variable(usize),
}

impl Script {
    /// Reads the text of a script. Each statement ends with a semicolon at the end of a line, or with the text; a
    /// `\set` is a line of its own; lines that begin with `--` are comments. `:name` in a statement stands for the
    /// variable where a `\set` before it gave it a value, and for itself otherwise, as `::type` always does, and all
    /// that is quoted.
    ///
    /// # Errors
    /// Every [`ScriptError`] but [`ScriptError::Value`].
    pub fn parse(text: &str) -> Result<Self, ScriptError> {
        Self::of([text])
    }

    /// As [`Script::parse`] of texts one after another; a statement ends with its text at the latest.
    ///
    /// # Errors
    /// As [`Script::parse`].
    pub fn of<'t>(texts: impl IntoIterator<Item = &'t str>) -> Result<Self, ScriptError> {
        let mut reading = Reading::default();
        for text in texts {
            for line in text.lines() {
                reading.line(line)?;
            }
            reading.statement_ends();
        }
        if !reading
            .steps
            .iter()
            .any(|step| matches!(step, Step::Statement(_)))
        {
            return Err(ScriptError::Empty);
        }
        Ok(Self {
            steps: reading.steps.into(),
            variables: reading.names.len(),
        })
    }

    pub(super) fn steps(&self) -> &[Step] {
        &self.steps
    }
}

#[derive(Default)]
struct Reading {
    number: usize,
    names: HashMap<String, usize>,
    statement: String,
    steps: Vec<Step>,
}

impl Reading {
    fn line(&mut self, line: &str) -> Result<(), ScriptError> {
        self.number += 1;
        let trimmed = line.trim();
        if trimmed.starts_with("--") {
            return Ok(());
        }
        if self.statement.is_empty() && trimmed.starts_with('\\') {
            return self.command(trimmed);
        }
        if !self.statement.is_empty() {
            self.statement.push('\n');
        }
        self.statement.push_str(line.trim_end());
        if trimmed.ends_with(';') {
            self.statement_ends();
        }
        Ok(())
    }

    fn command(&mut self, line: &str) -> Result<(), ScriptError> {
        let command = ScriptError::Command { line: self.number };
        let rest = line.strip_prefix("\\set").ok_or_else(|| command.clone())?;
        let (name, expression) = rest
            .trim_start()
            .split_once(char::is_whitespace)
            .ok_or_else(|| command.clone())?;
        let is_name = name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if !rest.starts_with(char::is_whitespace) || !is_name {
            return Err(command);
        }
        let value = Expression::parse(expression, &self.names).map_err(|fault| ScriptError::Expression {
            line: self.number,
            fault,
        })?;
        let next = self.names.len();
        let variable = *self.names.entry(name.to_owned()).or_insert(next);
        self.steps.push(Step::Set { variable, value });
        Ok(())
    }

    fn statement_ends(&mut self) {
        let statement = std::mem::take(&mut self.statement);
        let text = statement.trim().trim_end_matches(';').trim_end();
        if !text.is_empty() {
            let parts = parts(text, &self.names);
            self.steps.push(Step::Statement(parts));
        }
    }
}

/// The text of a statement, cut at its variables.
fn parts(text: &str, names: &HashMap<String, usize>) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut plain = String::new();
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let (taken, variable) = match letter {
            '\'' | '"' | '`' => {
                let quoted = rest
                    .get(1..)
                    .and_then(|inner| inner.find(letter))
                    .map_or(rest.len(), |end| end + 2);
                (quoted, None)
            }
            ':' if rest.starts_with("::") => (2, None),
            ':' => {
                let name = rest.get(1..).unwrap_or_default();
                let length = name
                    .find(|other: char| !other.is_ascii_alphanumeric() && other != '_')
                    .unwrap_or(name.len());
                (length + 1, name.get(..length).and_then(|name| names.get(name)))
            }
            _ => (letter.len_utf8(), None),
        };
        let (piece, behind) = rest.split_at(taken);
        rest = behind;
        match variable {
            Some(variable) => {
                if !plain.is_empty() {
                    parts.push(Part::Text(std::mem::take(&mut plain)));
                }
                parts.push(Part::Variable(*variable));
            }
            None => plain.push_str(piece),
        }
    }
    if !plain.is_empty() {
        parts.push(Part::Text(plain));
    }
    parts
}

/// The values of a client's variables, and what it draws random ones from.
pub struct Values {
    values: Vec<i64>,
    random: Random,
}

impl Values {
    pub fn new(script: &Script, seed: u64) -> Self {
        Self {
            values: vec![0; script.variables],
            random: Random::new(seed),
        }
    }

    pub fn set(&mut self, variable: usize, value: &Expression) -> Result<(), ScriptError> {
        let value = value
            .evaluate(&self.values, &mut self.random)
            .map_err(ScriptError::Value)?;
        if let Some(slot) = self.values.get_mut(variable) {
            *slot = value;
        }
        Ok(())
    }

    /// Appends the statement.
    pub fn write(&self, parts: &[Part], text: &mut Vec<u8>) {
        for part in parts {
            match part {
                Part::Text(plain) => text.extend_from_slice(plain.as_bytes()),
                Part::Variable(variable) => {
                    let value = self.values.get(*variable).copied().unwrap_or_default();
                    text.extend_from_slice(value.to_string().as_bytes());
                }
            }
        }
    }
}

/// SplitMix64 (Steele, Lea, Flood 2014): a function of the seed.
pub struct Random(u64);

impl Random {
    /// A value from `low` to `high`, both included and `low` not greater, all equally likely but for 1 in 2^64.
    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        let span = high.wrapping_sub(low) as u64;
        let drawn = self.next();
        let offset = match span.checked_add(1) {
            Some(count) => ((u128::from(drawn) * u128::from(count)) >> 64) as u64,
            None => drawn,
        };
        low.wrapping_add(offset as i64)
    }

    /// The sequence of `seed`. Those of neighbouring seeds begin far apart: its steps are not the seed's.
    fn new(seed: u64) -> Self {
        Self(mixed(seed))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mixed(self.0)
    }
}

fn mixed(value: u64) -> u64 {
    let mut mixed = value;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
#[path = "script/tests.rs"]
mod tests;
