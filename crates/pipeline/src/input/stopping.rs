//! Files that end early when nobody wants more of them.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Says to readers that no more is wanted; clones are of the same reading.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stop(Arc<AtomicBool>);

impl Stop {
    /// No more is wanted.
    pub(crate) fn now(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether no more is wanted.
    pub(crate) fn is_requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// `reader`, which is at its end from then on.
    pub(crate) fn over<R: Read>(&self, reader: R) -> Stoppable<R> {
        Stoppable {
            reader,
            stop: self.clone(),
        }
    }
}

/// A reader that can be at its end before its file is.
pub(crate) struct Stoppable<R> {
    reader: R,
    stop: Stop,
}

impl<R: Read> Read for Stoppable<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.stop.is_requested() {
            true => Ok(0),
            false => self.reader.read(buffer),
        }
    }
}
