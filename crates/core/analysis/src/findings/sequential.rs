//! Independent queries sent one after another.
//!
//! Only statements without literals and parameters count: they cannot depend on other replies. A
//! run of [`MIN_BATCH_STATEMENTS`], each different from the one before and without a pause, could
//! be one round trip. System tables are excluded: monitoring reads them, and no user waits.
//!
//! A row of [`MIN_SEQUENCE_STATEMENTS`] different statements in a request or transaction is also
//! reported, without a saving: dependencies between them are not visible.

use super::fingerprint_ids::FingerprintId;
use super::ledger::Waste;
use super::loops::{self, Evidence};
use super::operation_view::{OperationView, Turn};
use crate::verb::Verb;
use foldhash::HashSet;
use model::FindingKind;

const MIN_BATCH_STATEMENTS: usize = 3;

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
                // Already asked in this row: another finding's, or no waste. A transaction's
                // control statements do not end it.
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
