//! TOML tree in which every value has its position in the file.

use model::{ConfigError, ConfigFile as File};
use std::fmt;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Byte range in the file.
///
/// All spans compare as equal and print nothing, so that values compare by content only, also with
/// those of an earlier run.
#[derive(Clone, Default)]
pub struct FileSpan(pub Range<usize>);

impl From<&FileSpan> for Range<usize> {
    fn from(span: &FileSpan) -> Self {
        span.0.clone()
    }
}

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

#[derive(Debug, Clone, PartialEq)]
pub struct ConfigNode {
    pub place: FileSpan,
    pub value: ConfigValue,
}

#[derive(Debug, Clone, PartialEq)]
pub enum ConfigValue {
    Text(String),
    Integer(i64),
    /// Keeps the spelling of the file.
    Float(String),
    Boolean(bool),
    List(Vec<ConfigNode>),
    Table(Table),
}

/// In the order of the file.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    pub entries: Vec<Entry>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    pub key: String,
    pub place: FileSpan,
    pub node: ConfigNode,
}

impl ConfigValue {
    /// Name of the type, for messages.
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

    /// Text of a scalar, used to name points of a sweep; `None` for lists and tables.
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
    pub fn get(&self, key: &str) -> Option<&ConfigNode> {
        self.entries
            .iter()
            .find(|entry| entry.key == key)
            .map(|entry| &entry.node)
    }

    /// Creates missing tables along `path`.
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

pub fn parse(file: File<'_>) -> Result<Table, ConfigError> {
    let table = DeTable::parse(file.text).map_err(|error| file.parse_error(error.span(), error.message()))?;
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
