//! Detects the type of a file, capture or recording, by its first bytes.

use super::recording::Recording;
use super::stopping::Stop;
use anyhow::{Context, Result, bail};
use std::fs::File;
use std::io::{self, BufReader, Cursor, Read};
use std::path::Path;

pub enum InputFile<'a> {
    Capture(capture::Source<'a>),
    Recording(Recording),
    /// A folder of tables: the records of its runs.
    Tables(Vec<Recording>),
}

/// Opens a file and checks its first bytes. A pipe is opened once and checked while reading,
/// because it can be read only once. It ends when `stop` is set.
pub fn open<'a>(path: &'a Path, stop: Option<&Stop>) -> Result<InputFile<'a>> {
    if path.as_os_str() == "-" {
        return sniff("stdin", Box::new(io::stdin()));
    }
    let name = path.display().to_string();
    if tables::storage::is_folder_of_tables(path) {
        let recordings =
            tables::storage::recordings(path).with_context(|| format!("could not read {name}"))?;
        return Ok(InputFile::Tables(recordings));
    }
    let file = File::open(path).with_context(|| format!("could not open {name}"))?;
    let kind = file
        .metadata()
        .with_context(|| format!("could not look at {name}"))?
        .file_type();
    if kind.is_dir() {
        bail!("{name} is a directory: name the capture or recording files in it");
    }
    match sniff(
        path.to_str().unwrap_or("a file with an unprintable name"),
        match stop {
            Some(stop) => Box::new(stop.over(file)),
            None => Box::new(file),
        },
    )? {
        InputFile::Capture(_) if kind.is_file() && stop.is_none() => {
            Ok(InputFile::Capture(capture::Source::File(path)))
        }
        opened => Ok(opened),
    }
}

fn sniff(name: &str, mut reader: Box<dyn Read + Send>) -> Result<InputFile<'_>> {
    let mut first = Vec::with_capacity(capture::PROBE_BYTES);
    let probe = reader
        .by_ref()
        .take(capture::PROBE_BYTES as u64)
        .read_to_end(&mut first);
    probe.with_context(|| format!("could not read {name}"))?;
    let recording = report::is_recording(&first) && !capture::is_capture(&first);
    let whole = BufReader::with_capacity(1 << 18, Cursor::new(first).chain(reader));
    Ok(if recording {
        InputFile::Recording((name.to_owned(), Box::new(whole)))
    } else {
        InputFile::Capture(capture::Source::Stream {
            name,
            reader: Box::new(whole),
        })
    })
}
