//! A client's variables and random numbers.

use super::error::{Error, Fault};
use super::expression::Environment;
use super::names::Names;
use super::random::{Random, Seeds};
use super::scalar::Scalar;
use super::statement::{Keep, Part};
use super::{Action, Count, Debug, Pause, Script, Scripts, Shell, Statement, Step};
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// The result of an expression.
    Computed(Scalar),
    /// Text from `-D`, a result or a program, parsed by expressions.
    Text(Box<str>),
}

pub struct Values {
    names: Arc<Names>,
    values: Vec<Option<Value>>,
    random: Random,
    choosing: Random,
    debug: Option<Debug>,
    shell: Option<Shell>,
}

impl Values {
    pub(super) fn new(scripts: &Scripts, client: u32, clients: u32, seed: u64) -> Self {
        let Seeds {
            client: own,
            choosing,
            hashing,
        } = Seeds::new(seed, client, clients);
        let mut values = vec![None; scripts.names.count()];
        let built_in = [
            (Names::CLIENT_ID, i64::from(client)),
            (Names::RANDOM_SEED, seed as i64),
            (Names::DEFAULT_SEED, hashing),
            (Names::SCALE, 1),
        ];
        for (variable, value) in built_in {
            values[variable] = Some(Value::Computed(Scalar::Integer(value)));
        }
        for (variable, value) in &scripts.definitions {
            values[*variable] = Some(value.clone());
        }
        Self {
            names: scripts.names.clone(),
            values,
            random: own,
            choosing,
            debug: scripts.debug.clone(),
            shell: scripts.shell,
        }
    }

    pub(super) const fn shell(&self) -> Option<Shell> {
        self.shell
    }

    /// Chooses a script by weight.
    pub fn choose<'s>(&mut self, scripts: &'s Scripts) -> Option<&'s Script> {
        if let [only] = scripts.list.as_slice() {
            return Some(only);
        }
        let total: i64 = scripts.list.iter().map(|script| i64::from(script.weight)).sum();
        let mut drawn = self.choosing.between(0, (total - 1).max(0));
        scripts.list.iter().find(|script| {
            drawn -= i64::from(script.weight);
            drawn < 0
        })
    }

    /// Evaluates commands up to the next action. `at` is the client's position in `script`, 0 at
    /// the start, and is advanced.
    ///
    /// # Errors
    /// Fails if an expression has no value, or a program failed. The position is then unusable.
    pub fn next<'s>(&mut self, script: &'s Script, at: &mut usize) -> Result<Action<'s>, Error> {
        loop {
            let here = *at;
            let Some(step) = script.steps.get(here) else {
                return Ok(Action::End);
            };
            *at = here + 1;
            match self.step(script, step, at) {
                Ok(None) => {}
                Ok(Some(action)) => return Ok(action),
                Err(fault) => return Err(self.error(script, here, fault)),
            }
        }
    }

    fn step<'s>(
        &mut self,
        script: &'s Script,
        step: &'s Step,
        at: &mut usize,
    ) -> Result<Option<Action<'s>>, Fault> {
        match step {
            Step::Set { variable, value } => {
                let value = value.evaluate(&mut self.environment(script, *at))?;
                self.put(*variable, Value::Computed(value));
                Ok(None)
            }
            Step::Shell { variable, words } => {
                let printed = words.run(variable.is_some(), self)?;
                if let (Some(variable), Some(printed)) = (variable, printed) {
                    self.put(*variable, Value::Computed(Scalar::Integer(printed)));
                }
                Ok(None)
            }
            Step::Unless { condition, otherwise } => {
                if !condition.evaluate(&mut self.environment(script, *at))?.truth() {
                    *at = *otherwise;
                }
                Ok(None)
            }
            Step::Jump(to) => {
                *at = *to;
                Ok(None)
            }
            Step::Sleep(pause) => self.pause(pause).map(|pause| Some(Action::Sleep(pause))),
            Step::Statement(statement) => Ok(Some(Action::Statement(statement))),
            Step::StartPipeline => Ok(Some(Action::StartPipeline)),
            Step::SyncPipeline => Ok(Some(Action::SyncPipeline)),
            Step::EndPipeline => Ok(Some(Action::EndPipeline)),
        }
    }

    fn error(&self, script: &Script, step: usize, fault: Fault) -> Error {
        Error {
            script: script.name.clone(),
            line: script.lines.get(step).copied().unwrap_or_default(),
            fault,
        }
    }

    fn environment<'e>(&'e mut self, script: &'e Script, at: usize) -> Environment<'e> {
        Environment {
            values: &self.values,
            names: &self.names,
            random: &mut self.random,
            debug: self.debug.as_ref(),
            script: &script.name,
            line: script
                .lines
                .get(at.saturating_sub(1))
                .copied()
                .unwrap_or_default(),
        }
    }

    fn pause(&self, pause: &Pause) -> Result<Duration, Fault> {
        let count = match pause.count {
            Count::Number(count) => count,
            Count::Variable(variable) => {
                let mut text = Vec::new();
                if !self.parameter(variable, &mut text) {
                    return Err(Fault::Unset(self.names.name(variable).to_owned()));
                }
                let text = String::from_utf8_lossy(&text).into_owned();
                text.trim().parse().map_err(|_| Fault::Sleep(text))?
            }
        };
        Ok(pause.unit.saturating_mul(count))
    }

    /// Appends the text of `statement` with substituted values. A variable without a value stays as
    /// written.
    pub fn write(&self, statement: &Statement, text: &mut Vec<u8>) {
        for part in &statement.parts {
            match part {
                Part::Text(plain) => text.extend_from_slice(plain.as_bytes()),
                Part::Variable { variable, name, .. } => match self.values.get(*variable) {
                    Some(Some(value)) => write_value(value, text),
                    _ => text.extend_from_slice(name.as_bytes()),
                },
            }
        }
    }

    /// Appends a parameter's value; returns false if it is null or unset.
    pub fn parameter(&self, variable: usize, text: &mut Vec<u8>) -> bool {
        match self.values.get(variable) {
            Some(Some(Value::Computed(Scalar::Null)) | None) | None => false,
            Some(Some(value)) => {
                write_value(value, text);
                true
            }
        }
    }

    pub fn value(&self, variable: usize) -> Option<&Value> {
        self.values.get(variable)?.as_ref()
    }

    /// Stores a column of a result row as `keep` says.
    pub fn keep(&mut self, keep: &Keep, column: &[u8], value: Option<&[u8]>) {
        let column = String::from_utf8_lossy(column);
        let Some(variable) = self.names.find(&format!("{}{column}", keep.prefix())) else {
            // No script uses it.
            return;
        };
        let value = match value {
            Some(text) => Value::Text(String::from_utf8_lossy(text).into()),
            None => Value::Computed(Scalar::Null),
        };
        self.put(variable, value);
    }

    pub(super) fn get(&self, variable: usize) -> Result<&Value, Fault> {
        match self.values.get(variable) {
            Some(Some(value)) => Ok(value),
            _ => Err(Fault::Unset(self.names.name(variable).to_owned())),
        }
    }

    fn put(&mut self, variable: usize, value: Value) {
        if let Some(slot) = self.values.get_mut(variable) {
            *slot = Some(value);
        }
    }
}

pub(super) fn write_value(value: &Value, text: &mut Vec<u8>) {
    // Writing to a vector cannot fail.
    match value {
        Value::Text(plain) => text.extend_from_slice(plain.as_bytes()),
        Value::Computed(number) => write!(text, "{number}").unwrap_or_default(),
    }
}
