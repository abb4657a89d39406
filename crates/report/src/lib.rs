//! Outcomes to terminal text and records, records back to model values.
//!
//! Three readers are served from the same values, so that they cannot differ: a person at a terminal
//! ([`text`]), a program ([`JsonWriter`]: JSON Lines), and a later run of longwire ([`RecordingWriter`] and
//! [`RecordReader`]). Nothing here computes a figure, opens a file, or looks at a terminal: width and colour
//! are arguments.
//!
//! Start reading at [`records`], then [`text`]. What each record and key means is in `docs/output.md`.

#![forbid(unsafe_code)]

mod accuracy;
pub mod error;
pub mod html;
pub mod outcome;
mod ranges;
pub mod recording;
pub mod records;
pub mod text;

pub use error::RecordError;
pub use outcome::ReadOutcome;
pub use recording::{RecordingWriter, is_recording};
pub use records::RecordLine;
pub use records::reader::{Record, RecordReader};
pub use records::writer::{JsonLines, JsonWriter, RecordEncoder, RecordWriter};
pub use text::style::{Colour, Extent, Style};
