//! Faults in the files that a person writes.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// A file as it was read.
#[derive(Debug, Clone, Copy)]
pub struct ConfigFile<'a> {
    /// As given by the user.
    pub path: &'a Path,
    /// Its content as text.
    pub text: &'a str,
    /// Where its keys are documented, for the hint.
    pub reference: &'static str,
}

/// A fault in a file, with its place and remedy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    /// As given by the user.
    pub file: PathBuf,
    /// Line of the fault, from 1.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
    /// The fault and its remedy.
    pub what: String,
    reference: &'static str,
}

impl ConfigFile<'_> {
    /// A fault at these bytes.
    pub fn error(&self, place: impl Into<Range<usize>>, what: impl Into<String>) -> ConfigError {
        let before = self.text.get(..place.into().start).unwrap_or(self.text);
        let line_start = before.rfind('\n').map_or(0, |end| end + 1);
        ConfigError {
            file: self.path.to_owned(),
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            what: what.into(),
            reference: self.reference,
        }
    }

    /// The parser's fault. A message without the key gets it from the line.
    pub fn parse_error(&self, place: Option<Range<usize>>, message: &str) -> ConfigError {
        let place = place.unwrap_or_default();
        let message = message.trim().replace('\n', ", ");
        let is_of_value = message.starts_with("invalid ") || message.starts_with("data did not match");
        match self.key_at(place.start).filter(|_| is_of_value) {
            Some(key) => self.error(place, format!("{key}: {message}")),
            None => self.error(place, message),
        }
    }

    /// The dotted key of a value that begins on its key's line.
    fn key_at(&self, place: usize) -> Option<String> {
        let before = self.text.get(..place)?;
        let (key, _) = before.lines().last()?.split_once('=')?;
        let header = |line: &str| {
            let name = line.trim_start().strip_prefix('[')?.trim_start_matches('[');
            name.split(']')
                .next()
                .map(str::to_owned)
                .filter(|name| is_key(name))
        };
        let parts = before
            .lines()
            .rev()
            .find_map(header)
            .into_iter()
            .chain([key.trim().to_owned()]);
        is_key(key.trim()).then(|| parts.collect::<Vec<_>>().join("."))
    }
}

/// Whether it is a key without quotes, not a part of a value, which may be a secret.
fn is_key(text: &str) -> bool {
    let fits = |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '_' | '.');
    !text.is_empty() && text.chars().all(fits)
}

impl ConfigError {
    /// Where the keys are documented.
    pub fn hint(&self) -> String {
        self.reference.to_owned()
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            line, column, what, ..
        } = self;
        write!(formatter, "{}:{line}:{column}: {what}", self.file.display())
    }
}

impl std::error::Error for ConfigError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_has_its_place_and_a_value_its_key() {
        let file = ConfigFile {
            path: Path::new("shop.toml"),
            text: "rows = 1\n[[\u{fc}ber]]\nname = 5\n",
            reference: "",
        };
        let at = |text: &str| file.text.find(text);
        let place = at("5").map(|start| start..start + 1);
        let fault = file.parse_error(place, "invalid type: integer `5`\nexpected a string");
        assert_eq!(
            fault.to_string(),
            "shop.toml:3:8: \u{fc}ber.name: invalid type: integer `5`, expected a string"
        );
        let secret = ConfigFile {
            text: "urls = [\n\"http://u:pw?a=1\", 5]",
            ..file
        };
        let place = secret.text.find('5').map(|start| start..start + 1);
        assert_eq!(
            secret.parse_error(place, "invalid type").to_string(),
            "shop.toml:2:20: invalid type"
        );
        let place = at("ber").map(|start| start..start);
        assert_eq!(
            file.parse_error(place, "unknown field").to_string(),
            "shop.toml:2:4: unknown field"
        );
    }
}
