//! What records are written to.

use super::non_blocking_writer::NonBlockingWriter;
use std::fs::File;
use std::io::{self, BufWriter, StdoutLock, Write};

/// Where records go.
pub enum RecordSink {
    /// To stdout, waiting for its reader.
    Stdout(BufWriter<StdoutLock<'static>>),
    /// To a file.
    File(File),
    /// To either of them, from a run that waits for neither.
    NonBlocking(NonBlockingWriter),
}

impl RecordSink {
    /// Stdout, waiting for it.
    pub fn stdout() -> Self {
        Self::Stdout(BufWriter::with_capacity(1 << 16, io::stdout().lock()))
    }
}

impl Write for RecordSink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Stdout(out) => out.write(bytes),
            Self::File(out) => out.write(bytes),
            Self::NonBlocking(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Stdout(out) => out.flush(),
            Self::File(out) => out.flush(),
            Self::NonBlocking(out) => out.flush(),
        }
    }
}
