//! The toxics of one direction of one connection, one behind the other.

use crate::stage::Stage;
use crate::toxic::Toxic;
use link::impairments::draws::Draws;
use model::Timestamp;
use std::collections::VecDeque;

/// What passes along a chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Passing {
    /// Bytes of the stream, to be sent as one piece.
    Bytes(Vec<u8>),
    /// The last of this direction.
    End(StreamEnd),
}

/// How a direction ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamEnd {
    /// Its sender has said all; the other direction goes on.
    Finished,
    /// The connection is closed in both directions, once what came before has been sent.
    Closed,
    /// The connection is reset in both directions.
    Reset,
}

/// The toxics of one direction of one connection, in the order in which they were added.
///
/// Calling order: [`Chain::accept`] with what was read while there is [`Chain::room`]; [`Chain::release`]
/// until it gives nothing more, at [`Chain::next_wake`] or later, as far as the receiver takes it. Times must
/// not go back. Bytes come out in the order in which they went in; after an end nothing comes out.
#[derive(Debug)]
pub struct Chain {
    stages: Vec<Stage>,
    /// What has passed every toxic.
    passed: VecDeque<Passing>,
    draws: Draws,
    ended: bool,
    generous: bool,
}

impl Chain {
    /// The chain of a connection that begins at `at`. What is drawn is a function of `seed`.
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

    /// A toxic begins, behind those that are there.
    pub fn add(&mut self, at: Timestamp, toxic: &Toxic) {
        self.stages.push(Stage::new(toxic, &mut self.draws, at));
    }

    /// The attributes or the toxicity of a toxic have changed. What it holds is held as the new attributes
    /// ask: a delay counts from when bytes entered it.
    pub fn change(&mut self, at: Timestamp, toxic: &Toxic) {
        if let Some(stage) = self.stages.iter_mut().find(|stage| stage.name() == toxic.name) {
            stage.change(at, toxic, &mut self.draws);
        }
    }

    /// A toxic ends. What it held goes on at once; one that has dropped bytes ends the connection.
    pub fn remove(&mut self, at: Timestamp, name: &str) {
        let Some(index) = self.stages.iter().position(|stage| stage.name() == name) else {
            return;
        };
        for passing in self.stages.remove(index).into_held() {
            self.enter(index, at, passing);
        }
    }

    /// Takes what was read at `at`.
    pub fn accept(&mut self, at: Timestamp, passing: Passing) {
        self.enter(0, at, passing);
    }

    /// Whether delays may hold as much as a fast and long link does: where memory is short, they may not.
    pub fn set_generous(&mut self, generous: bool) {
        self.generous = generous;
    }

    /// Whether more should be read. What is accepted without room is taken all the same.
    pub fn room(&self) -> bool {
        match self.stages.first() {
            Some(first) => first.has_room(self.generous),
            None => self.passed.is_empty(),
        }
    }

    /// The next that is through at `at`.
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

    /// When more may be through; `None` if nothing will be of itself.
    pub fn next_wake(&self) -> Option<Timestamp> {
        // What is due and finds no room moves when the room comes about.
        let waking = self.stages.iter().enumerate();
        let waking = waking.filter(|(index, _)| self.has_room_behind(*index));
        waking.filter_map(|(_, stage)| stage.next_wake()).min()
    }

    /// Bytes that are held.
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

    /// Moves everything that is due as far as there is room, and one piece out.
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

/// Draws of a chain are independent of those for the jitter of a link.
const PURPOSE: u64 = 0x7078;
