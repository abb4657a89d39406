//! Queries that did not need each other's results, asked one after another.
//!
//! Only statements without any literal and parameter count: these cannot have needed what another one replied. A run of [`LEAST_RUN`] of
//! them, each different from the one before and asked without a pause, could have been one turn. Not of system tables: monitoring asks so, and
//! nobody waits for it.

use super::codes::Code;
use super::ledger::Waste;
use super::look::{Look, Turn};
use super::loops::{self, Evidence};
use crate::verb::Verb;
use model::FindingKind;

/// Statements from which on they are worth sending together.
const LEAST_RUN: usize = 3;

pub(super) fn look(look: &mut Look<'_>) {
    let mut number = 0;
    while let Some(lane) = look.lane(number) {
        number += 1;
        let mut run: Vec<usize> = Vec::new();
        for index in lane {
            let turn = look.turns.all[index];
            let goes_on = run
                .last()
                .is_some_and(|&last| may_follow(look, &look.turns.all[last], &turn));
            if !goes_on {
                note(look, &run);
                run.clear();
            }
            let is_constant = |code: Code| code.is_constant && !code.is_catalogue;
            if turn.is_free(Verb::Read) && turn.code.is_some_and(is_constant) {
                run.push(index);
            }
        }
        note(look, &run);
    }
}

fn may_follow(look: &Look<'_>, last: &Turn, turn: &Turn) -> bool {
    !turn.repeats(last) && (look.is_one_piece() || turn.is_open || turn.gap <= loops::TIGHT)
}

fn note(look: &mut Look<'_>, run: &[usize]) {
    if run.len() < LEAST_RUN {
        return;
    }
    let Some(waste) = run
        .first()
        .and_then(|&turn| look.waste(FindingKind::Sequential, turn))
    else {
        return;
    };
    for &turn in run {
        look.claim(turn);
    }
    let count = run.len() as u64;
    let sure = look.is_one_piece() || run.iter().all(|&turn| look.turns.all[turn].is_open);
    look.note(Waste {
        fingerprint: None,
        count,
        turns: count,
        saves_turns: count - 1,
        evidence: if sure { Evidence::Sure } else { Evidence::Weak },
        ..waste
    });
}
