//! Finds keys that captures contain after the packets that they decrypt: searches files in advance,
//! if these can be read twice.

use crate::input::opening::{InputFile, open};
use crate::input::stopping::Stop;
use capture::KeyLineSink;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

#[derive(Debug, Default)]
pub(crate) struct FilesAhead(Mutex<Ahead>);

#[derive(Debug, Default)]
struct Ahead {
    paths: Vec<PathBuf>,
    stop: Option<Stop>,
    is_searched: bool,
}

impl FilesAhead {
    /// Regular files among `paths`; others can be read only once.
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

    pub(super) fn replace(&self, other: Self) {
        let mut ahead = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let other = other.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        if !ahead.is_searched || ahead.paths != other.paths {
            *ahead = other;
        }
    }

    pub(super) fn search(&self, key_lines: &KeyLineSink<'_>) {
        let mut ahead = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if ahead.is_searched {
            return;
        }
        for path in &ahead.paths {
            // Read errors are reported when packets are read.
            if let Ok(InputFile::Capture(source)) = open(path, ahead.stop.as_ref()) {
                capture::find_keys(source, key_lines).ok();
            }
        }
        // An interrupted search is repeated when the files are read again.
        ahead.is_searched = !ahead.stop.as_ref().is_some_and(Stop::is_requested);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn files_are_searched_once_and_again_only_when_the_search_was_stopped() {
        let keys = b"CLIENT_RANDOM";
        let length = 20 + keys.len().next_multiple_of(4) as u32;
        let mut bytes = capture::packet_blocks::section();
        for part in [10, length, 0x544c_534b, keys.len() as u32] {
            bytes.extend(part.to_ne_bytes());
        }
        bytes.extend(keys);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes.extend(length.to_ne_bytes());
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), bytes).expect("it is written");
        let paths = [file.path().to_owned(), "-".into(), "/nowhere".into()];
        let lines = Cell::new(0);
        let count = |_: &[u8]| {
            lines.set(lines.get() + 1);
            true
        };
        let stop = Stop::default();
        let ahead = FilesAhead::among(&paths, Some(&stop));
        stop.now();
        ahead.search(&count);
        assert_eq!(lines.get(), 0, "it was stopped");
        for _ in 0..2 {
            ahead.replace(FilesAhead::among(&paths, None));
            ahead.search(&count);
            ahead.search(&count);
            assert_eq!(lines.get(), 1);
        }
    }
}
