//! The same question with the same answer more than once in an operation: a cache would save it.
//!
//! Statements are equal with all parameters ([`model::RequestTraits::request_digest`]); answers
//! with equal rows and bytes. All but the first can be saved. After a pause of [`POLLS`] the client
//! polls for a new answer. On a kept connection two equal questions may come from two pages, so
//! both must be in one [`Stretch`]. Questions with identifiers of different requests never match.

use super::fingerprint_ids::Bound;
use super::ledger::Waste;
use super::loops::{self, Evidence};
use super::operation_view::{OperationView, Turn};
use crate::verb::Verb;
use foldhash::HashMap;
use model::{Assigned, ConnectionId, FindingKind, RequestId};
use std::time::Duration;

pub(super) fn detect_waste(view: &mut OperationView<'_>) {
    let candidates = view.turns.all.iter().filter(|turn| is_candidate(turn));
    if candidates.take(2).count() < 2 {
        return;
    }
    let is_one_piece = view.is_one_piece();
    let mut answers: HashMap<Question, Answer> = HashMap::default();
    let mut stretch = Stretch::default();
    for index in 0..view.turns.all.len() {
        let turn = view.turns.all[index];
        if turn.gap >= POLLS {
            answers.clear();
        }
        stretch.add_turn(&turn);
        let Some(step) = view.operation.steps.get(turn.step) else {
            continue;
        };
        let exchange = &step.exchange;
        let Some(digest) = exchange.asked.request_digest.filter(|_| is_candidate(&turn)) else {
            continue;
        };
        let question = Question {
            digest,
            request: exchange.tags.as_ref().and_then(|tags| tags.request),
            stretch: (!is_one_piece).then_some(stretch.number),
        };
        let answer = Answer {
            bytes: exchange.reply_bytes,
            rows: exchange.rows,
            is_guess: step.assigned == Some(Assigned::Order),
        };
        let turns = u64::from(exchange.turns);
        let Some(before) = answers
            .insert(question, answer)
            .filter(|before| before.is_like(answer))
        else {
            continue;
        };
        let is_sure = (is_one_piece && !before.is_guess && !answer.is_guess) || turn.is_open;
        if let Some(waste) = view.waste(FindingKind::RepeatedRead, index) {
            view.claim(index);
            view.record_waste(Waste {
                count: 1,
                turns,
                saves_turns: turns,
                evidence: if is_sure { Evidence::Sure } else { Evidence::Weak },
                ..waste
            });
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Question {
    digest: u64,
    request: Option<RequestId>,
    /// `None` if the whole operation is one stretch.
    stretch: Option<u64>,
}

#[derive(Debug, Clone, Copy)]
struct Answer {
    bytes: u64,
    rows: Option<u64>,
    /// Whether its operation is guessed.
    is_guess: bool,
}

impl Answer {
    fn is_like(self, other: Self) -> bool {
        (self.bytes, self.rows) == (other.bytes, other.rows)
    }
}

/// A part of a connection's work that probably belongs to one page: a transaction, or round trips
/// without a pause ([`loops::TIGHT`]) outside one.
#[derive(Debug, Default)]
struct Stretch {
    number: u64,
    last: Option<Turn>,
    has_ended: bool,
}

impl Stretch {
    fn add_turn(&mut self, turn: &Turn) {
        let connection: Option<ConnectionId> = self.last.map(|last| last.connection);
        let was_open = self.last.is_some_and(|last| last.is_open);
        let begins = bound(turn) == Some(Bound::Begin) || (turn.is_open && !was_open);
        let pauses = turn.gap > loops::TIGHT && !was_open;
        if connection != Some(turn.connection) || self.has_ended || begins || pauses {
            self.number += 1;
        }
        self.has_ended = bound(turn) == Some(Bound::End) || (was_open && !turn.is_open);
        self.last = Some(*turn);
    }
}

fn bound(turn: &Turn) -> Option<Bound> {
    turn.code.and_then(|code| code.bounds)
}

/// A client with this pause is polling: a cache would hide the change it waits for.
const POLLS: Duration = Duration::from_millis(500);

fn is_candidate(turn: &Turn) -> bool {
    turn.is_free(Verb::Read) && turn.code.is_some_and(|code| code.has_source)
}
