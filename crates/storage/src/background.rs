//! Writes batches while the run goes on: sorting and compressing takes as long as half of reading.

use crate::files::{Batch, TableFiles};
use crate::worker::Worker;
use std::io;
use std::sync::mpsc::Receiver;

/// A thread that writes files. An error of earlier jobs is that of the next one.
pub(crate) struct BackgroundWriter(Worker<Job>);

enum Job {
    Write(Batch),
    Complete,
    Finish,
}

impl BackgroundWriter {
    pub(crate) fn start(files: TableFiles) -> io::Result<Self> {
        Worker::start("tables", 0, move |jobs| work(files, jobs)).map(Self)
    }

    /// Has a batch written. Waits while another one is not.
    pub(crate) fn write(&mut self, batch: Batch) -> io::Result<()> {
        self.0.bring(Job::Write(batch))
    }

    /// Has all files completed.
    pub(crate) fn complete(&mut self) -> io::Result<()> {
        self.0.bring(Job::Complete)
    }

    /// Completes all files, and waits for that.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.0.bring(Job::Finish)?;
        self.0.finish()
    }
}

/// Without [`Job::Finish`] the run has come to a bad end: its unfinished files go.
fn work(mut files: TableFiles, jobs: &Receiver<Job>) -> io::Result<()> {
    for job in jobs {
        match job {
            Job::Write(batch) => files.write(batch)?,
            Job::Complete => files.complete()?,
            Job::Finish => return files.finish(),
        }
    }
    Ok(())
}
