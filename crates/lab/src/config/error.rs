use super::tree::FileSpan;
use std::path::{Path, PathBuf};
use thiserror::Error;

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}:{line}:{column}: {what}", file.display())]
pub struct ConfigError {
    /// As given by the user.
    pub file: PathBuf,
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
    /// The fault and its remedy.
    pub what: String,
}

impl ConfigError {
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
