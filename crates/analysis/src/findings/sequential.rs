//! Queries that did not need each other's results, asked one after another.
//!
//! Only statements without any literal and parameter count: these cannot have needed what another one replied. A run of [`LEAST_RUN`] of
//! them, each different from the one before and asked without a pause, could have been one round trip. Not of system tables: monitoring asks so, and
//! nobody waits for it.
//!
//! A row of [`LEAST_ROW`] or more different statements of one request or transaction, none of them asked twice, is reported too, without a
//! saving: which of them needed what another replied does not show.

use super::codes::Code;
use super::ledger::Waste;
use super::look::{Look, Turn};
use super::loops::{self, Evidence};
use crate::verb::Verb;
use foldhash::HashSet;
use model::FindingKind;

/// Statements from which on they are worth sending together.
const LEAST_RUN: usize = 3;

/// Different statements one after another from which on a row of them is reported, whatever they need from each other.
const LEAST_ROW: usize = 20;

pub(super) fn look(look: &mut Look<'_>) {
    look_for_constants(look);
    if look.is_one_piece() {
        look_for_rows(look);
    }
}

fn look_for_rows(look: &mut Look<'_>) {
    let mut number = 0;
    while let Some(lane) = look.lane(number) {
        number += 1;
        let mut row: Vec<usize> = Vec::new();
        let mut seen: HashSet<u32> = HashSet::default();
        for index in lane {
            let turn = look.turns.all[index];
            let is_read = turn.is_free(Verb::Read);
            match turn.code.filter(|code| is_read && !code.is_catalogue) {
                Some(code) if seen.insert(code.number) => row.push(index),
                // Asked before in the row: another finding's, or nobody's. A transaction's own statements do not end it.
                Some(_) => {}
                None if turn.code.is_some_and(|code| code.control.is_some()) => {}
                None => {
                    note_row(look, &row);
                    row.clear();
                    seen.clear();
                }
            }
        }
        note_row(look, &row);
    }
}

fn note_row(look: &mut Look<'_>, row: &[usize]) {
    if row.len() < LEAST_ROW {
        return;
    }
    let Some(waste) = row
        .first()
        .and_then(|&turn| look.waste(FindingKind::Sequential, turn))
    else {
        return;
    };
    row.iter().for_each(|&turn| look.claim(turn));
    let count = row.len() as u64;
    look.note(Waste {
        fingerprint: None,
        dependent: Some(true),
        count,
        turns: count,
        ..waste
    });
}

fn look_for_constants(look: &mut Look<'_>) {
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
