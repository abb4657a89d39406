//! Writes output without blocking the run: the application behind a relay has priority.
//!
//! A separate thread writes from a bounded buffer. If the file cannot be written, the reader has
//! left, or it does not read and the buffer is full, the output is given up and the run continues.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A writer with calls that return at once. Clones share the output.
#[derive(Debug, Clone)]
pub struct NonBlockingWriter {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<Vec<u8>>,
    bytes: usize,
    written: u64,
    fault: Option<Fault>,
    closed: bool,
}

#[derive(Debug, Clone, Copy)]
enum Fault {
    System(i32),
    Kind(ErrorKind),
    Stuck,
}

impl Fault {
    fn from_error(error: &io::Error) -> Self {
        error
            .raw_os_error()
            .map_or_else(|| Self::Kind(error.kind()), Self::System)
    }

    fn error(self) -> io::Error {
        match self {
            Self::System(code) => io::Error::from_raw_os_error(code),
            Self::Kind(kind) => kind.into(),
            Self::Stuck => io::Error::new(ErrorKind::TimedOut, STUCK),
        }
    }
}

impl NonBlockingWriter {
    /// Writes to stdout, shared with other writers.
    ///
    /// # Errors
    /// If stdout's descriptor cannot be duplicated.
    pub fn stdout() -> io::Result<Self> {
        use std::os::fd::AsFd;
        let stdout = File::from(io::stdout().as_fd().try_clone_to_owned()?);
        Self::start(move || Ok(stdout))
    }

    /// Truncates `path` and writes to it. Opening a named pipe waits for its reader in the
    /// background.
    ///
    /// # Errors
    /// If the file cannot be created.
    pub fn create(path: &Path) -> io::Result<Self> {
        let is_pipe = std::fs::metadata(path).is_ok_and(|file| file.file_type().is_fifo());
        if is_pipe {
            let path = path.to_owned();
            return Self::start(move || OpenOptions::new().write(true).open(path));
        }
        let file = crate::private_file::create(path)?;
        Self::start(move || Ok(file))
    }

    fn start(open: impl FnOnce() -> io::Result<File> + Send + 'static) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            state: Mutex::default(),
            changed: Condvar::new(),
        });
        let own = Arc::clone(&shared);
        std::thread::Builder::new()
            .name("output".to_owned())
            .spawn(move || own.write_all(open))?;
        Ok(Self { shared })
    }

    /// Waits until everything is written.
    ///
    /// # Errors
    /// If writing fails, or the reader does not read for [`WRITE_TIMEOUT`].
    pub fn finish(&self) -> io::Result<()> {
        let mut state = self.shared.lock();
        state.closed = true;
        self.shared.changed.notify_all();
        let (mut written, mut since) = (state.written, Instant::now());
        while state.bytes > 0 && state.fault.is_none() {
            let left = WRITE_TIMEOUT.saturating_sub(since.elapsed());
            if left.is_zero() {
                state.fault = Some(Fault::Stuck);
                break;
            }
            let waited = self.shared.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
            if state.written != written {
                (written, since) = (state.written, Instant::now());
            }
        }
        state.fault.map_or(Ok(()), |fault| Err(fault.error()))
    }
}

impl Write for NonBlockingWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut state = self.shared.lock();
        if state.fault.is_none() && state.bytes + bytes.len() > MAX_BUFFERED_BYTES {
            state.fault = Some(Fault::Stuck);
            state.waiting = VecDeque::new();
        }
        if let Some(fault) = state.fault {
            return Err(fault.error());
        }
        state.bytes += bytes.len();
        state.waiting.push_back(bytes.to_vec());
        self.shared.changed.notify_all();
        Ok(bytes.len())
    }

    /// Reports an earlier error without waiting.
    fn flush(&mut self) -> io::Result<()> {
        self.shared
            .lock()
            .fault
            .map_or(Ok(()), |fault| Err(fault.error()))
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_all(&self, open: impl FnOnce() -> io::Result<File>) {
        let written = open().and_then(|mut file| {
            while let Some(bytes) = self.next() {
                for part in bytes.chunks(PART) {
                    file.write_all(part)?;
                    let mut state = self.lock();
                    state.written += part.len() as u64;
                    state.bytes -= part.len();
                    self.changed.notify_all();
                }
            }
            Ok(())
        });
        if let Err(error) = written {
            let mut state = self.lock();
            state.fault.get_or_insert(Fault::from_error(&error));
            state.waiting = VecDeque::new();
            self.changed.notify_all();
        }
    }

    fn next(&self) -> Option<Vec<u8>> {
        let mut state = self.lock();
        loop {
            if let Some(bytes) = state.waiting.pop_front() {
                return Some(bytes);
            }
            if state.closed || state.fault.is_some() {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

pub const MAX_BUFFERED_BYTES: usize = 16 << 20;
/// Limit for a reader that does not read at the end of a run.
pub const WRITE_TIMEOUT: Duration = Duration::from_secs(5);
const PART: usize = 64 << 10;
const STUCK: &str = "its reader takes nothing";

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn what_is_written_arrives_in_order() {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("out");
        let mut non_blocking_writer = NonBlockingWriter::create(&path).expect("it can be created");
        let bytes: Vec<u8> = (0..1_000_000_u32).flat_map(u32::to_le_bytes).collect();
        for part in bytes.chunks(100_001) {
            non_blocking_writer.write_all(part).expect("it is taken");
        }
        non_blocking_writer.finish().expect("it is written");
        assert!(std::fs::read(&path).expect("it is there") == bytes);
    }

    #[test]
    fn a_full_disk_is_told_and_nothing_more_is_kept() {
        let mut non_blocking_writer =
            NonBlockingWriter::create(Path::new("/dev/full")).expect("it can be opened");
        non_blocking_writer
            .write_all(&[0; 1000])
            .expect("nothing is known yet");
        let error = non_blocking_writer.finish().expect_err("it is full");
        assert_eq!(error.kind(), ErrorKind::StorageFull);
        assert_eq!(
            non_blocking_writer.write(&[0]).expect_err("it is still").kind(),
            ErrorKind::StorageFull
        );
    }

    #[test]
    fn a_reader_that_takes_nothing_bounds_what_waits() {
        let (reader, writer) = io::pipe().expect("a pipe");
        let file = File::from(std::os::fd::OwnedFd::from(writer));
        let mut non_blocking_writer = NonBlockingWriter::start(move || Ok(file)).expect("a thread");
        let mut taken = 0;
        let error = loop {
            match non_blocking_writer.write(&[0; PART]) {
                Ok(count) => taken += count,
                Err(error) => break error,
            }
            assert!(taken <= MAX_BUFFERED_BYTES + (1 << 20), "it is bounded");
        };
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        drop(reader);
    }

    #[test]
    fn a_pipe_that_nobody_reads_yet_holds_nobody_up() {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        assert!(made.expect("it is there").success());
        let mut non_blocking_writer = NonBlockingWriter::create(&path).expect("it waits for no reader");
        non_blocking_writer.write_all(b"kept").expect("it is taken");
        let reading = std::thread::spawn(move || {
            let mut text = [0; 4];
            let mut file = File::open(path).expect("it is there");
            file.read_exact(&mut text).expect("it comes");
            text
        });
        non_blocking_writer.finish().expect("it is written");
        assert_eq!(&reading.join().expect("it reads"), b"kept");
    }
}
