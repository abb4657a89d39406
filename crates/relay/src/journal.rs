//! What was forwarded in this round and not yet shown to the observers.

use super::READ_LIMIT;
use model::{Direction, Timestamp};
use std::ops::Range;
use std::time::Duration;

/// The worker's one read buffer, with a note for each read of whose bytes they are. Bytes stay where they
/// were read until the round's sends are done; then every note is shown to its observer and the buffer is
/// used again.
pub(super) struct Journal {
    buffer: Vec<u8>,
    used: usize,
    notes: Vec<Note>,
}

/// One read.
#[derive(Debug, Clone)]
pub(super) struct Note {
    /// The connection's place among the worker's.
    pub(super) slot: usize,
    pub(super) direction: Direction,
    pub(super) at: Timestamp,
    pub(super) sender_idle: Option<Duration>,
    bytes: Range<usize>,
}

impl Journal {
    pub(super) fn new() -> Self {
        Self {
            buffer: vec![0; READ_LIMIT],
            used: 0,
            notes: Vec::new(),
        }
    }

    /// Room for the next read; `None` if the notes must be shown first.
    pub(super) fn room(&mut self) -> Option<&mut [u8]> {
        if self.buffer.len() - self.used < MIN_ROOM {
            return None;
        }
        self.buffer.get_mut(self.used..)
    }

    /// Notes that `count` bytes of the room were read for a connection.
    pub(super) fn record_event(
        &mut self,
        slot: usize,
        direction: Direction,
        count: usize,
        at: Timestamp,
        sender_idle: Option<Duration>,
    ) {
        let end = (self.used + count).min(self.buffer.len());
        self.notes.push(Note {
            slot,
            direction,
            at,
            sender_idle,
            bytes: self.used..end,
        });
        self.used = end;
    }

    /// Passes every note with its bytes to `show`, in the order of the reads, and forgets them.
    pub(super) fn show(&mut self, mut show: impl FnMut(&Note, &[u8])) {
        for note in &self.notes {
            show(note, self.buffer.get(note.bytes.clone()).unwrap_or_default());
        }
        self.notes.clear();
        self.used = 0;
    }
}

/// A read gets at least this much room, so that a round of many small reads does not end in tiny ones.
const MIN_ROOM: usize = 16 * 1024;
