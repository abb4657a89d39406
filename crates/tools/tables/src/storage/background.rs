//! Writes batches on a thread: sorting and compressing take half as long as reading.

use crate::storage::files::{Batch, TableFiles};
use crate::storage::worker::Worker;
use std::io;
use std::sync::mpsc::Receiver;

/// A thread that writes files. Its error is returned by the next call.
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

    pub(crate) fn write(&mut self, batch: Batch) -> io::Result<()> {
        self.0.bring(Job::Write(batch))
    }

    pub(crate) fn complete(&mut self) -> io::Result<()> {
        self.0.bring(Job::Complete)
    }

    /// Waits until all files are complete.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.0.bring(Job::Finish)?;
        self.0.finish()
    }
}

/// Without [`Job::Finish`] the run failed: its unfinished files are deleted.
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
