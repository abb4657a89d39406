//! Outcomes to terminal text and records, records back to model values.
//!
//! Terminal text ([`text`]), JSON Lines ([`JsonWriter`]) and recordings ([`RecordingWriter`],
//! [`RecordReader`]) come from the same values, so they cannot differ. This crate computes no
//! figures, opens no files and inspects no terminal: width and colour are arguments.
//!
//! Start reading at [`records`], then [`text`]. `docs/output.md` documents each record and key.

#![deny(clippy::wildcard_enum_match_arm)]
#![forbid(unsafe_code)]

mod accuracy;
pub mod calibration;
pub mod error;
pub mod html;
pub mod outcome;
mod ranges;
pub mod recording;
pub mod records;
pub mod text;
pub mod trace;

pub use error::Error;
pub use outcome::ReadOutcome;
pub use recording::{RecordingWriter, is_recording};
pub use records::RecordLine;
pub use records::printer::{FileColumn, RecordFormat, RecordPrinter, RunFile};
pub use records::reader::RecordReader;
pub use records::record::Record;
pub use records::types::RecordType;
pub use records::writer::{JsonLines, JsonWriter, RecordEncoder, RecordWriter};
pub use text::style::{Colour, Extent, Style};
