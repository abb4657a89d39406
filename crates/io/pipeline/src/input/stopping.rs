//! Ends files early if no more data is wanted.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A stop flag for readers. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stop(Arc<AtomicBool>);

impl Stop {
    pub(crate) fn now(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn over<R: Read>(&self, reader: R) -> Stoppable<R> {
        Stoppable {
            reader,
            stop: self.clone(),
        }
    }
}

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
