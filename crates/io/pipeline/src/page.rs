//! The HTML page of a run: collects its data and writes it.
//!
//! A command with `--html` creates a [`PageFile`] at its start, so that a path that cannot be
//! written is reported immediately. It passes [`PageFile::samples`] to the aggregator, and calls
//! [`PageFile::write`] at the end.

mod grid;

pub use crate::sinks::Samples;

use crate::moved::MovedConnections;
use crate::private_file;
use anyhow::{Context, Result};
use model::{Advice, Conditions, LinkOutcome, Warning};
use predict::{ComputingByClients, PredictionTarget, WakeUp};
use report::ReadOutcome;
use report::html::{Grid, Page};
use report::outcome::TuneReport;
use std::fs::File;
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;
use sys::file_opener::FileOpener;

#[derive(Debug)]
pub struct PageFile {
    path: PathBuf,
    file: File,
    samples: Samples,
}

#[derive(Debug, Clone, Copy)]
pub struct PageRun<'a> {
    /// The measured file or server, in a few words.
    pub title: &'a str,
    /// The values of the view; predictions with `measured` become points on the curve.
    pub outcome: &'a ReadOutcome,
    pub moved: &'a MovedConnections,
    /// The sliders include the requested links and keep their other settings.
    pub asked: &'a [PredictionTarget],
    /// Cores that clients or servers share in the predictions. If they share any, the sliders are
    /// limited to the requested links, because samples do not show how busy the cores were.
    pub computing: ComputingByClients,
    pub wake_up: WakeUp,
    pub links: &'a [LinkOutcome],
}

#[derive(Debug)]
pub struct PagePlace {
    path: PathBuf,
    /// Opens the file after this process has dropped its rights.
    opener: Option<FileOpener>,
}

impl PagePlace {
    pub const fn new(path: PathBuf) -> Self {
        Self { path, opener: None }
    }

    /// For root before it becomes another user.
    ///
    /// # Errors
    /// If the process that opens the file cannot be started.
    pub fn with_rights_of_now(path: PathBuf) -> Result<Self> {
        let opener = match sys::rights::is_root() {
            true => {
                let path = path.clone();
                let opener = FileOpener::start(move || private_file::open(&path));
                Some(opener.context("could not start the process that opens the page")?)
            }
            false => None,
        };
        Ok(Self { path, opener })
    }

    pub fn page(&self) -> Result<PageFile> {
        match &self.opener {
            Some(opener) => PageFile::from_file(&self.path, opener.open()),
            None => PageFile::create(&self.path),
        }
    }
}

impl PageFile {
    /// Opens the file; its content stays until the page is written.
    pub fn create(path: &Path) -> Result<Self> {
        Self::from_file(path, private_file::open(path))
    }

    fn from_file(path: &Path, file: io::Result<File>) -> Result<Self> {
        Ok(Self {
            path: path.to_owned(),
            file: file.with_context(|| format!("could not create the page {}", path.display()))?,
            samples: Samples::default(),
        })
    }

    #[must_use]
    pub fn with_samples(self, samples: Samples) -> Self {
        Self { samples, ..self }
    }

    /// A collector of operations, for [`crate::aggregator::AggregatorConfig::samples`].
    pub fn samples(&self) -> Samples {
        self.samples.clone()
    }

    /// Replays the samples on the links of the grid, writes the page, and reports its path on
    /// stderr.
    pub fn write(self, run: &PageRun<'_>) -> Result<()> {
        self.store(run).map(|path| print_path(&path))
    }

    /// Like [`PageFile::write`], without reporting the path.
    pub fn store(self, run: &PageRun<'_>) -> Result<PathBuf> {
        let groups = &run.outcome.operations;
        let grid: Option<Grid> = match run.computing == ComputingByClients::default() {
            true => grid::replay(&self.samples, groups, run.moved, run.asked, run.wake_up),
            false => None,
        };
        let example = self.samples.example(groups);
        let steps = example.iter().flat_map(|operation| &operation.steps);
        let moves: Vec<bool> = steps.map(|step| run.moved.moves(step)).collect();
        self.store_page(&Page {
            title: run.title,
            outcome: run.outcome,
            example: example.as_ref(),
            moves: &moves,
            grid: grid.as_ref(),
            links: run.links,
            lab: None,
        })
    }

    pub fn write_page(self, page: &Page<'_>) -> Result<()> {
        self.store_page(page).map(|path| print_path(&path))
    }

    pub fn write_advice(self, advice: &Advice, conditions: &Conditions, warnings: &[Warning]) -> Result<()> {
        let mut html = Vec::new();
        let written = report::html::write_advice(advice, conditions, warnings, &mut html);
        self.keep(written, &html).map(|path| print_path(&path))
    }

    pub fn write_tune(self, report: &TuneReport, conditions: &Conditions) -> Result<()> {
        let mut html = Vec::new();
        let written = report::html::write_tune(report, conditions, &mut html);
        self.keep(written, &html).map(|path| print_path(&path))
    }

    /// Writes the page produced by `make`, such as those of [`report::html`].
    pub fn write_made(self, make: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> Result<()> {
        let mut html = Vec::new();
        let written = make(&mut html);
        self.keep(written, &html).map(|path| print_path(&path))
    }

    fn store_page(self, page: &Page<'_>) -> Result<PathBuf> {
        let mut html = Vec::new();
        let written = report::html::write(page, &mut html);
        self.keep(written, &html)
    }

    fn keep(mut self, written: io::Result<()>, html: &[u8]) -> Result<PathBuf> {
        written
            .and_then(|()| write_over(&mut self.file, html))
            .with_context(|| format!("could not write the page {}", self.path.display()))?;
        Ok(self.path)
    }
}

/// Replaces the content of a file. A pipe or a device can be neither rewound nor truncated.
fn write_over(file: &mut File, content: &[u8]) -> io::Result<()> {
    if !file.metadata()?.is_file() {
        return file.write_all(content);
    }
    file.rewind()?;
    file.write_all(content)?;
    file.set_len(content.len() as u64)
}

fn print_path(path: &Path) {
    crate::output::print_note(&format!("the page is in {}", path.display()));
}

/// Round-trip times at which a page prices all operations rather than samples.
pub const PRICES: [Duration; 4] = {
    let [next_region, next_continent, far] = model::DEFAULT_RTTS;
    [Duration::ZERO, next_region, next_continent, far]
};

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: &Path, content: &[u8]) -> Result<()> {
        PageFile::create(path)?.write_made(|out| out.write_all(content))
    }

    #[test]
    fn a_page_is_written_to_files_pipes_and_devices() {
        let folder = tempfile::tempdir().expect("a directory");
        let file = folder.path().join("page.html");
        std::fs::write(&file, "a longer page from before").expect("it is written");
        write(&file, b"<html>").expect("a file");
        assert_eq!(std::fs::read(&file).expect("it is there"), b"<html>");
        write(Path::new("/dev/null"), b"<html>").expect("a device");
        let (mut reader, writer) = io::pipe().expect("a pipe");
        let name = format!("/dev/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&writer));
        write(Path::new(&name), b"<html>").expect("a pipe");
        drop(writer);
        let mut read = Vec::new();
        io::Read::read_to_end(&mut reader, &mut read).expect("it can be read");
        assert_eq!(read, b"<html>");
    }
}
