//! Bytes forwarded in this round and not yet shown to observers.

use super::READ_LIMIT;
use model::{Direction, Timestamp};
use std::ops::Range;
use std::time::Duration;

/// A worker's one read buffer, with a note for each read. Bytes stay in place until the sends of
/// the round are done; then each note is shown to its observer and the buffer is reused.
pub(super) struct Journal {
    buffer: Vec<u8>,
    used: usize,
    notes: Vec<Note>,
}

#[derive(Debug, Clone)]
pub(super) struct Note {
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

    /// Returns room for the next read; `None` if the notes must be shown first.
    pub(super) fn room(&mut self) -> Option<&mut [u8]> {
        if self.buffer.len() - self.used < MIN_ROOM {
            return None;
        }
        self.buffer.get_mut(self.used..)
    }

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

    /// Shows all notes in order, and clears them.
    pub(super) fn show(&mut self, mut show: impl FnMut(&Note, &[u8])) {
        for note in &self.notes {
            show(note, self.buffer.get(note.bytes.clone()).unwrap_or_default());
        }
        self.notes.clear();
        self.used = 0;
    }
}

/// So that a round of many small reads does not end in tiny ones.
const MIN_ROOM: usize = 16 * 1024;
