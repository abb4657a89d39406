//! Reads row groups of a Parquet file, and turns rows into their original lines.

use crate::error::Error;
use crate::nullable::NullableValues;
use crate::row::{PROTOCOL, RECORD, SEQUENCE};
use crate::rows::{ColumnValues, TableRows, TextValues};
use crate::schema::{ColumnKind, SCHEMA_KEY, SCHEMA_VERSION, TableColumn, TableName};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, FileReader, RowGroupReader, SerializedFileReader};
use parquet::file::statistics::Statistics;

pub struct TableReader<R: ChunkReader> {
    table: TableName,
    file: SerializedFileReader<R>,
    places: Vec<Option<usize>>,
}

impl<R: ChunkReader + 'static> TableReader<R> {
    /// Reads the positions of row groups.
    ///
    /// # Errors
    /// If it is not a complete Parquet file, or has another schema.
    pub fn new(table: TableName, input: R) -> Result<Self, Error> {
        let file = SerializedFileReader::new(input)?;
        let metadata = file.metadata().file_metadata();
        let mut versions = metadata
            .key_value_metadata()
            .into_iter()
            .flatten()
            .filter(|entry| entry.key == SCHEMA_KEY);
        let found = versions.next().and_then(|entry| entry.value.clone());
        let found = found.ok_or(Error::Foreign)?;
        if found != SCHEMA_VERSION.to_string() {
            return Err(Error::Schema { found });
        }
        let of_file = metadata.schema_descr().columns();
        let place = |column: &TableColumn| of_file.iter().position(|found| found.name() == column.name);
        let places = table.columns().iter().map(place).collect();
        Ok(Self { table, file, places })
    }

    /// Lowest row number of each row group.
    pub fn begins(&self) -> Vec<u64> {
        let place = self.places.get(SEQUENCE).copied().flatten();
        let groups = self.file.metadata().row_groups().iter();
        groups
            .map(|group| {
                let column = place.and_then(|place| group.columns().get(place));
                match column.and_then(|column| column.statistics()) {
                    Some(Statistics::Int64(statistics)) => {
                        statistics.min_opt().map_or(0, |min| min.cast_unsigned())
                    }
                    _ => 0,
                }
            })
            .collect()
    }

    /// Reads a row group completely, by its number from 0.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn rows(&self, group: usize) -> Result<TableRows, Error> {
        let group = self.file.get_row_group(group)?;
        let count = usize::try_from(group.metadata().num_rows()).unwrap_or_default();
        let columns = self.table.columns().iter().zip(&self.places);
        let columns = columns.map(|(column, place)| read_column(&*group, column, *place, count));
        Ok(TableRows::of_columns(
            self.table,
            columns.collect::<Result<_, ParquetError>>()?,
            count,
        ))
    }
}

/// Null if the file has no such column.
fn read_column(
    group: &dyn RowGroupReader,
    column: &TableColumn,
    place: Option<usize>,
    count: usize,
) -> Result<ColumnValues, ParquetError> {
    let reader = place.map(|place| group.get_column_reader(place)).transpose()?;
    match (column.kind, reader) {
        (ColumnKind::Integer | ColumnKind::Digest, Some(ColumnReader::Int64ColumnReader(reader))) => {
            let values = spread(reader, count, |value| *value)?;
            Ok(ColumnValues::Numbers(values.into_iter().collect()))
        }
        (ColumnKind::Flag, Some(ColumnReader::BoolColumnReader(reader))) => {
            let values = spread(reader, count, |value| i64::from(*value))?;
            Ok(ColumnValues::Numbers(values.into_iter().collect()))
        }
        (ColumnKind::Text | ColumnKind::Nested, Some(ColumnReader::ByteArrayColumnReader(reader))) => {
            let mut texts = TextValues::default();
            for text in spread(reader, count, ByteArray::clone)? {
                texts.push(text.as_ref().map(ByteArray::data));
            }
            Ok(ColumnValues::Texts(texts))
        }
        (ColumnKind::Integer | ColumnKind::Flag | ColumnKind::Digest, None) => {
            Ok(ColumnValues::Numbers(NullableValues::default()))
        }
        (ColumnKind::Text | ColumnKind::Nested, None) => Ok(ColumnValues::Texts(TextValues::default())),
        _ => Err(ParquetError::General(format!(
            "the column {} has values of another kind",
            column.name
        ))),
    }
}

/// A column stores only non-null values.
fn spread<T: DataType, V>(
    mut reader: ColumnReaderImpl<T>,
    count: usize,
    value: impl Fn(&T::T) -> V,
) -> Result<Vec<Option<V>>, ParquetError> {
    let (mut levels, mut values) = (Vec::new(), Vec::new());
    while levels.len() < count {
        let (records, ..) =
            reader.read_records(count - levels.len(), Some(&mut levels), None, &mut values)?;
        if records == 0 {
            return Err(ParquetError::EOF(
                "a column has fewer values than rows".to_owned(),
            ));
        }
    }
    let mut values = values.iter();
    let each = levels.iter().map(|level| match level {
        0 => None,
        _ => values.next().map(&value),
    });
    Ok(each.collect())
}

impl TableRows {
    /// Writes the original line of a row, with its keys.
    pub fn line(&self, row: usize, line: &mut Vec<u8>) {
        let Some(kind) = self.table().record() else {
            line.extend_from_slice(
                self.columns
                    .get(RECORD)
                    .and_then(|values| values.text(row))
                    .unwrap_or_default(),
            );
            return;
        };
        line.extend_from_slice(br#"{"type":""#);
        line.extend_from_slice(kind.as_bytes());
        line.extend_from_slice(br#"","schema":1"#);
        let mut object = None;
        for (column, values) in self
            .table()
            .columns()
            .iter()
            .zip(&self.columns)
            .skip(SEQUENCE + 1)
        {
            let (number, text) = match (values.number(row), values.text(row)) {
                (None, None) => continue,
                (number, text) => (number, text.unwrap_or_default()),
            };
            let (of_object, key) = column.key();
            if object != of_object && object.is_some() {
                line.push(b'}');
            }
            line.push(b',');
            if let Some(name) = of_object.filter(|_| object != of_object) {
                line.extend_from_slice(format!("\"{name}\":{{").as_bytes());
            }
            object = of_object;
            match (key, number) {
                // Additional keys, without the braces.
                ("more", _) => {
                    line.extend_from_slice(text.get(1..text.len().saturating_sub(1)).unwrap_or_default())
                }
                (key, Some(number)) => {
                    name(line, key);
                    number_value(line, column.kind, number);
                }
                (key, None) => {
                    name(line, key);
                    text_value(line, column.kind, text);
                }
            }
        }
        if object.is_some() {
            line.push(b'}');
        }
        line.push(b'}');
    }
}

fn name(line: &mut Vec<u8>, key: &str) {
    let key = if key == PROTOCOL { "protocol" } else { key };
    line.push(b'"');
    line.extend_from_slice(key.as_bytes());
    line.extend_from_slice(b"\":");
}

fn number_value(line: &mut Vec<u8>, kind: ColumnKind, number: i64) {
    match (kind, number) {
        (ColumnKind::Flag, 0) => line.extend_from_slice(b"false"),
        (ColumnKind::Flag, _) => line.extend_from_slice(b"true"),
        (ColumnKind::Digest, half) => {
            line.extend_from_slice(format!("\"{:016x}\"", half.cast_unsigned() << 32).as_bytes());
        }
        _ => line.extend_from_slice(number.to_string().as_bytes()),
    }
}

fn text_value(line: &mut Vec<u8>, kind: ColumnKind, text: &[u8]) {
    if kind == ColumnKind::Nested {
        return line.extend_from_slice(text);
    }
    let text = serde_json::Value::String(String::from_utf8_lossy(text).into_owned());
    line.extend_from_slice(text.to_string().as_bytes());
}

impl ColumnValues {
    fn number(&self, row: usize) -> Option<i64> {
        match self {
            Self::Numbers(values) => values.get(row),
            Self::Texts(_) => None,
        }
    }

    fn text(&self, row: usize) -> Option<&[u8]> {
        match self {
            Self::Numbers(_) => None,
            Self::Texts(values) => {
                let position = values.positions.get(row)?;
                values.texts.get(position as usize).map(AsRef::as_ref)
            }
        }
    }
}
