//! Records as rows of Parquet files, and back. `docs/parquet.md` describes the tables for their readers.
//!
//! [`schema`] has the tables and their columns, [`row`] turns a line (a record as `docs/output.md` has it) into a row and back,
//! [`row_group`] writes and reads the rows of a file, [`date`] has the day of a partition.

pub mod date;
mod error;
pub mod row;
pub mod row_group;
pub mod schema;

pub use error::TableError;
pub use row::{TableCell, TableRow};
pub use row_group::{TableReader, TableWriter};
pub use schema::{ColumnKind, SCHEMA_VERSION, TableColumn, TableName};
