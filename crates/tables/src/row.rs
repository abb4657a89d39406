//! A record as a row, without the text of its line in between.

use crate::error::TableError;
use crate::schema::{ColumnKind, TableName};
use serde::Serialize;
use serde_json::{Map, Value};

mod cells;

use cells::{Cells, Target};

/// The values of a record in the columns of its table. Filled again for the next one: it allocates nothing then.
#[derive(Debug)]
pub struct RecordRow {
    table: TableName,
    cells: Vec<Cell>,
    /// What the texts of the cells are parts of.
    text: Vec<u8>,
    /// The key whose value comes next, and what is before it in the name of its column.
    key: String,
    prefix: &'static str,
    more: Map<String, Value>,
}

/// A value of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cell {
    /// Null.
    Absent,
    /// Of [`ColumnKind::Integer`] and [`ColumnKind::Digest`]; of [`ColumnKind::Flag`] 0 or 1.
    Number(i64),
    /// Of [`ColumnKind::Text`] and, as JSON, [`ColumnKind::Nested`]: where it is in the texts of the row.
    Text(usize, usize),
}

impl Default for RecordRow {
    fn default() -> Self {
        Self {
            table: TableName::Runs,
            cells: Vec::new(),
            text: Vec::new(),
            key: String::new(),
            prefix: "",
            more: Map::new(),
        }
    }
}

impl RecordRow {
    /// Takes the values of a record of the type `kind`, number `sequence` of its run. Statement texts as sent (`literal`) are left out.
    ///
    /// # Errors
    /// When the record is no object.
    pub fn fill(&mut self, kind: &str, record: &impl Serialize, sequence: u64) -> Result<(), TableError> {
        self.table = TableName::of_record(kind);
        self.text.clear();
        self.cells.clear();
        self.cells.resize(self.table.columns().len(), Cell::Absent);
        self.set(SEQUENCE, Cell::Number(sequence.cast_signed()));
        if self.table == TableName::Runs {
            self.set_text(RECORD_TYPE, kind.as_bytes());
            self.set_json(RECORD, record)?;
        }
        record.serialize(Cells {
            row: self,
            target: Target::Record,
        })?;
        if !self.more.is_empty() {
            let more = std::mem::take(&mut self.more);
            self.set_json(self.cells.len() - 1, &more)?;
        }
        Ok(())
    }

    /// Which table it belongs to.
    pub const fn table(&self) -> TableName {
        self.table
    }

    /// The value of a column of numbers; absent where it is null, or the table has no such one.
    pub fn number(&self, name: &str) -> Option<i64> {
        match self.cell(name) {
            Cell::Number(value) => Some(value),
            _ => None,
        }
    }

    /// The value of a column of texts; absent where it is null, or the table has no such one.
    pub fn text(&self, name: &str) -> Option<&str> {
        match self.cell(name) {
            Cell::Text(begin, end) => self
                .text
                .get(begin..end)
                .and_then(|text| str::from_utf8(text).ok()),
            _ => None,
        }
    }

    fn cell(&self, name: &str) -> Cell {
        let columns = self.table.columns();
        let place = columns.iter().position(|column| column.name == name);
        place
            .and_then(|place| self.cells.get(place).copied())
            .unwrap_or(Cell::Absent)
    }

    /// Each value, with the text that it is where it is one.
    pub(crate) fn cells(&self) -> impl Iterator<Item = (Cell, &[u8])> {
        self.cells.iter().map(|cell| match cell {
            Cell::Text(begin, end) => (*cell, self.text.get(*begin..*end).unwrap_or_default()),
            _ => (*cell, &[][..]),
        })
    }

    fn set(&mut self, place: usize, cell: Cell) {
        if let Some(of_column) = self.cells.get_mut(place) {
            *of_column = cell;
        }
    }

    fn set_text(&mut self, place: usize, text: &[u8]) {
        let begin = self.text.len();
        self.text.extend_from_slice(text);
        self.set(place, Cell::Text(begin, self.text.len()));
    }

    fn set_json(&mut self, place: usize, value: &(impl Serialize + ?Sized)) -> Result<(), serde_json::Error> {
        let begin = self.text.len();
        serde_json::to_writer(&mut self.text, value)?;
        if self.text.get(begin..) != Some(b"null") {
            self.set(place, Cell::Text(begin, self.text.len()));
        }
        Ok(())
    }

    /// Takes the value of [`RecordRow::key`]; `expected` is the column after that of the key before, as keys mostly come in the order of columns. Gives
    /// the column after this one.
    fn take(
        &mut self,
        value: &(impl Serialize + ?Sized),
        expected: usize,
    ) -> Result<usize, serde_json::Error> {
        if LEFT_OUT.contains(&self.key.as_str()) {
            return Ok(expected);
        }
        if let Some(prefix) = self.table.prefix(&self.key).filter(|_| self.prefix.is_empty()) {
            self.prefix = prefix;
            let taken = value.serialize(Cells {
                row: self,
                target: Target::Record,
            });
            self.prefix = "";
            return taken.map(|()| expected);
        }
        let Some(place) = self.place(expected) else {
            self.take_more(value)?;
            return Ok(expected);
        };
        let columns = self.table.columns();
        if columns.get(place).map(|column| column.kind) == Some(ColumnKind::Nested) {
            self.set_json(place, value)?;
            return Ok(place + 1);
        }
        let target = Target::Column(place);
        if value.serialize(Cells { row: self, target }).is_err() {
            self.take_more(value)?;
        }
        Ok(place + 1)
    }

    fn take_more(&mut self, value: &(impl Serialize + ?Sized)) -> Result<(), serde_json::Error> {
        // Of other records the whole text is there.
        if self.table != TableName::Runs {
            let value = serde_json::to_value(value)?;
            if !value.is_null() {
                self.more.insert(format!("{}{}", self.prefix, self.key), value);
            }
        }
        Ok(())
    }

    /// The column of the key.
    fn place(&self, expected: usize) -> Option<usize> {
        let name = match self.key.as_str() {
            "protocol" => PROTOCOL,
            name => name,
        };
        if self.table == TableName::Runs && name != "at_ns" {
            return None;
        }
        let columns = self.table.columns();
        let own = OWN..columns.len() - 1;
        let has_name = |place: &usize| {
            let column = columns.get(*place).map(|column| column.name);
            column.and_then(|column| column.strip_prefix(self.prefix)) == Some(name)
        };
        (expected..own.end)
            .find(has_name)
            .or_else(|| (own.start..own.end).find(has_name))
    }
}

/// `protocol` is a folder's key: engines would find two columns of one name.
pub(crate) const PROTOCOL: &str = "protocol_name";

/// Keys that have no value in a row: the table has one type, its version is the file's, and literals stay out.
const LEFT_OUT: [&str; 3] = ["type", "schema", "literal"];

/// The column of a row's number, in all tables; that of the run is the file's alone.
pub(crate) const SEQUENCE: usize = 1;

/// The first column that is not in all tables.
const OWN: usize = 2;

/// Columns of [`TableName::Runs`].
const RECORD_TYPE: usize = 2;
pub(crate) const RECORD: usize = 4;
