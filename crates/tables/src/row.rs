//! A record as a row, without the text of its line in between.

use crate::error::TableError;
use crate::schema::{ColumnKind, TableName};
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

mod cells;

use cells::{Cells, Target};

/// The values of a record in the columns of its table. Filled again for the next one: it allocates nothing
/// then.
#[derive(Debug)]
pub struct RecordRow {
    table: TableName,
    cells: Vec<Cell>,
    /// What the texts of the cells are parts of.
    text: Vec<u8>,
    /// The key of a map whose value comes next.
    key: String,
    /// What is before keys in the names of their columns.
    prefix: &'static str,
    /// The keys of this table that were met before, in their order, and which of them should be next.
    known: Vec<KnownKey>,
    next: usize,
    /// Those of all tables.
    known_of: BTreeMap<TableName, Vec<KnownKey>>,
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
            known: Vec::new(),
            next: 0,
            known_of: BTreeMap::new(),
            more: Map::new(),
        }
    }
}

impl RecordRow {
    /// Takes the values of a record of the type `kind`, number `sequence` of its run: `keys` are what it has
    /// besides type and schema, `line` is all of it. Statement texts as sent (`literal`) are left out.
    ///
    /// # Errors
    /// When the record is no object.
    pub fn fill(
        &mut self,
        kind: &'static str,
        keys: &impl Serialize,
        line: &impl Serialize,
        sequence: u64,
    ) -> Result<(), TableError> {
        self.table = TableName::of_record(kind);
        self.text.clear();
        self.cells.clear();
        self.cells.resize(self.table.columns().len(), Cell::Absent);
        self.set(SEQUENCE, Cell::Number(sequence.cast_signed()));
        if self.table == TableName::Runs {
            self.set_text(RECORD_TYPE, kind.as_bytes());
            self.set_json(RECORD, line)?;
        }
        self.known = self.known_of.remove(&self.table).unwrap_or_default();
        self.next = 0;
        let filled = keys.serialize(Cells {
            row: self,
            target: Target::Record,
        });
        self.known_of.insert(self.table, std::mem::take(&mut self.known));
        filled?;
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

    /// The value of a column of numbers; `None` if it is null, or the table has no such one.
    pub fn number(&self, name: &str) -> Option<i64> {
        match self.cell(name) {
            Cell::Number(value) => Some(value),
            _ => None,
        }
    }

    /// The value of a column of texts; `None` if it is null, or the table has no such one.
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

    /// Takes the value of a key of the record. Keys of a type come in the same order each time, so that the
    /// next one is mostly known to be next.
    fn take_known(
        &mut self,
        key: &'static str,
        value: &(impl Serialize + ?Sized),
    ) -> Result<(), serde_json::Error> {
        let is_it = |known: &KnownKey| std::ptr::eq(known.key, key) && known.prefix == self.prefix;
        let from_here = self.known.get(self.next..).unwrap_or_default();
        let place = match from_here.iter().position(is_it) {
            Some(place) => self.next + place,
            None => self.known.iter().position(is_it).unwrap_or_else(|| {
                let known = KnownKey {
                    prefix: self.prefix,
                    key,
                    meaning: self.meaning(key),
                };
                self.known.insert(self.next, known);
                self.next
            }),
        };
        self.next = place + 1;
        let known = self.known.get(place);
        self.take_value(key, known.map_or(KeyMeaning::More, |known| known.meaning), value)
    }

    /// What becomes of the value of a key.
    fn meaning(&self, key: &str) -> KeyMeaning {
        let name = match key {
            "literal" => return KeyMeaning::LeftOut,
            "protocol" => PROTOCOL,
            key => key,
        };
        if let Some(prefix) = self.table.prefix(key).filter(|_| self.prefix.is_empty()) {
            return KeyMeaning::Object(prefix);
        }
        // Of other records the whole text is there.
        if self.table == TableName::Runs {
            return match name {
                "at_ns" => KeyMeaning::Column(AT_OF_RUNS),
                _ => KeyMeaning::LeftOut,
            };
        }
        let columns = self.table.columns();
        let mut own = OWN..columns.len() - 1;
        let column = own.find(|place| {
            let column = columns.get(*place).map(|column| column.name);
            column.and_then(|column| column.strip_prefix(self.prefix)) == Some(name)
        });
        match column.and_then(|place| Some((place, columns.get(place)?.kind))) {
            Some((place, ColumnKind::Nested)) => KeyMeaning::Json(place),
            Some((place, _)) => KeyMeaning::Column(place),
            None => KeyMeaning::More,
        }
    }

    fn take_value(
        &mut self,
        key: &str,
        meaning: KeyMeaning,
        value: &(impl Serialize + ?Sized),
    ) -> Result<(), serde_json::Error> {
        match meaning {
            KeyMeaning::LeftOut => Ok(()),
            KeyMeaning::More => self.take_more(key, value),
            KeyMeaning::Json(place) => self.set_json(place, value),
            KeyMeaning::Column(place) => {
                let target = Target::Column(place);
                let taken = value.serialize(Cells { row: self, target });
                taken.or_else(|_| self.take_more(key, value))
            }
            KeyMeaning::Object(prefix) => {
                self.prefix = prefix;
                let target = Target::Record;
                let taken = value.serialize(Cells { row: self, target });
                self.prefix = "";
                taken
            }
        }
    }

    fn take_more(&mut self, key: &str, value: &(impl Serialize + ?Sized)) -> Result<(), serde_json::Error> {
        let value = serde_json::to_value(value)?;
        if !value.is_null() {
            self.more.insert(format!("{}{key}", self.prefix), value);
        }
        Ok(())
    }
}

/// A key, and what is before it in the name of its column.
#[derive(Debug)]
struct KnownKey {
    prefix: &'static str,
    key: &'static str,
    meaning: KeyMeaning,
}

/// What becomes of the value of a key.
#[derive(Debug, Clone, Copy)]
enum KeyMeaning {
    /// Nothing.
    LeftOut,
    /// It goes to this column.
    Column(usize),
    /// It goes to this column as JSON.
    Json(usize),
    /// Its keys have columns whose names begin with this.
    Object(&'static str),
    /// There is no column for it.
    More,
}

/// `protocol` is a folder's key: engines would find two columns of one name.
pub(crate) const PROTOCOL: &str = "protocol_name";

/// The column of a row's number, in all tables; that of the run is the file's alone.
pub(crate) const SEQUENCE: usize = 1;

/// The first column that is not in all tables.
const OWN: usize = 2;

/// Columns of [`TableName::Runs`].
const RECORD_TYPE: usize = 2;
const AT_OF_RUNS: usize = 3;
pub(crate) const RECORD: usize = 4;
