//! The same question with the same answer more than once in an operation: what a cache would save.
//!
//! Equal are statements with all their parameters ([`model::RequestTraits::request_digest`]) whose answers
//! have as many rows and bytes. All but the first can be saved. A question repeated after a pause of
//! [`POLLS`] polls for another answer. On a connection that is kept, two equal questions may come from two
//! pages: there both must be in one [`Stretch`]. Questions that carry identifiers of different requests are
//! never a repetition, whatever the operation.

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

/// What is asked, and on whose behalf as far as that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Question {
    digest: u64,
    request: Option<RequestId>,
    /// `None` if all of the operation is one.
    stretch: Option<u64>,
}

/// What an answer looks like.
#[derive(Debug, Clone, Copy)]
struct Answer {
    bytes: u64,
    rows: Option<u64>,
    /// Which operation it belongs to is one.
    is_guess: bool,
}

impl Answer {
    fn is_like(self, other: Self) -> bool {
        (self.bytes, self.rows) == (other.bytes, other.rows)
    }
}

/// A part of what a connection did that one page did, most likely: a transaction, or round trips without a
/// pause ([`loops::TIGHT`]) outside of any.
#[derive(Debug, Default)]
struct Stretch {
    number: u64,
    last: Option<Turn>,
    /// The last round trip ended a transaction.
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

/// A program that pauses this long is polling: a cache would keep the change from it that it waits for.
const POLLS: Duration = Duration::from_millis(500);

fn is_candidate(turn: &Turn) -> bool {
    turn.is_free(Verb::Read) && turn.code.is_some_and(|code| code.has_source)
}
