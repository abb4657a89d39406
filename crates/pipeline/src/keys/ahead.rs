//! Keys that captures hold behind the packets that they open: found before these are read, in files that can be read twice.

use crate::input::opening::{InputFile, open};
use crate::input::stopping::Stop;
use capture::KeyLineSink;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// Capture files that were not searched for keys.
#[derive(Debug, Default)]
pub(crate) struct FilesAhead(Mutex<Ahead>);

#[derive(Debug, Default)]
struct Ahead {
    paths: Vec<PathBuf>,
    /// Ends the search when nobody wants it any more.
    stop: Option<Stop>,
    is_searched: bool,
}

impl FilesAhead {
    /// Those of `paths` that are files: what can be read only once is not searched.
    pub(crate) fn among(paths: &[PathBuf], stop: Option<&Stop>) -> Self {
        let files = paths
            .iter()
            .filter(|path| path.as_os_str() != "-" && path.is_file());
        Self(Mutex::new(Ahead {
            paths: files.cloned().collect(),
            stop: stop.cloned(),
            is_searched: false,
        }))
    }

    /// Searches these from now on; not again those that were searched.
    pub(super) fn replace(&self, other: Self) {
        let mut ahead = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let other = other.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        if !ahead.is_searched || ahead.paths != other.paths {
            *ahead = other;
        }
    }

    /// Searches the files, the first time it is called.
    pub(super) fn search(&self, key_lines: &KeyLineSink<'_>) {
        let mut ahead = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::replace(&mut ahead.is_searched, true) {
            return;
        }
        for path in &ahead.paths {
            // What cannot be read is reported by who reads its packets.
            if let Ok(InputFile::Capture(source)) = open(path, ahead.stop.as_ref()) {
                capture::find_keys(source, key_lines).ok();
            }
        }
    }
}
