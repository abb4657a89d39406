//! Output file of the demo's page.

use anyhow::Result;
use model::{Warning, WarningKind};
use pipeline::output_health::OutputHealth;
use pipeline::page::{PageFile, PageRun};
use std::io::Read;
use std::path::{Path, PathBuf};

/// A file with this title is from an earlier run.
pub const TITLE: &str = "demo";

const FILE: &str = "longwire-demo.html";

/// Opens the requested file, or the default one. The default is not overwritten unless an earlier
/// demo wrote it; if it cannot be created, the demo continues without a page.
///
/// # Errors
/// If the requested file cannot be written.
pub fn open(
    asked: Option<&Path>,
    warnings: &mut Vec<Warning>,
    output_health: &OutputHealth,
) -> Result<Option<PageFile>> {
    if let Some(path) = asked {
        return PageFile::create(path).map(Some);
    }
    let path = PathBuf::from(FILE);
    if path.exists() && !is_earlier_demo(&path) {
        let text = format!(
            "no page is written: {FILE} already exists and is not a demo's page; name another file with --html"
        );
        warnings.push(Warning::new(WarningKind::OutputLost, text));
        return Ok(None);
    }
    Ok(kept(PageFile::create(&path), output_health))
}

/// On failure, returns `None` and reports a lost output.
pub fn write(page: Option<PageFile>, run: &PageRun<'_>, output_health: &OutputHealth) -> Option<PathBuf> {
    kept(page?.store(run), output_health)
}

fn kept<T>(page: Result<T>, output_health: &OutputHealth) -> Option<T> {
    page.map_err(|error| output_health.lost_output(&format!("{error:#}; name another file with --html")))
        .ok()
}

fn is_earlier_demo(path: &Path) -> bool {
    let mut begin = Vec::new();
    let read = sys::files::open_regular(path).and_then(|file| file.take(BEGIN).read_to_end(&mut begin));
    // A run in progress leaves the file empty.
    let title = format!("<title>{TITLE} · longwire</title>");
    read.is_ok() && (begin.is_empty() || String::from_utf8_lossy(&begin).contains(&title))
}

const BEGIN: u64 = 1 << 12;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_earlier_page_is_written_over() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("page.html");
        let is_ours = |content: &str| {
            std::fs::write(&path, content).expect("it is written");
            is_earlier_demo(&path)
        };
        assert!(is_ours(""));
        assert!(is_ours("<!DOCTYPE html><head><title>demo · longwire</title>"));
        assert!(!is_ours(
            "<!DOCTYPE html><head><title>shop.pcap · longwire</title>"
        ));
        assert!(!is_ours("my notes"));
        assert!(!is_earlier_demo(directory.path()));
    }
}
