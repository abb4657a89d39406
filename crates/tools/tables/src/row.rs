//! A record as a row, without intermediate text.

use crate::error::Error;
use crate::schema::{ColumnKind, TableName};
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

mod cells;

use cells::{Cells, Target};

/// A record's values in the columns of its table. Refilling it allocates no memory.
#[derive(Debug)]
pub struct RecordRow {
    table: TableName,
    cells: Vec<Cell>,
    text: Vec<u8>,
    key: String,
    prefix: &'static str,
    /// To predict the next key.
    known: Vec<KnownKey>,
    next: usize,
    known_of: BTreeMap<TableName, Vec<KnownKey>>,
    more: Map<String, Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cell {
    Absent,
    /// Of [`ColumnKind::Integer`] and [`ColumnKind::Digest`]; of [`ColumnKind::Flag`] 0 or 1.
    Number(i64),
    /// Position in the row's texts, of [`ColumnKind::Text`] and, as JSON, [`ColumnKind::Nested`].
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
    /// Fills in a record of type `kind`, number `sequence` of its run: `keys` are its keys besides
    /// type and schema, `line` is all of it. Literal statement texts (`literal`) are left out.
    ///
    /// # Errors
    /// If the record is not an object.
    pub fn fill(
        &mut self,
        kind: &'static str,
        keys: &impl Serialize,
        line: &impl Serialize,
        sequence: u64,
    ) -> Result<(), Error> {
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

    pub const fn table(&self) -> TableName {
        self.table
    }

    /// Value of a numeric column; `None` if it is null, or the table has no such column.
    pub fn number(&self, name: &str) -> Option<i64> {
        let Cell::Number(value) = self.cell(name) else {
            return None;
        };
        Some(value)
    }

    /// Value of a text column; `None` if it is null, or the table has no such column.
    pub fn text(&self, name: &str) -> Option<&str> {
        let Cell::Text(begin, end) = self.cell(name) else {
            return None;
        };
        str::from_utf8(self.text.get(begin..end)?).ok()
    }

    fn cell(&self, name: &str) -> Cell {
        let columns = self.table.columns();
        let place = columns.iter().position(|column| column.name == name);
        place
            .and_then(|place| self.cells.get(place).copied())
            .unwrap_or(Cell::Absent)
    }

    pub(crate) fn cells(&self) -> impl Iterator<Item = (Cell, &[u8])> {
        self.cells.iter().map(|cell| match cell {
            Cell::Text(begin, end) => (*cell, self.text.get(*begin..*end).unwrap_or_default()),
            Cell::Absent | Cell::Number(_) => (*cell, &[][..]),
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

    /// Stores the value of a key. Keys of a type have a constant order, so the next one is usually
    /// predicted.
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

    fn meaning(&self, key: &str) -> KeyMeaning {
        let name = match key {
            "literal" => return KeyMeaning::LeftOut,
            "protocol" => PROTOCOL,
            key => key,
        };
        if let Some(prefix) = self.table.prefix(key).filter(|_| self.prefix.is_empty()) {
            return KeyMeaning::Object(prefix);
        }
        // The whole text of other records is stored.
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

#[derive(Debug)]
struct KnownKey {
    prefix: &'static str,
    key: &'static str,
    meaning: KeyMeaning,
}

#[derive(Debug, Clone, Copy)]
enum KeyMeaning {
    LeftOut,
    Column(usize),
    Json(usize),
    /// The names of its keys' columns begin with this.
    Object(&'static str),
    More,
}

/// `protocol` is a folder's key: engines would find two columns of one name.
pub(crate) const PROTOCOL: &str = "protocol_name";

/// Column of the row number, in all tables. The run's column exists in files only.
pub(crate) const SEQUENCE: usize = 1;

const OWN: usize = 2;

const RECORD_TYPE: usize = 2;
const AT_OF_RUNS: usize = 3;
pub(crate) const RECORD: usize = 4;
