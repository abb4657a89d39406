//! Records as rows of Parquet files, and back. `docs/export.md` describes the tables for their readers.
//!
//! [`schema`] has the tables and their columns, [`row`] takes the values of a record (as `docs/output.md` has
//! it), [`rows`] holds those of many, [`writer`] writes them as row groups of a file, [`reader`] reads these
//! and makes lines of them, [`date`] has the day of a partition.

pub mod date;
mod error;
mod nullable;
pub mod reader;
pub mod row;
pub mod rows;
pub mod schema;
pub mod writer;

pub use error::TableError;
pub use reader::TableReader;
pub use row::RecordRow;
pub use rows::TableRows;
pub use schema::{ColumnKind, SCHEMA_VERSION, TableColumn, TableName};
pub use writer::TableWriter;
