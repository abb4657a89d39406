//! A thread that runs jobs in order and reports its error to the next caller.

use std::io;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

pub(crate) struct Worker<J> {
    jobs: Option<SyncSender<J>>,
    /// `None` once its error was returned.
    thread: Option<JoinHandle<io::Result<()>>>,
}

/// Waits for the thread to end.
impl<J> Drop for Worker<J> {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

impl<J: Send + 'static> Worker<J> {
    pub(crate) fn start(
        name: &str,
        waiting: usize,
        work: impl FnOnce(&Receiver<J>) -> io::Result<()> + Send + 'static,
    ) -> io::Result<Self> {
        let (jobs, queue) = sync_channel(waiting);
        let thread = std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || work(&queue))?;
        Ok(Self {
            jobs: Some(jobs),
            thread: Some(thread),
        })
    }

    /// Returns the error of earlier jobs.
    pub(crate) fn bring(&mut self, job: J) -> io::Result<()> {
        match self.jobs.as_ref().map(|jobs| jobs.send(job)) {
            Some(Ok(())) => Ok(()),
            _ => self.ended(),
        }
    }

    /// Fails if too many jobs wait.
    pub(crate) fn try_bring(&mut self, job: J) -> io::Result<()> {
        match self.jobs.as_ref().map(|jobs| jobs.try_send(job)) {
            Some(Ok(())) => Ok(()),
            Some(Err(TrySendError::Full(_))) => Err(io::Error::other("too many files wait to be written")),
            _ => self.ended(),
        }
    }

    /// Returns the error of earlier jobs.
    pub(crate) fn check(&mut self) -> io::Result<()> {
        match self.thread.as_ref().is_none_or(JoinHandle::is_finished) {
            true => self.ended(),
            false => Ok(()),
        }
    }

    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.jobs = None;
        joined(&mut self.thread)
    }

    fn ended(&mut self) -> io::Result<()> {
        joined(&mut self.thread)?;
        Err(io::Error::other("nothing is written any more"))
    }
}

fn joined(thread: &mut Option<JoinHandle<io::Result<()>>>) -> io::Result<()> {
    let Some(thread) = thread.take() else {
        return Err(io::Error::other("nothing is written any more"));
    };
    let ended = || Err(io::Error::other("a thread that writes has ended"));
    thread.join().unwrap_or_else(|_| ended())
}
