//! `\shell` and `\setshell`: programs that a script runs.
//!
//! The client's thread waits for the program, as pgbench's does, and with it the other clients of that thread.

use super::Fault;
use super::names::Names;
use super::values::{Values, write_value};
use std::process::{Command, Stdio};

/// The words of a command line.
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
    /// Reads `text`: `:name` is a variable, `::name` the text `:name`.
    pub fn read(command: &'static str, text: &str, names: &mut Names) -> Self {
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

    /// Runs it in a shell; with `wanted`, the whole number that it prints.
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
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(String::from_utf8_lossy(&line).as_ref());
        shell.stdin(Stdio::null()).stderr(Stdio::inherit());
        // Standard output belongs to the results of this run.
        shell.stdout(if wanted { Stdio::piped() } else { Stdio::null() });
        let output = shell.spawn().and_then(std::process::Child::wait_with_output);
        let output = output.map_err(|error| self.fault(format!("could not be run: {error}")))?;
        if !output.status.success() {
            return Err(self.fault(format!("ended with {}", output.status)));
        }
        if !wanted {
            return Ok(None);
        }
        let printed = String::from_utf8_lossy(&output.stdout);
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
