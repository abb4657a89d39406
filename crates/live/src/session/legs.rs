//! The legs of opening a session: where its time went, without gaps.

use super::line::Passed;
use model::{Leg, Phase, Timestamp};
use std::time::Duration;

/// Legs as they end.
#[derive(Debug)]
pub(super) struct Legs {
    began: Timestamp,
    ended: Timestamp,
    passed: Passed,
    legs: Vec<Leg>,
}

impl Legs {
    /// The first begins now.
    pub const fn begin(at: Timestamp) -> Self {
        Self {
            began: at,
            ended: at,
            passed: Passed {
                turns: 0,
                bytes: [0; 2],
            },
            legs: Vec::new(),
        }
    }

    /// A leg ends at `at`, when so much has passed in all; the next one begins there.
    pub fn end(&mut self, name: &str, phase: Phase, at: Timestamp, passed: Passed) {
        let at = at.max(self.ended);
        let moved = |index: usize| passed.bytes[index].saturating_sub(self.passed.bytes[index]);
        self.legs.push(Leg {
            name: name.into(),
            phase,
            duration: at.since(self.ended),
            turns: passed.turns.saturating_sub(self.passed.turns),
            payload_bytes: [moved(0), moved(1)],
            remedy: None,
            saves_turns: 0,
        });
        self.ended = at;
        self.passed = passed;
    }

    /// How the leg that ended last can be done with so many turns less.
    pub fn remedy(&mut self, saves_turns: u64, text: &str) {
        if let Some(leg) = self.legs.last_mut() {
            leg.remedy = Some(text.into());
            leg.saves_turns = saves_turns.min(leg.turns);
        }
    }

    pub fn as_slice(&self) -> &[Leg] {
        &self.legs
    }

    /// When the first began, and the last ended.
    pub const fn span(&self) -> (Timestamp, Timestamp) {
        (self.began, self.ended)
    }

    /// From the beginning of the first to the end of the last: their sum.
    pub fn total(&self) -> Duration {
        self.ended.since(self.began)
    }
}
