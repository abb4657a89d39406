//! Why records could not be read.

use std::io;

/// Why records could not be read. Lines are counted from 1 in the uncompressed stream.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The stream itself gave out: an unreadable file, or damaged compression. Nothing follows.
    #[error("records could not be read beyond line {line}: {source}; everything before is complete")]
    Read {
        /// Lines read before it happened.
        line: u64,
        /// What the file or the decompression said.
        source: io::Error,
    },
    /// A line is no record, or a key is missing or of the wrong kind. The next line can be read.
    #[error(
        "line {line} is not a record: {reason}; records are one JSON object a line, as --json writes them"
    )]
    NotARecord {
        /// Which line.
        line: u64,
        /// What is wrong with it.
        reason: String,
    },
    /// A line is longer than any record. The next line can be read.
    #[error("line {line} is longer than {limit} bytes and so is not a record")]
    TooLong {
        /// Which line.
        line: u64,
        /// The longest length accepted.
        limit: usize,
    },
    /// A record was written by a later longwire whose keys mean something else. Nothing after it is read.
    #[error(
        "line {line} has schema {schema}, this longwire reads schema 1: use the longwire that wrote it, or newer"
    )]
    NewerSchema {
        /// Which line.
        line: u64,
        /// The number found.
        schema: u64,
    },
    /// A key holds a word or an address that this version does not know. The next line can be read.
    #[error("line {line}: {key} {value:?} is not understood: use the longwire that wrote it, or newer")]
    UnknownValue {
        /// Which line.
        line: u64,
        /// The key.
        key: &'static str,
        /// What it holds, cut to a readable length.
        value: String,
    },
}
