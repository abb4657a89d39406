//! A file's next window, read on a thread of its own while the one before it is taken apart: the kernel's
//! copying takes as long as a tenth of that.
//!
//! What it cannot bring whole (the end of the file, a fault) is left to the reader, who finds out why.

use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::fs::FileExt;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// Windows of one file, each read before it is asked for. Ends its thread when it is dropped.
pub(crate) struct ReadAhead {
    /// Where to read, and into what.
    wanted: SyncSender<(u64, Vec<u8>)>,
    read: Receiver<Window>,
    /// Where the window begins that is being read.
    position: u64,
}

/// A part of a file.
struct Window {
    /// [`ROOM`] bytes for the rest of the window before it, then bytes of the file.
    buffer: Vec<u8>,
    /// How many bytes of the file: fewer than [`WINDOW`] when there were no more.
    filled: usize,
}

/// Bytes of a window: small enough to stay in the cache of the processor and negligible in resident memory,
/// large enough that system calls cost nothing.
pub(crate) const WINDOW: usize = 1 << 20;

/// What may be left of a window when the next one is requested: more than any packet.
pub(crate) const ROOM: usize = 512 << 10;

impl ReadAhead {
    /// Begins to read at `position`; `None` if the system gives no thread or descriptor for it.
    pub fn start(file: &File, position: u64) -> Option<Self> {
        let file = file.try_clone().ok()?;
        let (wanted, jobs) = sync_channel(1);
        let (results, read) = sync_channel(1);
        let run = move || {
            for (position, buffer) in jobs {
                if results.send(fill(&file, position, buffer)).is_err() {
                    return;
                }
            }
        };
        std::thread::Builder::new().spawn(run).ok()?;
        wanted.send((position, Vec::new())).ok()?;
        Some(Self {
            wanted,
            read,
            position,
        })
    }

    /// The buffer of the window at `position`; `None` if another one was read, or less than a window.
    pub fn next(&mut self, position: u64) -> Option<Vec<u8>> {
        let Window { buffer, filled } = self.read.recv().ok()?;
        (position == self.position && filled == WINDOW).then_some(buffer)
    }

    /// Goes on to read the window behind it, into the `spent` buffer of the one before.
    pub fn go_on(&mut self, spent: Vec<u8>) {
        self.position += WINDOW as u64;
        // A thread that is gone brings nothing, which the next call finds.
        self.wanted.send((self.position, spent)).ok();
    }
}

fn fill(file: &File, position: u64, mut buffer: Vec<u8>) -> Window {
    buffer.resize(ROOM + WINDOW, 0);
    let mut filled = 0;
    while let Some(room) = buffer.get_mut(ROOM + filled..).filter(|room| !room.is_empty()) {
        match file.read_at(room, position + filled as u64) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(cause) if cause.kind() == ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    Window { buffer, filled }
}
