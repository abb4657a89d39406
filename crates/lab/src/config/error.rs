//! What is wrong with a lab's file, and where.

use super::tree::FileSpan;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Something in a lab's file that longwire does not understand or cannot do.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}:{line}:{column}: {what}", file.display())]
pub struct ConfigError {
    /// The file, as the user named it.
    pub file: PathBuf,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// What is wrong, and what to write instead.
    pub what: String,
}

impl ConfigError {
    /// An error about `place` in `text`.
    pub fn at(file: &Path, text: &str, place: &FileSpan, what: String) -> Self {
        let before = text.get(..place.0.start).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |end| end + 1);
        Self {
            file: file.to_owned(),
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            what,
        }
    }
}
