//! Reads a file's next window on a separate thread while the current one is processed: the kernel's
//! copying takes a tenth as long as the processing.
//!
//! A window that is not complete (the end of the file, a fault) is left to the reader, which finds
//! the cause.

use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::fs::FileExt;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// Windows of one file, read in advance. The thread ends on drop.
pub(crate) struct ReadAhead {
    wanted: SyncSender<(u64, Vec<u8>)>,
    read: Receiver<Window>,
    position: u64,
}

struct Window {
    /// [`ROOM`] bytes for the rest of the previous window, then bytes of the file.
    buffer: Vec<u8>,
    filled: usize,
}

/// Small enough for the processor's cache, large enough that system calls have negligible cost.
pub(crate) const WINDOW: usize = 1 << 20;

/// Maximum rest of a window when the next one is requested: more than any packet.
pub(crate) const ROOM: usize = 512 << 10;

impl ReadAhead {
    /// `None` if the system provides no thread or descriptor.
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

    /// The buffer of the window at `position`. `None` if another one was read, or less than a
    /// window.
    pub fn next(&mut self, position: u64) -> Option<Vec<u8>> {
        let Window { buffer, filled } = self.read.recv().ok()?;
        (position == self.position && filled == WINDOW).then_some(buffer)
    }

    /// Starts the next window in the `spent` buffer of an earlier one.
    pub fn go_on(&mut self, spent: Vec<u8>) {
        self.position += WINDOW as u64;
        // If the thread has ended, the next call notices.
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
