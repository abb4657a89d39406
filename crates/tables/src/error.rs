//! What can be wrong with tables.

use parquet::errors::ParquetError;

/// Why a table could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// The file, or what it is written to.
    #[error(transparent)]
    Parquet(#[from] ParquetError),
    /// A record that is no JSON object.
    #[error("a record cannot be read: {0}")]
    Record(#[from] serde_json::Error),
    /// A file that longwire has not written.
    #[error("it is no table of longwire: its metadata has no {KEY}", KEY = crate::schema::SCHEMA_KEY)]
    Foreign,
    /// A file of another schema.
    #[error("the tables have schema {found}, this version reads {SCHEMA}", SCHEMA = super::SCHEMA_VERSION)]
    Schema {
        /// What the file says.
        found: String,
    },
}

impl From<TableError> for std::io::Error {
    fn from(error: TableError) -> Self {
        match error {
            TableError::Parquet(ParquetError::External(source)) => match source.downcast::<Self>() {
                Ok(fault) => *fault,
                Err(source) => Self::other(source),
            },
            error => Self::new(std::io::ErrorKind::InvalidData, error),
        }
    }
}
