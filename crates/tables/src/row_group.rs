//! Rows to row groups of a Parquet file, and back.

use crate::error::TableError;
use crate::row::{TableCell, TableRow};
use crate::schema::{ColumnKind, SCHEMA_VERSION, TableName};
use parquet::basic::{Compression, ConvertedType, Encoding, Repetition, Type as PhysicalType, ZstdLevel};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::{KeyValue, SortingColumn};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::reader::{ChunkReader, FileReader, SerializedFileReader};
use parquet::file::statistics::Statistics;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::record::Field;
use parquet::schema::types::{ColumnPath, Type};
use std::io::Write;
use std::sync::Arc;

/// Writes the rows of one table to one file.
pub struct TableWriter<W: Write + Send> {
    table: TableName,
    file: SerializedFileWriter<W>,
}

impl<W: Write + Send> TableWriter<W> {
    /// Begins a file.
    ///
    /// # Errors
    /// When `out` fails.
    pub fn new(table: TableName, out: W) -> Result<Self, TableError> {
        let file = SerializedFileWriter::new(out, schema(table)?, Arc::new(properties(table)?))?;
        Ok(Self { table, file })
    }

    /// Writes rows of this table as one row group, sorted. It holds all of them until then.
    ///
    /// # Errors
    /// When `out` fails.
    pub fn write(&mut self, mut rows: Vec<TableRow>) -> Result<(), TableError> {
        if rows.is_empty() {
            return Ok(());
        }
        let places = sorted_places(self.table);
        rows.sort_by(|one, other| one.order(other, &places));
        let mut group = self.file.next_row_group()?;
        for (place, column) in self.table.columns().into_iter().enumerate() {
            let Some(mut out) = group.next_column()? else {
                break;
            };
            write_column(&mut out, column.kind, &rows, place)?;
            out.close()?;
        }
        group.close()?;
        Ok(())
    }

    /// Bytes written so far.
    pub fn bytes(&self) -> u64 {
        u64::try_from(self.file.bytes_written()).unwrap_or(u64::MAX)
    }

    /// Completes the file and gives back what it was written to.
    ///
    /// # Errors
    /// When `out` fails.
    pub fn finish(self) -> Result<W, TableError> {
        Ok(self.file.into_inner()?)
    }
}

fn write_column(
    out: &mut SerializedColumnWriter<'_>,
    kind: ColumnKind,
    rows: &[TableRow],
    place: usize,
) -> Result<(), ParquetError> {
    let cells = || rows.iter().filter_map(|row| row.cells.get(place));
    match kind {
        ColumnKind::Integer => values::<Int64Type>(out, cells(), |cell| match cell {
            TableCell::Integer(value) => Some(*value),
            _ => None,
        }),
        ColumnKind::Flag => values::<BoolType>(out, cells(), |cell| match cell {
            TableCell::Flag(value) => Some(*value),
            _ => None,
        }),
        ColumnKind::Text | ColumnKind::Nested => values::<ByteArrayType>(out, cells(), |cell| match cell {
            TableCell::Text(text) => Some(ByteArray::from(text.as_str())),
            _ => None,
        }),
    }
}

fn values<'c, T: DataType>(
    out: &mut SerializedColumnWriter<'_>,
    cells: impl Iterator<Item = &'c TableCell>,
    value: impl Fn(&TableCell) -> Option<T::T>,
) -> Result<(), ParquetError> {
    let mut present = Vec::new();
    let mut levels = Vec::new();
    for cell in cells {
        let value = value(cell);
        levels.push(i16::from(value.is_some()));
        present.extend(value);
    }
    out.typed::<T>().write_batch(&present, Some(&levels), None)?;
    Ok(())
}

fn schema(table: TableName) -> Result<Arc<Type>, ParquetError> {
    let fields = table.columns().into_iter().map(|column| {
        let (physical, converted) = match column.kind {
            ColumnKind::Integer => (PhysicalType::INT64, ConvertedType::NONE),
            ColumnKind::Flag => (PhysicalType::BOOLEAN, ConvertedType::NONE),
            ColumnKind::Text | ColumnKind::Nested => (PhysicalType::BYTE_ARRAY, ConvertedType::UTF8),
        };
        let field = Type::primitive_type_builder(column.name, physical)
            .with_repetition(Repetition::OPTIONAL)
            .with_converted_type(converted)
            .build()?;
        Ok(Arc::new(field))
    });
    let fields = fields.collect::<Result<_, ParquetError>>()?;
    Ok(Arc::new(
        Type::group_type_builder(table.name())
            .with_fields(fields)
            .build()?,
    ))
}

fn sorted_places(table: TableName) -> Vec<usize> {
    let columns = table.columns();
    let place = |name: &&str| columns.iter().position(|column| column.name == *name);
    table.sorted_by().iter().filter_map(place).collect()
}

fn properties(table: TableName) -> Result<WriterProperties, ParquetError> {
    let sorted = sorted_places(table).into_iter().map(|place| SortingColumn {
        column_idx: i32::try_from(place).unwrap_or(i32::MAX),
        descending: false,
        nulls_first: true,
    });
    let mut properties = WriterProperties::builder()
        .set_created_by(format!("longwire {}", env!("CARGO_PKG_VERSION")))
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(ZSTD_LEVEL)?))
        .set_statistics_enabled(EnabledStatistics::Page)
        .set_data_page_row_count_limit(ROWS_OF_PAGE)
        .set_sorting_columns(Some(sorted.collect()))
        .set_key_value_metadata(Some(vec![KeyValue::new(
            SCHEMA_KEY.to_owned(),
            SCHEMA_VERSION.to_string(),
        )]));
    for column in table.columns() {
        // Times hardly repeat: a dictionary of them would only be given up again.
        if column.kind == ColumnKind::Integer && (column.name.ends_with("_ns") || column.name == "sequence") {
            let path = ColumnPath::from(column.name);
            properties = properties
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
        }
    }
    Ok(properties.build())
}

const SCHEMA_KEY: &str = "longwire.schema";

const ZSTD_LEVEL: i32 = 3;

/// So that the statistics of pages tell which of them hold a statement.
const ROWS_OF_PAGE: usize = 4096;

/// Reads a file of a table.
pub struct TableReader<R: ChunkReader> {
    table: TableName,
    file: SerializedFileReader<R>,
}

impl<R: ChunkReader + 'static> TableReader<R> {
    /// Reads where the row groups are.
    ///
    /// # Errors
    /// When it is no whole Parquet file, or one of another schema.
    pub fn new(table: TableName, input: R) -> Result<Self, TableError> {
        let file = SerializedFileReader::new(input)?;
        let metadata = file.metadata().file_metadata().key_value_metadata();
        let mut versions = metadata
            .into_iter()
            .flatten()
            .filter(|entry| entry.key == SCHEMA_KEY);
        let found = versions.next().and_then(|entry| entry.value.clone());
        if found.as_deref() != Some(SCHEMA_VERSION.to_string().as_str()) {
            return Err(TableError::Schema {
                found: found.unwrap_or_default(),
            });
        }
        Ok(Self { table, file })
    }

    /// The lowest number of a row in each row group.
    pub fn begins(&self) -> Vec<u64> {
        let groups = self.file.metadata().row_groups().iter();
        groups
            .map(
                |group| match group.columns().get(1).and_then(|column| column.statistics()) {
                    Some(Statistics::Int64(statistics)) => {
                        statistics.min_opt().map_or(0, |min| min.cast_unsigned())
                    }
                    _ => 0,
                },
            )
            .collect()
    }

    /// The rows of a row group, by its number from 0.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn rows(&self, group: usize) -> Result<Vec<TableRow>, TableError> {
        let group = self.file.get_row_group(group)?;
        let columns = self.table.columns();
        let mut rows = Vec::new();
        for row in group.get_row_iter(None)? {
            let mut cells = vec![TableCell::Absent; columns.len()];
            for (name, field) in row?.into_columns() {
                let place = columns.iter().position(|column| column.name == name);
                if let Some(cell) = place.and_then(|place| cells.get_mut(place)) {
                    *cell = cell_of(field);
                }
            }
            rows.push(TableRow {
                table: self.table,
                cells,
            });
        }
        Ok(rows)
    }
}

fn cell_of(field: Field) -> TableCell {
    match field {
        Field::Long(value) => TableCell::Integer(value),
        Field::Bool(value) => TableCell::Flag(value),
        Field::Str(text) => TableCell::Text(text),
        _ => TableCell::Absent,
    }
}
