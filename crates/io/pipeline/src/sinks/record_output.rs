//! Where records are written.

use crate::non_blocking_writer::NonBlockingWriter;
use std::fs::File;
use std::io::{self, BufWriter, StdoutLock, Write};

pub enum RecordOutput {
    Stdout(BufWriter<StdoutLock<'static>>),
    File(File),
    NonBlocking(NonBlockingWriter),
}

impl RecordOutput {
    pub fn stdout() -> Self {
        Self::Stdout(BufWriter::with_capacity(1 << 16, io::stdout().lock()))
    }
}

impl Write for RecordOutput {
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
