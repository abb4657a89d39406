//! The buffered bytes of both directions, in order.

use crate::decoding::framing::Input;
use model::{Direction, PerDirection, Timestamp};

#[derive(Debug, Default)]
pub(super) struct Window {
    bytes: PerDirection<Vec<u8>>,
    /// Number of `bytes` before the first hole after a seen byte; `None` without one.
    whole: PerDirection<Option<usize>>,
    chunks: Vec<Chunk>,
    turns: usize,
    burst: usize,
}

#[derive(Debug, Clone, Copy)]
struct Chunk {
    at: Timestamp,
    direction: Direction,
    seen: usize,
    unseen: u64,
}

impl Window {
    /// The first bytes, by the directions seen or by the opposite ones.
    pub(super) fn openings(&self, reversed: bool) -> PerDirection<&[u8]> {
        PerDirection::from_fn(|direction| {
            let direction = turned(direction, reversed);
            let bytes = &self.bytes[direction];
            self.whole[direction]
                .and_then(|whole| bytes.get(..whole))
                .unwrap_or(bytes)
        })
    }

    pub(super) fn begins_with_hole(&self, reversed: bool) -> PerDirection<bool> {
        PerDirection::from_fn(|direction| {
            let direction = turned(direction, reversed);
            let mut chunks = self.chunks.iter().filter(|chunk| chunk.direction == direction);
            chunks
                .next()
                .is_some_and(|first| first.seen == 0 && first.unseen > 0)
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    pub(super) fn is_long(&self) -> bool {
        self.turns > MAX_DIRECTION_CHANGES
    }

    pub(super) fn length(&self) -> usize {
        self.bytes.iter().map(Vec::len).sum()
    }

    /// Buffered pieces in order: time, direction, bytes, and number of unseen bytes after them.
    pub(super) fn pieces(&self) -> impl Iterator<Item = (Timestamp, Direction, &[u8], u64)> {
        let mut rest = PerDirection::from_fn(|direction| self.bytes[direction].as_slice());
        self.chunks.iter().map(move |chunk| {
            let (bytes, behind) = rest[chunk.direction].split_at(chunk.seen);
            rest[chunk.direction] = behind;
            (chunk.at, chunk.direction, bytes, chunk.unseen)
        })
    }

    pub(super) fn is_turn(&self, direction: Direction) -> bool {
        self.chunks.last().is_some_and(|last| last.direction != direction)
            && self.bytes.iter().all(|bytes| !bytes.is_empty())
    }

    /// Bytes of `direction` to wait for before the next inspection. Lengths are fixed within a
    /// burst, so the result does not depend on the split into calls, and dense at its beginning,
    /// where protocols differ.
    pub(super) fn until_looked_at(&self, direction: Direction) -> usize {
        let goes_on = self.chunks.last().is_some_and(|last| last.direction == direction);
        let burst = if goes_on { self.burst } else { 0 };
        let step = match burst {
            0..64 => 1,
            64..1024 => 64,
            _ => 1024,
        };
        step - burst % step
    }

    pub(super) fn has_room(&self, direction: Direction, input: &Input<'_>) -> bool {
        self.chunks.len() < MAXIMUM_CHUNKS || self.joins(direction, input)
    }

    pub(super) fn push(&mut self, direction: Direction, input: Input<'_>) {
        if input.is_empty() {
            return;
        }
        if input.unseen_count() > 0 && !self.bytes[direction].is_empty() {
            self.whole[direction].get_or_insert(self.bytes[direction].len());
        }
        let joins = self.joins(direction, &input);
        self.bytes[direction].extend_from_slice(input.bytes());
        let turns = self.chunks.last().is_some_and(|last| last.direction != direction);
        self.turns += usize::from(turns);
        if turns || self.chunks.is_empty() {
            self.burst = 0;
        }
        self.burst += input.bytes().len();
        match self.chunks.last_mut() {
            Some(last) if joins => last.seen += input.bytes().len(),
            _ => self.chunks.push(Chunk {
                at: input.at(),
                direction,
                seen: input.bytes().len(),
                unseen: input.unseen_count(),
            }),
        }
    }

    fn joins(&self, direction: Direction, input: &Input<'_>) -> bool {
        let last = self.chunks.last();
        last.is_some_and(|last| {
            (last.direction, last.at) == (direction, input.at())
                && last.unseen == 0
                && input.unseen_count() == 0
        })
    }

    pub(super) fn drop_first(&mut self) -> Option<(Direction, Passed)> {
        let first = *self.chunks.first()?;
        let count = self
            .chunks
            .iter()
            .take_while(|chunk| chunk.direction == first.direction)
            .count();
        let burst: Vec<Chunk> = self.chunks.drain(..count).collect();
        let seen: usize = burst.iter().map(|chunk| chunk.seen).sum();
        let unseen: u64 = burst.iter().map(|chunk| chunk.unseen).sum();
        self.bytes[first.direction].drain(..seen);
        self.find_holes(first.direction);
        self.turns = self.turns.saturating_sub(1);
        let passed = Passed {
            direction: first.direction,
            started: first.at,
            ended: burst.last().map_or(first.at, |last| last.at),
            bytes: seen as u64 + unseen,
        };
        Some((first.direction, passed))
    }

    fn find_holes(&mut self, direction: Direction) {
        let mut before = 0;
        let chunks = self.chunks.iter().filter(|chunk| chunk.direction == direction);
        self.whole[direction] = None;
        for chunk in chunks {
            before += chunk.seen;
            if chunk.unseen > 0 && before > 0 {
                self.whole[direction] = Some(before);
                return;
            }
        }
    }
}

pub(super) const fn turned(direction: Direction, reversed: bool) -> Direction {
    if reversed { direction.reverse() } else { direction }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Passed {
    pub(super) direction: Direction,
    pub(super) started: Timestamp,
    pub(super) ended: Timestamp,
    pub(super) bytes: u64,
}

/// Maximum bytes buffered, both directions together, while the protocol is unknown.
pub const MAXIMUM_HELD: usize = 16 * 1024;

const MAXIMUM_CHUNKS: usize = 256;

/// Changes of direction after which a protocol without contradiction or proof is discarded.
const MAX_DIRECTION_CHANGES: usize = 16;
