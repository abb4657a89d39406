//! The toxics of one direction of a connection, in sequence.

use super::stage::{Passing, Stage};
use super::toxic::Toxic;
use link::impairments::draws::Draws;
use model::Timestamp;
use std::collections::VecDeque;

/// The toxics of one direction of a connection, in order of addition.
///
/// The order of calls is [`Chain::accept`] with read bytes while there is [`Chain::room`];
/// [`Chain::release`] until it returns `None`, at [`Chain::next_wake`] or later, as far as the
/// receiver accepts them. Times must not go back. Bytes keep their order; an end is the last
/// output.
#[derive(Debug)]
pub struct Chain {
    stages: Vec<Stage>,
    passed: VecDeque<Passing>,
    draws: Draws,
    ended: bool,
    generous: bool,
}

impl Chain {
    /// Draws are a function of `seed`.
    pub fn new<'a>(toxics: impl IntoIterator<Item = &'a Toxic>, seed: u64, at: Timestamp) -> Self {
        let mut chain = Self {
            stages: Vec::new(),
            passed: VecDeque::new(),
            draws: Draws::new(seed, PURPOSE),
            ended: false,
            generous: true,
        };
        toxics.into_iter().for_each(|toxic| chain.add(at, toxic));
        chain
    }

    pub fn add(&mut self, at: Timestamp, toxic: &Toxic) {
        self.stages.push(Stage::new(toxic, &mut self.draws, at));
    }

    /// Held bytes follow the new attributes: a delay counts from their entry.
    pub fn change(&mut self, at: Timestamp, toxic: &Toxic) {
        if let Some(stage) = self.stages.iter_mut().find(|stage| stage.name() == toxic.name) {
            stage.change(at, toxic, &mut self.draws);
        }
    }

    /// Held bytes continue at once; if the toxic has dropped bytes, the connection ends.
    pub fn remove(&mut self, at: Timestamp, name: &str) {
        let Some(index) = self.stages.iter().position(|stage| stage.name() == name) else {
            return;
        };
        for passing in self.stages.remove(index).into_held() {
            self.enter(index, at, passing);
        }
    }

    pub fn accept(&mut self, at: Timestamp, passing: Passing) {
        self.enter(0, at, passing);
    }

    /// Whether delays may buffer as much as a fast, long link. Disable it when memory is short.
    pub fn set_generous(&mut self, generous: bool) {
        self.generous = generous;
    }

    /// Input without room is accepted all the same.
    pub fn room(&self) -> bool {
        match self.stages.first() {
            Some(first) => first.has_room(self.generous),
            None => self.passed.is_empty(),
        }
    }

    /// The next output at `at`.
    pub fn release(&mut self, at: Timestamp) -> Option<Passing> {
        if self.ended {
            return None;
        }
        if self.passed.is_empty() {
            self.advance(at);
        }
        let passing = self.passed.pop_front()?;
        self.ended = matches!(passing, Passing::End(_));
        Some(passing)
    }

    /// Time of the next output; `None` if only input or room can cause one.
    pub fn next_wake(&self) -> Option<Timestamp> {
        // Due pieces without room move when room appears.
        let waking = self.stages.iter().enumerate();
        let waking = waking.filter(|(index, _)| self.has_room_behind(*index));
        waking.filter_map(|(_, stage)| stage.next_wake()).min()
    }

    pub fn held_bytes(&self) -> usize {
        let passed = self.passed.iter().map(|passing| match passing {
            Passing::Bytes(bytes) => bytes.len(),
            Passing::End(_) => 0,
        });
        self.stages.iter().map(Stage::held_bytes).sum::<usize>() + passed.sum::<usize>()
    }

    fn enter(&mut self, index: usize, at: Timestamp, passing: Passing) {
        match self.stages.get_mut(index) {
            Some(stage) => stage.accept(at, passing, &mut self.draws),
            None => self.passed.push_back(passing),
        }
    }

    fn has_room_behind(&self, index: usize) -> bool {
        match self.stages.get(index + 1) {
            Some(next) => next.has_room(self.generous),
            None => self.passed.is_empty(),
        }
    }

    /// Moves all due pieces that fit, and one to the output.
    fn advance(&mut self, at: Timestamp) {
        let mut moved = true;
        while moved && self.passed.is_empty() {
            moved = false;
            for index in 0..self.stages.len() {
                while self.has_room_behind(index)
                    && let Some((due, passing)) =
                        self.stages.get_mut(index).and_then(|stage| stage.release(at))
                {
                    self.enter(index + 1, due, passing);
                    moved = true;
                }
            }
        }
    }
}

/// Draws are independent of those for the jitter of a link.
const PURPOSE: u64 = 0x7078;
