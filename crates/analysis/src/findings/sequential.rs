//! Queries that did not need each other's results, asked one after another.
//!
//! Only statements without any literal and parameter count: these cannot have needed what another one
//! replied. A run of [`MIN_BATCH_STATEMENTS`] of them, each different from the one before and asked without a
//! pause, could have been one round trip. Not of system tables: monitoring asks so, and nobody waits for it.
//!
//! A row of [`MIN_SEQUENCE_STATEMENTS`] or more different statements of one request or transaction, none of
//! them asked twice, is reported too, without a saving: which of them needed what another replied does not
//! show.

use super::fingerprint_ids::FingerprintId;
use super::ledger::Waste;
use super::loops::{self, Evidence};
use super::operation_view::{OperationView, Turn};
use crate::verb::Verb;
use foldhash::HashSet;
use model::FindingKind;

/// Statements from which on they are worth sending together.
const MIN_BATCH_STATEMENTS: usize = 3;

/// Different statements one after another from which on a row of them is reported, whatever they need from
/// each other.
const MIN_SEQUENCE_STATEMENTS: usize = 20;

pub(super) fn detect_waste(view: &mut OperationView<'_>) {
    look_for_constants(view);
    if view.is_one_piece() {
        look_for_rows(view);
    }
}

fn look_for_rows(view: &mut OperationView<'_>) {
    let mut number = 0;
    while let Some(lane) = view.lane(number) {
        number += 1;
        let mut row: Vec<usize> = Vec::new();
        let mut seen: HashSet<u32> = HashSet::default();
        for index in lane {
            let turn = view.turns.all[index];
            let is_read = turn.is_free(Verb::Read);
            match turn.code.filter(|code| is_read && !code.is_catalogue) {
                Some(code) if seen.insert(code.number) => row.push(index),
                // Asked before in the row: another finding's, or nobody's. A transaction's own statements do
                // not end it.
                Some(_) => {}
                None if turn.code.is_some_and(|code| code.control.is_some()) => {}
                None => {
                    note_row(view, &row);
                    row.clear();
                    seen.clear();
                }
            }
        }
        note_row(view, &row);
    }
}

fn note_row(view: &mut OperationView<'_>, row: &[usize]) {
    if row.len() < MIN_SEQUENCE_STATEMENTS {
        return;
    }
    let Some(waste) = row
        .first()
        .and_then(|&turn| view.waste(FindingKind::Sequential, turn))
    else {
        return;
    };
    row.iter().for_each(|&turn| view.claim(turn));
    let count = row.len() as u64;
    view.record_waste(Waste {
        fingerprint: None,
        dependent: Some(true),
        count,
        turns: count,
        ..waste
    });
}

fn look_for_constants(view: &mut OperationView<'_>) {
    let mut number = 0;
    while let Some(lane) = view.lane(number) {
        number += 1;
        let mut run: Vec<usize> = Vec::new();
        for index in lane {
            let turn = view.turns.all[index];
            let goes_on = run
                .last()
                .is_some_and(|&last| may_follow(view, &view.turns.all[last], &turn));
            if !goes_on {
                record_waste(view, &run);
                run.clear();
            }
            let is_constant = |code: FingerprintId| code.is_constant && !code.is_catalogue;
            if turn.is_free(Verb::Read) && turn.code.is_some_and(is_constant) {
                run.push(index);
            }
        }
        record_waste(view, &run);
    }
}

fn may_follow(view: &OperationView<'_>, last: &Turn, turn: &Turn) -> bool {
    !turn.repeats(last) && (view.is_one_piece() || turn.is_open || turn.gap <= loops::TIGHT)
}

fn record_waste(view: &mut OperationView<'_>, run: &[usize]) {
    if run.len() < MIN_BATCH_STATEMENTS {
        return;
    }
    let Some(waste) = run
        .first()
        .and_then(|&turn| view.waste(FindingKind::Sequential, turn))
    else {
        return;
    };
    for &turn in run {
        view.claim(turn);
    }
    let count = run.len() as u64;
    let sure = view.is_one_piece() || run.iter().all(|&turn| view.turns.all[turn].is_open);
    view.record_waste(Waste {
        fingerprint: None,
        count,
        turns: count,
        saves_turns: count - 1,
        evidence: if sure { Evidence::Sure } else { Evidence::Weak },
        ..waste
    });
}
