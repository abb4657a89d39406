//! What waits until the protocol is known.

use super::detection::{Choice, Circumstances, MAXIMUM_HELD, Occasion, Passed};
use decoding::framing::Input;
use model::{Direction, Timestamp};

/// What has passed of a connection whose protocol is not known.
#[derive(Debug, Default)]
pub(super) struct BufferedBursts {
    /// Bursts that were given up, oldest first: the beginnings of what was joined in the middle.
    pub(super) passed: Vec<Passed>,
    /// What is inspected.
    pub(super) window: Window,
    /// The direction whose burst was given up and goes on.
    passing: Option<Direction>,
    /// Bytes were lost: as when it was joined in the middle, what is behind them may be the middle of a
    /// message.
    pub(super) lost: bool,
}

/// Bytes from the beginning of a burst on.
#[derive(Debug, Default)]
pub(super) struct Window {
    bytes: [Vec<u8>; 2],
    /// Per direction: how many of `bytes` came before the first hole behind a seen byte.
    whole: [Option<usize>; 2],
    chunks: Vec<Chunk>,
    turns: usize,
    /// Seen bytes of the burst that arrived last.
    burst: usize,
}

#[derive(Debug, Clone, Copy)]
struct Chunk {
    at: Timestamp,
    direction: Direction,
    seen: usize,
    unseen: u64,
}

impl BufferedBursts {
    /// Takes `input`; returns what was found, with all of `input` among what waits.
    pub(super) fn process_input(
        &mut self,
        direction: Direction,
        input: Input<'_>,
        of: Circumstances,
    ) -> Option<Choice> {
        self.lost |= input.unseen_count() > 0;
        if self.passing == Some(direction) {
            self.pass(direction, input);
            return None;
        }
        self.passing = None;
        if self.window.is_turn(direction) {
            let found = self.detect_protocol(of, Occasion::Turn);
            self.passing = None;
            if found.is_some() {
                self.window.push(direction, input);
                return found;
            }
        }
        if input.unseen_count() > 0 {
            return self.take_unseen(direction, input, of);
        }
        let (found, left) = self.take_part(direction, input, of);
        if left.is_empty() {
            return found;
        }
        if found.is_some() {
            self.window.push(direction, left);
            return found;
        }
        self.process_input(direction, left, of)
    }

    /// Takes seen bytes up to where it is looked next; returns what was found and the rest.
    fn take_part<'a>(
        &mut self,
        direction: Direction,
        mut input: Input<'a>,
        of: Circumstances,
    ) -> (Option<Choice>, Input<'a>) {
        let room = MAXIMUM_HELD.saturating_sub(self.window.length());
        if room == 0 || !self.window.has_room(direction, &input) {
            return (self.detect_protocol(of, Occasion::End), input);
        }
        let wanted = self.window.until_looked_at(direction);
        let part = input.take_bytes(wanted.min(room));
        let is_looked_at = part.len() == wanted;
        self.window.push(direction, Input::seen(input.at(), part));
        let found = is_looked_at
            .then(|| self.detect_protocol(of, Occasion::More))
            .flatten();
        (found, input)
    }
    fn take_unseen(&mut self, direction: Direction, input: Input<'_>, of: Circumstances) -> Option<Choice> {
        if !self.window.has_room(direction, &input) {
            let found = self.detect_protocol(of, Occasion::End);
            if found.is_none() {
                return self.process_input(direction, input, of);
            }
            self.window.push(direction, input);
            return found;
        }
        self.window.push(direction, input);
        self.detect_protocol(of, Occasion::More)
    }

    /// Nothing more arrives.
    pub(super) fn decide_at_end(&mut self, of: Circumstances) -> Choice {
        loop {
            if let Some(found) = self.detect_protocol(of, Occasion::End) {
                return found;
            }
            if self.window.is_empty() {
                return Choice {
                    row: None,
                    reversed: false,
                };
            }
        }
    }

    /// Gives up the first burst of the window; false when too many were.
    pub(super) fn discard_first(&mut self) -> bool {
        if self.passed.len() >= MAX_DISCARDED_BURSTS {
            return false;
        }
        let Some((direction, burst)) = self.window.drop_first() else {
            return false;
        };
        self.passed.push(burst);
        if self.window.is_empty() {
            self.passing = Some(direction);
        }
        true
    }

    fn pass(&mut self, direction: Direction, input: Input<'_>) {
        if let Some(last) = self.passed.last_mut().filter(|last| last.direction == direction) {
            last.ended = input.at();
            last.bytes = last.bytes.saturating_add(input.length());
        }
    }
}

impl Window {
    /// The first bytes of each direction, without a hole.
    pub(super) fn openings(&self) -> [&[u8]; 2] {
        [0, 1].map(|lane| {
            let bytes = &self.bytes[lane];
            self.whole[lane]
                .and_then(|whole| bytes.get(..whole))
                .unwrap_or(bytes)
        })
    }

    /// Whether the first bytes of a direction were not seen.
    pub(super) fn begins_with_hole(&self) -> [bool; 2] {
        [Direction::ClientToServer, Direction::ServerToClient].map(|direction| {
            let mut chunks = self.chunks.iter().filter(|chunk| chunk.direction == direction);
            chunks
                .next()
                .is_some_and(|first| first.seen == 0 && first.unseen > 0)
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// How often the direction has changed.
    pub(super) fn turns(&self) -> usize {
        self.turns
    }

    fn length(&self) -> usize {
        self.bytes.iter().map(Vec::len).sum()
    }

    /// What waits, in its order: when, which way, the bytes, and how many behind them were not seen.
    pub(super) fn pieces(&self) -> impl Iterator<Item = (Timestamp, Direction, &[u8], u64)> {
        let mut rest = self.bytes.each_ref().map(Vec::as_slice);
        self.chunks.iter().map(move |chunk| {
            let lane = chunk.direction.index();
            let (bytes, behind) = rest[lane].split_at(chunk.seen);
            rest[lane] = behind;
            (chunk.at, chunk.direction, bytes, chunk.unseen)
        })
    }

    /// Whether `direction` begins to speak after the other one, and both have.
    fn is_turn(&self, direction: Direction) -> bool {
        self.chunks.last().is_some_and(|last| last.direction != direction)
            && self.bytes.iter().all(|bytes| !bytes.is_empty())
    }

    /// How many more bytes of `direction` to wait for before it is looked again: at fixed lengths of the
    /// burst, so that what is found does not depend on how the bytes were split into calls; often where a
    /// burst begins, which is where protocols differ.
    fn until_looked_at(&self, direction: Direction) -> usize {
        let goes_on = self.chunks.last().is_some_and(|last| last.direction == direction);
        let burst = if goes_on { self.burst } else { 0 };
        let step = match burst {
            0..64 => 1,
            64..1024 => 64,
            _ => 1024,
        };
        step - burst % step
    }

    fn has_room(&self, direction: Direction, input: &Input<'_>) -> bool {
        self.chunks.len() < MAXIMUM_CHUNKS || self.joins(direction, input)
    }

    pub(super) fn push(&mut self, direction: Direction, input: Input<'_>) {
        if input.is_empty() {
            return;
        }
        let lane = direction.index();
        if input.unseen_count() > 0 && !self.bytes[lane].is_empty() {
            self.whole[lane].get_or_insert(self.bytes[lane].len());
        }
        let joins = self.joins(direction, &input);
        self.bytes[lane].extend_from_slice(input.bytes());
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

    /// Whether `input` is more of what arrived last, at the same time.
    fn joins(&self, direction: Direction, input: &Input<'_>) -> bool {
        let last = self.chunks.last();
        last.is_some_and(|last| {
            (last.direction, last.at) == (direction, input.at())
                && last.unseen == 0
                && input.unseen_count() == 0
        })
    }

    /// Takes the first burst out.
    fn drop_first(&mut self) -> Option<(Direction, Passed)> {
        let first = *self.chunks.first()?;
        let count = self
            .chunks
            .iter()
            .take_while(|chunk| chunk.direction == first.direction)
            .count();
        let burst: Vec<Chunk> = self.chunks.drain(..count).collect();
        let seen: usize = burst.iter().map(|chunk| chunk.seen).sum();
        let unseen: u64 = burst.iter().map(|chunk| chunk.unseen).sum();
        let lane = first.direction.index();
        self.bytes[lane].drain(..seen);
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

    /// Where the first hole of a direction is now.
    fn find_holes(&mut self, direction: Direction) {
        let mut before = 0;
        let chunks = self.chunks.iter().filter(|chunk| chunk.direction == direction);
        self.whole[direction.index()] = None;
        for chunk in chunks {
            before += chunk.seen;
            if chunk.unseen > 0 && before > 0 {
                self.whole[direction.index()] = Some(before);
                return;
            }
        }
    }
}

/// Most calls held back.
const MAXIMUM_CHUNKS: usize = 256;
/// Most bursts given up before everything is given up.
const MAX_DISCARDED_BURSTS: usize = 16;
