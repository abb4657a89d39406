//! Detects the protocol of a stream, behind a PROXY header. Its input waits.

use super::buffered_bursts::BufferedBursts;
use super::detection::{Choice, Circumstances};
use super::proxied::{HeaderPassed, Preface};
use super::window::{Passed, turned};
use crate::decoding::framing::Input;
use model::{Direction, PerDirection, Timestamp};

#[derive(Debug)]
pub(super) struct Detector {
    preface: Preface,
    buffer: Buffer,
}

/// Input behind the header.
#[derive(Debug)]
struct Buffer {
    of: Circumstances,
    bursts: BufferedBursts,
    choice: Option<Choice>,
}

impl Detector {
    pub(super) fn new(of: Circumstances) -> Self {
        let bursts = BufferedBursts::default();
        Self {
            preface: match of.is_joined {
                true => Preface::over(),
                false => Preface::default(),
            },
            buffer: Buffer {
                of,
                bursts,
                choice: None,
            },
        }
    }

    pub(super) const fn choice(&self) -> Option<Choice> {
        self.buffer.choice
    }

    pub(super) fn process_input(&mut self, direction: Direction, input: Input<'_>) {
        if input.is_empty() {
            return;
        }
        if direction == Direction::ServerToClient {
            self.flush_preface();
            return self.buffer.process_input(direction, input);
        }
        let Self { preface, buffer } = self;
        preface
            .process_input(input)
            .each(|input| buffer.process_input(direction, input));
    }

    fn flush_preface(&mut self) {
        let Self { preface, buffer } = self;
        preface
            .flush()
            .each(|input| buffer.process_input(Direction::ClientToServer, input));
    }

    pub(super) fn decide_at_end(&mut self) {
        self.flush_preface();
        let Buffer { of, bursts, choice } = &mut self.buffer;
        choice.get_or_insert_with(|| bursts.decide_at_end(*of));
    }

    pub(super) const fn header(&self) -> Option<HeaderPassed> {
        self.preface.header()
    }

    /// Bursts before the first message, with the true directions.
    pub(super) fn passed(&self, reversed: bool) -> impl Iterator<Item = Passed> {
        let passed = self.buffer.bursts.passed.iter();
        passed.map(move |burst| Passed {
            direction: turned(burst.direction, reversed),
            ..*burst
        })
    }

    /// First bytes of both true directions.
    pub(super) fn openings(&self, reversed: bool) -> PerDirection<&[u8]> {
        self.buffer.bursts.window.openings(reversed)
    }

    /// Buffered pieces in order with the true directions: time, direction, bytes, and number of
    /// unseen bytes after them.
    pub(super) fn pieces(&self, reversed: bool) -> impl Iterator<Item = (Timestamp, Direction, &[u8], u64)> {
        let pieces = self.buffer.bursts.window.pieces();
        pieces.map(move |(at, direction, bytes, unseen)| (at, turned(direction, reversed), bytes, unseen))
    }
}

impl Buffer {
    fn process_input(&mut self, direction: Direction, input: Input<'_>) {
        match self.choice {
            None => self.choice = self.bursts.process_input(direction, input, self.of),
            Some(_) => self.bursts.window.push(direction, input),
        }
    }
}
