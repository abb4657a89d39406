//! The same question with the same answer more than once in an operation: what a cache would save.
//!
//! Equal are statements with all their parameters ([`model::RequestTraits::request_digest`]) whose answers have as many rows and bytes. Saved is each but the
//! first. On a connection that is kept, two equal questions may come from two pages: there only what is asked without a
//! pause ([`loops::TIGHT`]), or in one transaction, counts. What is asked again after a pause of [`POLLS`] waits for another answer.

use super::ledger::Waste;
use super::look::{Look, Turn};
use super::loops::{self, Evidence};
use crate::verb::Verb;
use model::FindingKind;
use std::collections::HashMap;
use std::time::Duration;

pub(super) fn look(look: &mut Look<'_>) {
    let candidates = look.turns.all.iter().filter(|turn| is_candidate(turn));
    if candidates.take(2).count() < 2 {
        return;
    }
    let sure = look.is_one_piece();
    let mut answers: HashMap<u64, (u64, Option<u64>)> = HashMap::new();
    for index in 0..look.turns.all.len() {
        let turn = look.turns.all[index];
        if turn.gap >= POLLS {
            answers.clear();
        }
        let Some(exchange) = look.exchange(index) else {
            continue;
        };
        let Some(digest) = exchange.asked.request_digest.filter(|_| is_candidate(&turn)) else {
            continue;
        };
        let answer = (exchange.reply_bytes, exchange.rows);
        let turns = u64::from(exchange.turns);
        let same_as_before = answers.insert(digest, answer) == Some(answer);
        let evidence = match sure || turn.is_open {
            true => Evidence::Sure,
            false => Evidence::Weak,
        };
        if same_as_before
            && (evidence == Evidence::Sure || turn.gap <= loops::TIGHT)
            && let Some(waste) = look.waste(FindingKind::RepeatedRead, index)
        {
            look.claim(index);
            look.note(Waste {
                count: 1,
                turns,
                saves_turns: turns,
                evidence,
                ..waste
            });
        }
    }
}

/// A program that pauses this long is polling: a cache would keep the change from it that it waits for.
const POLLS: Duration = Duration::from_millis(500);

fn is_candidate(turn: &Turn) -> bool {
    turn.is_free(Verb::Read) && turn.code.is_some_and(|code| code.has_source)
}
