//! Captures and recordings in a folder.

use anyhow::{Context, Result, ensure};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// `files`, with the captures and recordings in a folder instead of it, in order of their names.
/// Subfolders and other files are skipped. A folder of tables stays.
///
/// # Errors
/// If a folder cannot be read, or has neither captures nor recordings.
pub fn with_folders(files: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    for path in files {
        if !path.is_dir() || tables::storage::is_folder_of_tables(path) {
            all.push(path.clone());
            continue;
        }
        let name = path.display();
        let found = files_in(path).with_context(|| format!("could not read {name}"))?;
        ensure!(!found.is_empty(), "no capture or recording in {name}");
        all.extend(found);
    }
    Ok(all)
}

/// # Errors
/// If `output` is one of the files that are read.
pub fn ensure_not_read(files: &[PathBuf], output: Option<&Path>) -> Result<()> {
    let Some(output) = output.and_then(|output| output.canonicalize().ok()) else {
        return Ok(());
    };
    let is_read = |file: &PathBuf| file.canonicalize().is_ok_and(|file| file == output);
    ensure!(
        !files.iter().any(is_read),
        "{} would be overwritten, and is read: name another file to write",
        output.display()
    );
    Ok(())
}

fn files_in(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in folder.read_dir()? {
        let path = entry?.path();
        // A damaged capture is an error later, not left out.
        if path.is_file() && (is_named_so(&path) || has_traffic(&path)?) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn is_named_so(path: &Path) -> bool {
    let name = path.to_string_lossy();
    let plain = name.trim_end_matches(".gz").trim_end_matches(".zst");
    [".pcap", ".pcapng", ".lwr"]
        .iter()
        .any(|end| plain.ends_with(end))
}

fn has_traffic(path: &Path) -> io::Result<bool> {
    let mut first = Vec::new();
    let probe = capture::PROBE_BYTES as u64;
    File::open(path)?.take(probe).read_to_end(&mut first)?;
    // Other files of JSON begin with a brace, too.
    let is_json = first.starts_with(b"{") && !first.starts_with(b"{\"type\":");
    Ok(capture::is_capture(&first) || (report::is_recording(&first) && !is_json))
}
