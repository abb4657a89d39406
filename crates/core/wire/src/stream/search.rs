//! Resynchronises a lost direction. A message may begin where it speaks after the other one, or
//! after a hole; after lost bytes also further on.

use super::{State, Stream};
use crate::decoding::decoder::MessageSink;
use crate::decoding::framing::Input;
use crate::decoding::resume::Resumption;
use crate::stream::MAXIMUM_HELD;
use model::{Direction, PerDirection, Timestamp};
use std::time::Duration;

#[derive(Debug)]
pub(super) struct Search {
    direction: Direction,
    bytes: Vec<u8>,
    pieces: Vec<(Timestamp, usize)>,
}

impl Stream {
    pub(super) fn turn(&mut self, direction: Direction, at: Timestamp, sink: &mut MessageSink<'_>) {
        self.finish_resync(sink);
        if direction == Direction::ClientToServer {
            self.clear_pending(at);
        }
        self.seek(direction);
    }

    /// The client continues. If it has waited for all replies, those still expected by the decoder
    /// were lost.
    fn clear_pending(&mut self, at: Timestamp) {
        let paused = at.since(self.last[Direction::ServerToClient]) >= PAUSE;
        let State::Decoding(decoder) = &mut self.state else {
            return;
        };
        let lost = self.doubt || self.opaque != PerDirection::splat(false);
        if !lost {
            self.pipelines |= decoder.has_pending_reply();
        } else if !self.pipelines || paused || self.opaque != PerDirection::splat(false) {
            decoder.clear_pending();
            self.doubt = false;
        }
    }

    pub(super) fn seek(&mut self, direction: Direction) {
        if self.row.is_some() && self.opaque[direction] && matches!(self.state, State::Decoding(_)) {
            self.search = Some(Search {
                direction,
                bytes: Vec::new(),
                pieces: Vec::new(),
            });
        }
    }

    pub(super) fn search(&mut self, direction: Direction, mut input: Input<'_>, sink: &mut MessageSink<'_>) {
        while self.search.is_some() && !input.bytes().is_empty() {
            let Some(search) = &mut self.search else { break };
            let room = MAXIMUM_HELD.saturating_sub(search.bytes.len());
            search.add(input.at(), input.take_bytes(room));
            let is_full = search.bytes.len() == MAXIMUM_HELD;
            self.resync_direction(is_full, sink);
            if is_full && self.search.is_none() {
                self.seek(direction);
            }
        }
        if input.unseen_count() > 0 {
            self.finish_resync(sink);
        }
        if !input.is_empty() {
            self.go_on(direction, input, sink);
        }
    }

    fn go_on(&mut self, direction: Direction, input: Input<'_>, sink: &mut MessageSink<'_>) {
        if self.opaque[direction] {
            self.emit_raw(direction, input, sink);
        } else {
            self.decode(direction, input, sink);
        }
    }

    pub(super) fn finish_resync(&mut self, sink: &mut MessageSink<'_>) {
        self.resync_direction(true, sink);
    }

    /// Searches the buffer for a message. `whole` means that no more bytes arrive.
    fn resync_direction(&mut self, whole: bool, sink: &mut MessageSink<'_>) {
        let Some(search) = &self.search else { return };
        let found = self.find_message(search, whole);
        if found == Resumption::More && !whole {
            return;
        }
        let Some(search) = self.search.take() else { return };
        let from = match found {
            Resumption::At(from) if self.restart(search.direction) => from,
            Resumption::At(_) | Resumption::More | Resumption::Nowhere => search.bytes.len(),
        };
        self.hand_over(&search, from, sink);
    }

    fn find_message(&self, search: &Search, whole: bool) -> Resumption {
        match &self.state {
            State::Decoding(_) if search.bytes.is_empty() => Resumption::More,
            State::Decoding(decoder) if self.row.is_some() => {
                decoder.find(search.direction, &search.bytes, whole)
            }
            State::Detecting(_) | State::Decoding(_) | State::Opaque => Resumption::Nowhere,
        }
    }

    fn hand_over(&mut self, search: &Search, from: usize, sink: &mut MessageSink<'_>) {
        let mut opaque = from;
        for (at, bytes) in search.pieces() {
            let (before, behind) = bytes.split_at(opaque.min(bytes.len()));
            opaque -= before.len();
            if !before.is_empty() {
                self.emit_raw(search.direction, Input::seen(at, before), sink);
            }
            if !behind.is_empty() {
                self.go_on(search.direction, Input::seen(at, behind), sink);
            }
        }
    }

    fn restart(&mut self, direction: Direction) -> bool {
        let State::Decoding(decoder) = &mut self.state else {
            return false;
        };
        if !decoder.restart(direction) {
            self.row = None;
            return false;
        }
        self.opaque[direction] = false;
        if self.opaque == PerDirection::splat(false) {
            self.reason = None;
        }
        true
    }
}

impl Search {
    fn add(&mut self, at: Timestamp, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        match self.pieces.last_mut() {
            Some((last, length)) if *last == at => *length += bytes.len(),
            _ => self.pieces.push((at, bytes.len())),
        }
    }

    fn pieces(&self) -> impl Iterator<Item = (Timestamp, &[u8])> {
        let mut rest = self.bytes.as_slice();
        self.pieces.iter().map(move |&(at, length)| {
            let (piece, behind) = rest.split_at(length);
            rest = behind;
            (at, piece)
        })
    }
}

/// A client with several requests in flight is assumed to have waited for all replies after this
/// silence.
const PAUSE: Duration = Duration::from_millis(1);
