//! Errors of reading records.

use std::io;

/// Errors of reading records. Lines are counted from 1 in the uncompressed stream.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file is unreadable or its compression is damaged. Reading ends here.
    #[error("records could not be read beyond line {line}: {source}; everything before is complete")]
    Read {
        /// Number of complete lines before the error.
        line: u64,
        source: io::Error,
    },
    /// A line is not a record: a key is missing or has the wrong type. The next line can be read.
    #[error(
        "line {line} is not a record: {reason}; records are one JSON object a line, as --json writes them"
    )]
    NotARecord {
        line: u64,
        /// The parser's message, such as a missing key.
        reason: String,
    },
    /// A line is longer than `limit`. The next line can be read.
    #[error("line {line} is longer than {limit} bytes and so is not a record")]
    TooLong {
        line: u64,
        /// Maximum length in bytes.
        limit: usize,
    },
    /// A later longwire wrote the record under a schema with other meanings. Reading ends here.
    #[error(
        "line {line} has schema {schema}, this longwire reads schema 1: use the longwire that wrote it, or newer"
    )]
    NewerSchema {
        line: u64,
        /// Schema number in the record.
        schema: u64,
    },
    /// A key holds a word or address unknown to this version. The next line can be read.
    #[error("line {line}: {reason}: use the longwire that wrote it, or newer")]
    NotUnderstood {
        line: u64,
        /// Names the value, cut to a readable length.
        reason: String,
    },
}
