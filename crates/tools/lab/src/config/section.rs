//! Reads the entries of a table and reports unknown ones.

use super::tree::{ConfigNode, ConfigValue, Entry, FileSpan, Table};
use model::{ConfigError, ConfigFile as File};
use std::cell::RefCell;
use std::time::Duration;

/// One table and its known keys.
pub struct Section<'a> {
    pub file: File<'a>,
    /// For messages, like `[links.network]`.
    pub name: String,
    pub place: FileSpan,
    table: &'a Table,
    /// Keys that have been read; all others are unknown.
    known: RefCell<Vec<&'static str>>,
}

impl<'a> Section<'a> {
    pub fn root(file: File<'a>, table: &'a Table) -> Self {
        Self {
            file,
            name: "the file".to_owned(),
            place: FileSpan::default(),
            table,
            known: RefCell::default(),
        }
    }

    /// # Errors
    /// If `entry` is not a table.
    pub fn new(file: File<'a>, entry: &'a Entry, name: String) -> Result<Self, ConfigError> {
        let ConfigValue::Table(table) = &entry.node.value else {
            let kind = entry.node.value.kind();
            return Err(file.error(
                &entry.node.place,
                format!("'{}' is {kind}: write it as a table, {name}", entry.key),
            ));
        };
        Ok(Self {
            file,
            name,
            place: entry.place.clone(),
            table,
            known: RefCell::default(),
        })
    }

    pub fn entries(&self) -> &'a [Entry] {
        &self.table.entries
    }

    pub fn entry(&self, key: &'static str) -> Option<&'a Entry> {
        self.known.borrow_mut().push(key);
        self.table.entries.iter().find(|entry| entry.key == key)
    }

    pub fn node(&self, key: &'static str) -> Option<&'a ConfigNode> {
        self.entry(key).map(|entry| &entry.node)
    }

    /// # Errors
    /// If it is missing; the error shows `example`.
    pub fn required(&self, key: &'static str, example: &str) -> Result<&'a ConfigNode, ConfigError> {
        self.node(key).ok_or_else(|| {
            let what = format!("{} has no {key}: add {key} = {example}", self.name);
            self.file.error(&self.place, what)
        })
    }

    /// The string of `key`, with its position.
    pub fn text(&self, key: &'static str) -> Result<Option<(&'a str, &'a FileSpan)>, ConfigError> {
        self.node(key).map(|node| text(self.file, key, node)).transpose()
    }

    /// `otherwise` is the default.
    pub fn boolean(&self, key: &'static str, otherwise: bool) -> Result<bool, ConfigError> {
        match self.node(key) {
            None => Ok(otherwise),
            Some(ConfigNode {
                value: ConfigValue::Boolean(value),
                ..
            }) => Ok(*value),
            Some(node) => Err(self.wrong(key, node, "true or false")),
        }
    }

    /// A whole number in `least..=most`.
    pub fn number(&self, key: &'static str, least: u64, most: u64) -> Result<Option<u64>, ConfigError> {
        let Some(node) = self.node(key) else {
            return Ok(None);
        };
        let number = match &node.value {
            ConfigValue::Integer(number) => u64::try_from(*number).ok(),
            _ => None,
        };
        number
            .filter(|number| (least..=most).contains(number))
            .map(Some)
            .ok_or_else(|| self.wrong(key, node, &format!("a whole number from {least} to {most}")))
    }

    /// A duration with a unit.
    pub fn duration(&self, key: &'static str) -> Result<Option<Duration>, ConfigError> {
        let Some((text, place)) = self.text(key)? else {
            return Ok(None);
        };
        let parsed = model::parse_duration(text);
        parsed
            .map(Some)
            .map_err(|error| self.file.error(place, format!("{key}: {error}")))
    }

    /// Type or value error for `key`.
    pub fn wrong(&self, key: &str, node: &ConfigNode, expected: &str) -> ConfigError {
        let found = match node.value.text() {
            Some(text) => format!("{text:?}"),
            None => node.value.kind().to_owned(),
        };
        let what = format!("{key} is {found}: write {expected}");
        self.file.error(&node.place, what)
    }

    /// # Errors
    /// If a key is unknown.
    pub fn finish(&self) -> Result<(), ConfigError> {
        let known = self.known.borrow();
        let unknown = self
            .table
            .entries
            .iter()
            .find(|entry| !known.contains(&entry.key.as_str()));
        match unknown {
            None => Ok(()),
            Some(entry) => {
                let advice = advice(&entry.key, known.iter().copied());
                let what = format!("{} has no key '{}': {advice}", self.name, entry.key);
                Err(self.file.error(&entry.place, what))
            }
        }
    }
}

pub fn text<'a>(
    file: File<'_>,
    key: &str,
    node: &'a ConfigNode,
) -> Result<(&'a str, &'a FileSpan), ConfigError> {
    match &node.value {
        ConfigValue::Text(text) => Ok((text, &node.place)),
        other => {
            let written = other.text().unwrap_or_else(|| "...".to_owned());
            let what = format!("{key} is {}: write a text, {key} = \"{written}\"", other.kind());
            Err(file.error(&node.place, what))
        }
    }
}

/// Suggests the nearest of `known` for `word`, or lists all.
pub fn advice<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> String {
    let mut known: Vec<&str> = known.collect();
    known.sort_unstable();
    known.dedup();
    let near = known
        .iter()
        .map(|candidate| (distance(word, candidate), candidate))
        .min()
        .filter(|(distance, candidate)| *distance <= 2.min(candidate.len() / 2));
    match near {
        Some((_, candidate)) => format!("did you mean '{candidate}'?"),
        None if known.is_empty() => "there is none".to_owned(),
        None => format!("known are {}", listed(&known)),
    }
}

/// `a`, `a and b`, `a, b and c`.
pub fn listed(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [all @ .., last] => format!("{} and {last}", all.join(", ")),
    }
}

/// Edit distance with transpositions.
fn distance(one: &str, other: &str) -> usize {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let mut rows = vec![vec![0; other.len() + 1]; one.len() + 1];
    for i in 0..=one.len() {
        for j in 0..=other.len() {
            rows[i][j] = if i == 0 || j == 0 {
                i + j
            } else {
                let replaced = rows[i - 1][j - 1] + usize::from(one[i - 1] != other[j - 1]);
                let mut least = replaced.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
                if i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1] {
                    least = least.min(rows[i - 2][j - 2] + 1);
                }
                least
            };
        }
    }
    rows[one.len()][other.len()]
}
