//! Converts records (`docs/output.md`) to rows of Parquet files (`docs/export.md`), and back;
//! [`storage`] keeps the files.

#![deny(clippy::wildcard_enum_match_arm)]

pub mod date;
mod error;
mod nullable;
pub mod reader;
pub mod row;
pub mod rows;
pub mod schema;
pub mod storage;
pub mod writer;

pub use error::Error;
pub use reader::TableReader;
pub use row::RecordRow;
pub use rows::TableRows;
pub use schema::{ColumnKind, SCHEMA_VERSION, TableColumn, TableName};
pub use writer::TableWriter;
