//! Rows of one table, by column.

use crate::nullable::NullableValues;
use crate::row::{Cell, RecordRow, SEQUENCE};
use crate::schema::{ColumnKind, TableName};
use std::collections::HashMap;
use std::sync::Arc;

/// Rows that wait for a row group, or were read from one. Equal texts of a column are stored once.
#[derive(Debug, Clone)]
pub struct TableRows {
    table: TableName,
    pub(crate) columns: Vec<ColumnValues>,
    count: usize,
}

#[derive(Debug, Clone)]
pub(crate) enum ColumnValues {
    /// Integers, and flags as 0 or 1.
    Numbers(NullableValues<i64>),
    Texts(TextValues),
}

#[derive(Debug, Clone, Default)]
pub(crate) struct TextValues {
    pub(crate) positions: NullableValues<u32>,
    pub(crate) texts: Vec<Arc<[u8]>>,
    known: HashMap<Arc<[u8]>, u32>,
    bytes: usize,
}

impl TableRows {
    pub fn new(table: TableName) -> Self {
        let columns = table.columns().iter().map(|column| match column.kind {
            ColumnKind::Integer | ColumnKind::Flag | ColumnKind::Digest => {
                ColumnValues::Numbers(NullableValues::default())
            }
            ColumnKind::Text | ColumnKind::Nested => ColumnValues::Texts(TextValues::default()),
        });
        Self {
            table,
            columns: columns.collect(),
            count: 0,
        }
    }

    pub(crate) fn of_columns(table: TableName, columns: Vec<ColumnValues>, count: usize) -> Self {
        Self {
            table,
            columns,
            count,
        }
    }

    pub const fn table(&self) -> TableName {
        self.table
    }

    pub const fn count(&self) -> usize {
        self.count
    }

    pub fn text_bytes(&self) -> usize {
        let texts = self.columns.iter().map(|values| match values {
            ColumnValues::Numbers(_) => 0,
            ColumnValues::Texts(texts) => texts.bytes,
        });
        texts.sum()
    }

    /// `row` must be of this table.
    pub fn push(&mut self, row: &RecordRow) {
        debug_assert_eq!(row.table(), self.table, "a row of its table");
        for (values, (cell, text)) in self.columns.iter_mut().zip(row.cells()) {
            match (values, cell) {
                (ColumnValues::Numbers(values), Cell::Number(value)) => values.push(Some(value)),
                (ColumnValues::Numbers(values), _) => values.push(None),
                (ColumnValues::Texts(values), Cell::Text(..)) => values.push(Some(text)),
                (ColumnValues::Texts(values), _) => values.push(None),
            }
        }
        self.count += 1;
    }

    pub fn sequence(&self, row: usize) -> u64 {
        match self.columns.get(SEQUENCE) {
            Some(ColumnValues::Numbers(values)) => values.get(row).map_or(0, i64::cast_unsigned),
            _ => 0,
        }
    }

    pub(crate) fn order(&self) -> Vec<u32> {
        let columns = self.table.columns();
        let keys: Vec<Vec<u64>> = self
            .table
            .sorted_by()
            .iter()
            .filter_map(|name| columns.iter().position(|column| column.name == *name))
            .filter_map(|place| self.columns.get(place))
            .map(|values| values.sort_keys(self.count))
            .collect();
        let keys_of = |row: u32| {
            let mut all = [0; MAX_KEYS];
            for (key, values) in all.iter_mut().zip(&keys) {
                *key = values.get(row as usize).copied().unwrap_or_default();
            }
            all
        };
        let count = u32::try_from(self.count).unwrap_or(u32::MAX);
        let mut rows: Vec<([u64; MAX_KEYS], u32)> = (0..count).map(|row| (keys_of(row), row)).collect();
        rows.sort_unstable();
        rows.into_iter().map(|(_, row)| row).collect()
    }
}

impl ColumnValues {
    /// Null comes first in the order.
    fn sort_keys(&self, count: usize) -> Vec<u64> {
        match self {
            Self::Numbers(values) => {
                let key = |value: i64| (value.cast_unsigned() ^ SIGN).saturating_add(1);
                (0..count).map(|row| values.get(row).map_or(0, key)).collect()
            }
            Self::Texts(values) => {
                let ranks = values.ranks();
                let rank = |position: u32| ranks.get(position as usize).copied().unwrap_or_default();
                let positions = (0..count).map(|row| values.positions.get(row));
                positions.map(|position| position.map_or(0, rank)).collect()
            }
        }
    }
}

impl TextValues {
    pub(crate) fn push(&mut self, text: Option<&[u8]>) {
        let position = text.map(|text| self.position(text));
        self.positions.push(position);
    }

    fn position(&mut self, text: &[u8]) -> u32 {
        // Usually equal to the previous row's.
        let last = self.positions.last();
        if let Some(last) = last.filter(|last| {
            self.texts
                .get(*last as usize)
                .is_some_and(|known| **known == *text)
        }) {
            return last;
        }
        if let Some(known) = self.known.get(text) {
            return *known;
        }
        let text: Arc<[u8]> = Arc::from(text);
        let position = u32::try_from(self.texts.len()).unwrap_or(u32::MAX);
        self.bytes += text.len();
        self.texts.push(Arc::clone(&text));
        self.known.insert(text, position);
        position
    }

    fn ranks(&self) -> Vec<u64> {
        let mut places: Vec<usize> = (0..self.texts.len()).collect();
        places.sort_unstable_by_key(|place| self.texts.get(*place));
        let mut ranks = vec![0; places.len()];
        for (rank, place) in (1..).zip(places) {
            if let Some(of_text) = ranks.get_mut(place) {
                *of_text = rank;
            }
        }
        ranks
    }
}

const MAX_KEYS: usize = 3;

/// Maps the order of signed numbers to that of unsigned ones.
const SIGN: u64 = 1 << 63;
