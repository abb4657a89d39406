use parquet::errors::ParquetError;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Parquet(#[from] ParquetError),
    #[error("a record cannot be read: {0}")]
    Record(#[from] serde_json::Error),
    /// A file that longwire has not written.
    #[error("it is no table of longwire: its metadata has no {KEY}", KEY = crate::schema::SCHEMA_KEY)]
    Foreign,
    #[error("the tables have schema {found}, this version reads {SCHEMA}", SCHEMA = super::SCHEMA_VERSION)]
    Schema {
        /// The schema version of the file.
        found: String,
    },
}

impl From<Error> for std::io::Error {
    fn from(error: Error) -> Self {
        let Error::Parquet(ParquetError::External(source)) = error else {
            return Self::new(std::io::ErrorKind::InvalidData, error);
        };
        match source.downcast::<Self>() {
            Ok(fault) => *fault,
            Err(source) => Self::other(source),
        }
    }
}
