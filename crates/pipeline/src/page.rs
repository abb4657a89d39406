//! The HTML page of a run: collects its data, and writes it.
//!
//! A command that takes `--html` creates a [`PageFile`] before it begins (so that a path that cannot be
//! written is reported immediately), gives its [`PageFile::samples`] to the tally, and calls
//! [`PageFile::write`] at the end.

mod grid;
mod samples;

pub use samples::Samples;

use crate::moved::MovedConnections;
use crate::private_file;
use anyhow::{Context, Result};
use model::{Advice, Conditions, LinkOutcome, Warning};
use predict::{Computing, PredictionTarget, WakeUp};
use report::ReadOutcome;
use report::html::{Grid, Page};
use report::outcome::TuneReport;
use std::fs::File;
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;
use sys::file_opener::FileOpener;

/// A page that will be written when the run is over.
#[derive(Debug)]
pub struct PageFile {
    path: PathBuf,
    file: File,
    samples: Samples,
}

/// The content of a run's page, besides the operations in its samples.
#[derive(Debug, Clone, Copy)]
pub struct PageRun<'a> {
    /// What was measured, in a few words.
    pub title: &'a str,
    /// Everything that the view shows; predictions with `measured` become points on the curve.
    pub outcome: &'a ReadOutcome,
    /// Which connections move to the predicted link.
    pub moved: &'a MovedConnections,
    /// The requested links: the sliders reach them too, and keep their other settings.
    pub asked: &'a [PredictionTarget],
    /// Cores that clients or servers share in the predictions. Where they do, the sliders move over the links
    /// asked for alone: how busy the cores were cannot be determined from samples.
    pub computing: Computing,
    /// Whether predictions allow for client and server waking up.
    pub wake_up: WakeUp,
    /// Emulated links of the run.
    pub links: &'a [LinkOutcome],
}

/// Where pages are written that are asked for while a run goes on.
#[derive(Debug)]
pub struct PagePlace {
    path: PathBuf,
    /// Opens the file where this process will have no right to.
    opener: Option<FileOpener>,
}

impl PagePlace {
    /// A file that is opened when a page is requested.
    pub const fn new(path: PathBuf) -> Self {
        Self { path, opener: None }
    }

    /// The same for root, who will have become another user by then.
    ///
    /// # Errors
    /// When there can be no process that opens it.
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

    /// Opens the file.
    ///
    /// # Errors
    /// When it cannot be created or written.
    pub fn page(&self) -> Result<PageFile> {
        match &self.opener {
            Some(opener) => PageFile::from_file(&self.path, opener.open()),
            None => PageFile::create(&self.path),
        }
    }
}

impl PageFile {
    /// Opens the file; what it holds stays until the page is written.
    ///
    /// # Errors
    /// When it cannot be created or written.
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

    /// The same, with operations that were kept elsewhere.
    #[must_use]
    pub fn with_samples(self, samples: Samples) -> Self {
        Self { samples, ..self }
    }

    /// Takes the run's operations: for [`crate::aggregator::AggregatorConfig::samples`].
    pub fn samples(&self) -> Samples {
        self.samples.clone()
    }

    /// Replays the samples on the links of the grid, writes the page, and reports its path on stderr.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(self, run: &PageRun<'_>) -> Result<()> {
        self.store(run).map(|path| print_path(&path))
    }

    /// The same, for a command that says itself where the page is.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn store(self, run: &PageRun<'_>) -> Result<PathBuf> {
        let groups = &run.outcome.operations;
        let grid: Option<Grid> = match run.computing == Computing::default() {
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

    /// Writes `page`, and says on stderr where it is.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write_page(self, page: &Page<'_>) -> Result<()> {
        self.store_page(page).map(|path| print_path(&path))
    }

    /// Writes the page of `tunnel advise`, and says on stderr where it is.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write_advice(self, advice: &Advice, conditions: &Conditions, warnings: &[Warning]) -> Result<()> {
        let mut html = Vec::new();
        let written = report::html::write_advice(advice, conditions, warnings, &mut html);
        self.keep(written, &html).map(|path| print_path(&path))
    }

    /// Writes the page of `tune`, and says on stderr where it is.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write_tune(self, report: &TuneReport, conditions: &Conditions) -> Result<()> {
        let mut html = Vec::new();
        let written = report::html::write_tune(report, conditions, &mut html);
        self.keep(written, &html).map(|path| print_path(&path))
    }

    /// Writes the page that `make` makes, and says on stderr where it is: for the pages of single runs,
    /// [`report::html`].
    ///
    /// # Errors
    /// When the file cannot be written.
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

/// Writes all of a file anew. A pipe or a device has no beginning to go back to, and no length.
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

/// Round trips at which a page shows the price of all operations, not of samples.
pub const PRICES: [Duration; 4] = [
    Duration::ZERO,
    Duration::from_millis(10),
    Duration::from_millis(40),
    Duration::from_millis(120),
];

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
