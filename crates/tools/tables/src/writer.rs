//! Writes rows as row groups of a Parquet file.

use crate::error::Error;
use crate::rows::{ColumnValues, TableRows};
use crate::schema::{ColumnKind, SCHEMA_KEY, SCHEMA_VERSION, TableColumn, TableName};
use parquet::basic::{Compression, ConvertedType, Encoding, Repetition, Type as PhysicalType, ZstdLevel};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::{KeyValue, SortingColumn};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{ColumnPath, Type};
use std::io::Write;
use std::sync::Arc;

pub struct TableWriter<W: Write + Send> {
    table: TableName,
    run: ByteArray,
    file: SerializedFileWriter<W>,
}

impl<W: Write + Send> TableWriter<W> {
    /// Begins a file of rows of `run`.
    ///
    /// # Errors
    /// If `out` fails.
    pub fn new(table: TableName, run: &str, out: W) -> Result<Self, Error> {
        let file = SerializedFileWriter::new(out, schema(table)?, Arc::new(properties(table)?))?;
        Ok(Self {
            table,
            run: ByteArray::from(run),
            file,
        })
    }

    /// Writes rows of this table as one row group, sorted.
    ///
    /// # Errors
    /// If `out` fails.
    pub fn write(&mut self, rows: &TableRows) -> Result<(), Error> {
        if rows.count() == 0 {
            return Ok(());
        }
        let order = rows.order();
        let mut group = self.file.next_row_group()?;
        for (place, (column, values)) in self.table.columns().iter().zip(&rows.columns).enumerate() {
            let Some(mut out) = group.next_column()? else {
                break;
            };
            match place {
                0 => {
                    let runs = vec![self.run.clone(); order.len()];
                    let levels = vec![1; order.len()];
                    out.typed::<ByteArrayType>()
                        .write_batch(&runs, Some(&levels), None)?;
                }
                _ => write_column(&mut out, column, values, &order)?,
            }
            out.close()?;
        }
        group.close()?;
        Ok(())
    }

    pub fn bytes(&self) -> u64 {
        u64::try_from(self.file.bytes_written()).unwrap_or(u64::MAX)
    }

    /// Completes the file and returns the underlying writer.
    ///
    /// # Errors
    /// If `out` fails.
    pub fn finish(self) -> Result<W, Error> {
        Ok(self.file.into_inner()?)
    }
}

fn write_column(
    out: &mut SerializedColumnWriter<'_>,
    column: &TableColumn,
    values: &ColumnValues,
    order: &[u32],
) -> Result<(), ParquetError> {
    match (values, column.kind) {
        (ColumnValues::Numbers(values), ColumnKind::Flag) => {
            write_values::<BoolType>(out, order, |row| values.get(row).map(|value| value != 0))
        }
        (ColumnValues::Numbers(values), _) => write_values::<Int64Type>(out, order, |row| values.get(row)),
        (ColumnValues::Texts(values), _) => {
            let texts = values.texts.iter().map(|text| ByteArray::from(text.to_vec()));
            let texts: Vec<ByteArray> = texts.collect();
            write_values::<ByteArrayType>(out, order, |row| {
                texts.get(values.positions.get(row)? as usize).cloned()
            })
        }
    }
}

fn write_values<T: DataType>(
    out: &mut SerializedColumnWriter<'_>,
    order: &[u32],
    value: impl Fn(usize) -> Option<T::T>,
) -> Result<(), ParquetError> {
    let mut present = Vec::new();
    let mut levels = Vec::with_capacity(order.len());
    for row in order {
        let value = value(*row as usize);
        levels.push(i16::from(value.is_some()));
        present.extend(value);
    }
    out.typed::<T>().write_batch(&present, Some(&levels), None)?;
    Ok(())
}

fn schema(table: TableName) -> Result<Arc<Type>, ParquetError> {
    let fields = table.columns().iter().map(|column| {
        let (physical, converted) = match column.kind {
            ColumnKind::Integer | ColumnKind::Digest => (PhysicalType::INT64, ConvertedType::NONE),
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

fn properties(table: TableName) -> Result<WriterProperties, ParquetError> {
    let columns = table.columns();
    let place = |name: &&str| columns.iter().position(|column| column.name == *name);
    let sorted = table
        .sorted_by()
        .iter()
        .filter_map(place)
        .map(|place| SortingColumn {
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
    for column in columns {
        let path = ColumnPath::from(column.name);
        properties = match (column.name, column.kind) {
            // Ascending without repetitions.
            ("at_ns" | "sequence", _) => properties
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED),
            // A dictionary is small if time stamps have microseconds; otherwise it is given up at
            // once.
            (_, ColumnKind::Integer) => properties
                .set_column_dictionary_page_size_limit(path.clone(), DICTIONARY_OF_NUMBERS)
                .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED),
            (_, ColumnKind::Digest) => properties.set_column_dictionary_enabled(path, false),
            _ => properties,
        };
    }
    Ok(properties.build())
}

/// In bytes, for 8,192 numbers.
const DICTIONARY_OF_NUMBERS: usize = 64 << 10;

const ZSTD_LEVEL: i32 = 3;

/// Page statistics then show which pages hold a statement.
const ROWS_OF_PAGE: usize = 4096;
