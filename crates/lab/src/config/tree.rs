//! TOML as a tree in which every value knows its place in the file.

use super::ConfigError;
use std::fmt;
use std::ops::Range;
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Bytes of the file from which something was read.
///
/// All places compare as equal, and none is printed: values are compared with each other, and with those of
/// an earlier run, by their content only.
#[derive(Clone, Default)]
pub struct FileSpan(pub Range<usize>);

impl PartialEq for FileSpan {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl fmt::Debug for FileSpan {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("_")
    }
}

/// A value and its place.
#[derive(Debug, Clone, PartialEq)]
pub struct ConfigNode {
    /// Its place in the file.
    pub place: FileSpan,
    /// What it is.
    pub value: ConfigValue,
}

/// A value of the file.
#[derive(Debug, Clone, PartialEq)]
pub enum ConfigValue {
    /// A text.
    Text(String),
    /// A whole number.
    Integer(i64),
    /// Another number, as written.
    Float(String),
    /// True or false.
    Boolean(bool),
    /// A list.
    List(Vec<ConfigNode>),
    /// A table.
    Table(Table),
}

/// A table: its entries in the order of the file.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    /// The entries.
    pub entries: Vec<Entry>,
}

/// A key with its value.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// The place of the key.
    pub place: FileSpan,
    /// Its value.
    pub node: ConfigNode,
}

impl ConfigValue {
    /// The kind of value, for messages.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Text(_) => "a text",
            Self::Integer(_) => "a whole number",
            Self::Float(_) => "a number",
            Self::Boolean(_) => "true or false",
            Self::List(_) => "a list",
            Self::Table(_) => "a table",
        }
    }

    /// The value as text, when it is neither list nor table: the name of a sweep's point.
    pub fn text(&self) -> Option<String> {
        match self {
            Self::Text(text) | Self::Float(text) => Some(text.clone()),
            Self::Integer(number) => Some(number.to_string()),
            Self::Boolean(value) => Some(value.to_string()),
            Self::List(_) | Self::Table(_) => None,
        }
    }
}

impl Table {
    /// The value of `key`.
    pub fn get(&self, key: &str) -> Option<&ConfigNode> {
        self.entries
            .iter()
            .find(|entry| entry.key == key)
            .map(|entry| &entry.node)
    }

    /// Gives the setting at `path` this value; missing tables on the path are created.
    pub fn set(&mut self, path: &[String], node: &ConfigNode) {
        let Some((first, rest)) = path.split_first() else {
            return;
        };
        let index = self.entries.iter().position(|entry| entry.key == *first);
        let index = index.unwrap_or_else(|| {
            self.entries.push(Entry {
                key: first.clone(),
                place: node.place.clone(),
                node: ConfigNode {
                    place: node.place.clone(),
                    value: ConfigValue::Table(Self::default()),
                },
            });
            self.entries.len() - 1
        });
        let entry = &mut self.entries[index].node;
        if rest.is_empty() {
            *entry = node.clone();
            return;
        }
        if !matches!(entry.value, ConfigValue::Table(_)) {
            entry.value = ConfigValue::Table(Self::default());
        }
        if let ConfigValue::Table(table) = &mut entry.value {
            table.set(rest, node);
        }
    }
}

/// Reads `text`, which came from `file`.
///
/// # Errors
/// When it is no TOML.
pub fn parse(file: &Path, text: &str) -> Result<Table, ConfigError> {
    let table = DeTable::parse(text).map_err(|error| {
        let message = error.message().trim().replace('\n', ", ");
        ConfigError::at(file, text, &FileSpan(error.span().unwrap_or_default()), message)
    })?;
    Ok(self::table(table.get_ref()))
}

fn table(table: &DeTable<'_>) -> Table {
    let mut entries: Vec<Entry> = table
        .iter()
        .map(|(key, value)| Entry {
            key: key.get_ref().to_string(),
            place: FileSpan(key.span()),
            node: node(value),
        })
        .collect();
    entries.sort_by_key(|entry| entry.place.0.start);
    Table { entries }
}

fn node(value: &Spanned<DeValue<'_>>) -> ConfigNode {
    let converted = match value.get_ref() {
        DeValue::String(text) => ConfigValue::Text(text.to_string()),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix()).map_or_else(
            |_| ConfigValue::Float(number.as_str().to_owned()),
            ConfigValue::Integer,
        ),
        DeValue::Float(number) => ConfigValue::Float(number.as_str().to_owned()),
        DeValue::Boolean(value) => ConfigValue::Boolean(*value),
        DeValue::Datetime(at) => ConfigValue::Text(at.to_string()),
        DeValue::Array(values) => ConfigValue::List(values.iter().map(node).collect()),
        DeValue::Table(inner) => ConfigValue::Table(table(inner)),
    };
    ConfigNode {
        place: FileSpan(value.span()),
        value: converted,
    }
}
