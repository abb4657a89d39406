//! Finding a lost direction again: where it begins to speak after the other one, or goes on behind bytes that nobody
//! saw, a message may begin.

use super::{State, Stream};
use crate::decoder::Sink;
use crate::framing::Input;
use crate::protocols::Verdict;
use crate::stream::MAXIMUM_HELD;
use model::{Direction, Timestamp};

/// The first bytes since a lost direction began to speak, until they tell whether a message begins.
#[derive(Debug)]
pub(super) struct Search {
    direction: Direction,
    bytes: Vec<u8>,
    /// When they passed, and how many at a time.
    pieces: Vec<(Timestamp, usize)>,
}

impl Stream {
    /// `direction` begins to speak.
    pub(super) fn turn(&mut self, direction: Direction, sink: &mut Sink<'_>) {
        self.search_failed(sink);
        if let State::Decoding(decoder) = &mut self.state
            && direction == Direction::ClientToServer
            && self.opaque != [false; 2]
        {
            decoder.forget_owed();
        }
        self.seek(direction);
    }

    /// Where `direction` goes on, a message may begin: looks for it, if the direction was lost.
    pub(super) fn seek(&mut self, direction: Direction) {
        if self.row.is_some() && self.opaque[direction.index()] && matches!(self.state, State::Decoding(_)) {
            self.search = Some(Search {
                direction,
                bytes: Vec::new(),
                pieces: Vec::new(),
            });
        }
    }

    /// More of what a lost direction says.
    pub(super) fn search(&mut self, direction: Direction, input: Input<'_>, sink: &mut Sink<'_>) {
        let (Some(row), Some(search)) = (self.row, &mut self.search) else {
            return self.pass(direction, input, sink);
        };
        let before = search.bytes.len();
        let room = MAXIMUM_HELD.saturating_sub(before);
        let part = input.bytes().get(..room).unwrap_or(input.bytes());
        search.bytes.extend_from_slice(part);
        let verdict = (row.recognise)(direction, &search.bytes);
        let full = part.len() < input.bytes().len() || input.unseen_count() > 0;
        if verdict == Verdict::More && !full {
            search.joins(input);
            return;
        }
        search.bytes.truncate(before);
        let found = matches!(verdict, Verdict::Certain | Verdict::Plausible) && self.restart(direction);
        if !found {
            self.search_failed(sink);
            return self.pass(direction, input, sink);
        }
        if let Some(search) = self.search.take() {
            for (at, bytes) in search.pieces() {
                self.take(direction, Input::seen(at, bytes), sink);
            }
        }
        self.take(direction, input, sink);
    }

    fn restart(&mut self, direction: Direction) -> bool {
        let State::Decoding(decoder) = &mut self.state else {
            return false;
        };
        if !decoder.restart(direction) {
            self.row = None;
            return false;
        }
        self.opaque[direction.index()] = false;
        if self.opaque == [false; 2] {
            self.reason = None;
        }
        true
    }

    /// No message begins there: what was held back is opaque too.
    pub(super) fn search_failed(&mut self, sink: &mut Sink<'_>) {
        if let Some(search) = self.search.take() {
            let lane = search.direction.index();
            let began = search.pieces.first().map_or(self.last[lane], |piece| piece.0);
            self.given[lane] = self.given[lane].saturating_add(search.bytes.len() as u64);
            self.hand_out_opaque(search.direction, began, self.last[lane], sink);
        }
    }
}

impl Search {
    fn joins(&mut self, input: Input<'_>) {
        match self.pieces.last_mut() {
            Some((at, length)) if *at == input.at() => *length += input.bytes().len(),
            _ => self.pieces.push((input.at(), input.bytes().len())),
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
