//! Rows written one by one: a loop ([`loops`]) with a statement that writes few rows per round.
//!
//! Saved are all round trips except those needed to send the rows in pieces of
//! [`MAX_STATEMENT_BYTES`]. Whether the loop is a program's or a driver's batch is decided at the
//! end, when the driver is known ([`super::unrewritten_batch`]).

use super::ledger::Waste;
use super::loops::{self, Evidence, Loop};
use super::operation_view::OperationView;
use crate::verb::Verb;
use model::FindingKind;
use std::time::Duration;

/// The smallest usual limit of a statement (MariaDB's `max_allowed_packet`).
const MAX_STATEMENT_BYTES: u64 = 16 << 20;

/// Maximum pause between rows of a driver's batch, on a busy machine and during garbage collection.
const DRIVERS_PAUSE: Duration = Duration::from_millis(5);

pub(super) fn detect_waste(view: &mut OperationView<'_>) {
    loops::each(view, |view, found, evidence| {
        for place in 0..found.period {
            of_place(view, found, place, evidence);
        }
    });
}

fn of_place(view: &mut OperationView<'_>, found: Loop, place: usize, evidence: Evidence) {
    let turns: Vec<usize> = found.turns(place).collect();
    let are_writes = turns
        .iter()
        .all(|&turn| view.turns.all[turn].is_free(Verb::Write));
    if !are_writes || !loops::has_few_rows(view, turns.iter().copied()) {
        return;
    }
    let Some(waste) = view.waste(FindingKind::RowByRow, found.start + place) else {
        return;
    };
    let bytes: u64 = turns
        .iter()
        .filter_map(|&turn| view.exchange(turn))
        .map(|exchange| exchange.request_bytes)
        .sum();
    let is_alone = found.period == 1;
    let pause = loops::median_pause(&view.turns.all[found.all()], found.period);
    let count = turns.len() as u64;
    for &turn in &turns {
        view.claim(turn);
    }
    view.record_waste(Waste {
        dependent: Some(!is_alone),
        count,
        turns: count,
        saves_turns: count.saturating_sub(bytes.div_ceil(MAX_STATEMENT_BYTES).max(1)),
        evidence,
        may_be_drivers: is_alone && pause <= DRIVERS_PAUSE,
        ..waste
    });
}
