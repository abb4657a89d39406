//! The commands `\shell` and `\setshell`, with programs run by the caller ([`super::Shell`]).

use super::Fault;
use super::names::Names;
use super::values::{Values, write_value};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Words {
    command: &'static str,
    words: Vec<Word>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Word {
    Text(String),
    Variable(usize),
}

impl Words {
    /// `:name` is a variable, `::name` the text `:name`.
    pub fn parse(command: &'static str, text: &str, names: &mut Names) -> Self {
        let words = text
            .split_whitespace()
            .map(|word| match word.strip_prefix(':') {
                Some(literal) if literal.starts_with(':') => Word::Text(literal.to_owned()),
                Some(name) => Word::Variable(names.used(name)),
                None => Word::Text(word.to_owned()),
            })
            .collect();
        Self { command, words }
    }

    /// Runs the command line; with `wanted`, returns the integer it prints.
    pub fn run(&self, wanted: bool, values: &Values) -> Result<Option<i64>, Fault> {
        let mut line = Vec::new();
        for word in &self.words {
            if !line.is_empty() {
                line.push(b' ');
            }
            match word {
                Word::Text(text) => line.extend_from_slice(text.as_bytes()),
                Word::Variable(variable) => write_value(values.get(*variable)?, &mut line),
            }
        }
        let shell = values
            .shell()
            .ok_or_else(|| self.fault("is not run here".to_owned()))?;
        let printed = shell(&String::from_utf8_lossy(&line), wanted).map_err(|reason| self.fault(reason))?;
        if !wanted {
            return Ok(None);
        }
        let number = printed.lines().next().unwrap_or_default().trim();
        match number.parse() {
            Ok(number) => Ok(Some(number)),
            Err(_) => Err(self.fault("printed no whole number".to_owned())),
        }
    }

    fn fault(&self, reason: String) -> Fault {
        Fault::Shell {
            command: self.command,
            reason,
        }
    }
}
