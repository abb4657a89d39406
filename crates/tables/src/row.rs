//! A record's line as a row, and back.

use crate::error::TableError;
use crate::schema::{ColumnKind, TableColumn, TableName};
use serde_json::{Map, Value};
use std::cmp::Ordering;

/// A value of a row.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum TableCell {
    /// Null.
    Absent,
    /// Of [`ColumnKind::Integer`].
    Integer(i64),
    /// Of [`ColumnKind::Flag`].
    Flag(bool),
    /// Of [`ColumnKind::Text`] and, as JSON, [`ColumnKind::Nested`].
    Text(String),
}

/// A row of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableRow {
    /// Which table.
    pub table: TableName,
    /// One for each of its columns.
    pub cells: Vec<TableCell>,
}

impl TableRow {
    /// The row of a record's line; it is number `sequence` of `run`. Statement texts as sent (`literal`) are left out.
    ///
    /// # Errors
    /// When the line is no JSON object.
    pub fn of_line(line: &[u8], run: &str, sequence: u64) -> Result<Self, TableError> {
        let mut keys: Map<String, Value> = serde_json::from_slice(line)?;
        let kind = match keys.get("type") {
            Some(Value::String(kind)) => kind.clone(),
            _ => String::new(),
        };
        let table = TableName::of_record(&kind);
        match table {
            TableName::Runs => {
                keys = Map::from_iter([
                    ("record_type".to_owned(), Value::String(kind)),
                    ("at_ns".to_owned(), keys.get("at_ns").cloned().unwrap_or_default()),
                    ("record".to_owned(), Value::Object(keys)),
                ]);
            }
            _ => {
                keys.remove("type");
                keys.remove("literal");
                if let Some(protocol) = keys.remove("protocol") {
                    keys.insert(PROTOCOL.to_owned(), protocol);
                }
            }
        }
        keys.insert("run".to_owned(), run.into());
        keys.insert("sequence".to_owned(), sequence.into());
        let mut cells: Vec<TableCell> = table
            .columns()
            .iter()
            .map(|column| take(&mut keys, column))
            .collect();
        if let (false, Some(more)) = (keys.is_empty(), cells.last_mut()) {
            *more = TableCell::Text(Value::Object(keys).to_string());
        }
        Ok(Self { table, cells })
    }

    /// The line of the record, with the keys that it had.
    ///
    /// # Errors
    /// When a nested value is no JSON.
    pub fn line(&self) -> Result<String, TableError> {
        let mut keys = Map::new();
        for (column, cell) in self.table.columns().into_iter().zip(&self.cells) {
            let value = match (cell, column.kind) {
                (TableCell::Absent, _) => continue,
                (TableCell::Integer(value), _) => (*value).into(),
                (TableCell::Flag(value), _) => (*value).into(),
                (TableCell::Text(text), ColumnKind::Nested) => serde_json::from_str(text)?,
                (TableCell::Text(text), _) => text.clone().into(),
            };
            match (column.name, value) {
                ("run" | "sequence" | "record_type", _) => {}
                ("record", Value::Object(record)) => return Ok(Value::Object(record).to_string()),
                ("more", Value::Object(more)) => keys.extend(more),
                (PROTOCOL, value) => {
                    keys.insert("protocol".to_owned(), value);
                }
                (name, value) => {
                    keys.insert(name.to_owned(), value);
                }
            }
        }
        if let Some(kind) = self.table.record() {
            keys.insert("type".to_owned(), kind.into());
        }
        Ok(Value::Object(keys).to_string())
    }

    /// The value of a column; absent where the table has no such one.
    pub fn get(&self, name: &str) -> &TableCell {
        let columns = self.table.columns();
        let place = columns.iter().position(|column| column.name == name);
        place
            .and_then(|place| self.cells.get(place))
            .unwrap_or(&TableCell::Absent)
    }

    /// Its number in its run.
    pub fn sequence(&self) -> u64 {
        match self.cells.get(1) {
            Some(TableCell::Integer(number)) => number.cast_unsigned(),
            _ => 0,
        }
    }

    /// The order within a row group; `places` are those of [`TableName::sorted_by`]. What is absent comes first.
    pub(crate) fn order(&self, other: &Self, places: &[usize]) -> Ordering {
        let orders = places
            .iter()
            .map(|&place| self.cells.get(place).cmp(&other.cells.get(place)));
        orders.fold(Ordering::Equal, Ordering::then)
    }
}

/// `protocol` is a folder's key: engines would find two columns of one name.
const PROTOCOL: &str = "protocol_name";

/// Takes the value of a column out of `keys`, unless it does not fit.
fn take(keys: &mut Map<String, Value>, column: &TableColumn) -> TableCell {
    let Some(value) = keys.get(column.name) else {
        return TableCell::Absent;
    };
    let cell = match (column.kind, value) {
        (ColumnKind::Integer, value) => value.as_i64().map(TableCell::Integer),
        (ColumnKind::Flag, Value::Bool(value)) => Some(TableCell::Flag(*value)),
        (ColumnKind::Text, Value::String(text)) => Some(TableCell::Text(text.clone())),
        (ColumnKind::Nested, value @ (Value::Object(_) | Value::Array(_))) => {
            Some(TableCell::Text(value.to_string()))
        }
        _ => None,
    };
    if cell.is_some() || value.is_null() {
        keys.remove(column.name);
    }
    cell.unwrap_or(TableCell::Absent)
}
