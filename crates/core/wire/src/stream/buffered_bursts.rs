//! Buffers payload until the protocol is known.

use super::detection::{Choice, Circumstances, survey};
use super::trial::Occasion;
use super::window::{MAXIMUM_HELD, Passed, Window};
use crate::decoding::framing::Input;
use model::Direction;

#[derive(Debug, Default)]
pub(super) struct BufferedBursts {
    /// Discarded bursts, oldest first: the beginnings of a connection joined in the middle.
    pub(super) passed: Vec<Passed>,
    pub(super) window: Window,
    passing: Option<Direction>,
    /// Some bytes were lost. As after joining in the middle, the following bytes may be the middle
    /// of a message.
    pub(super) lost: bool,
}

impl BufferedBursts {
    fn detect_protocol(&mut self, of: Circumstances, occasion: Occasion) -> Option<Choice> {
        loop {
            let (agreed, open) = survey(&self.window, of, occasion);
            if agreed.is_some() {
                return agreed;
            }
            let gives_up = !open || occasion == Occasion::End || self.window.is_long();
            if !gives_up {
                return None;
            }
            let goes_on = (of.is_joined || self.lost) && self.discard_first();
            if !goes_on {
                return Some(Choice {
                    row: None,
                    reversed: false,
                });
            }
            if self.window.is_empty() {
                return None;
            }
        }
    }

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

    /// Discards the first burst of the window; false if too many were discarded.
    fn discard_first(&mut self) -> bool {
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

const MAX_DISCARDED_BURSTS: usize = 16;
