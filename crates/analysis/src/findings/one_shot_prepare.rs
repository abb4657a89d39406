//! Statements prepared in a turn of their own, run once and closed.
//!
//! Saved is the turn of preparing: the statement could run unprepared, or be kept and run again. Only where as many
//! statements are closed as were prepared so, or the connection ends: what is kept may yet be used.

use super::ledger::Waste;
use super::look::{Look, Task};
use foldhash::HashMap;
use model::{FindingKind, OperationKind};
use std::ops::Range;

pub(super) fn look(look: &mut Look<'_>) {
    if look.turns.all.iter().all(|turn| turn.task != Task::Prepare) {
        return;
    }
    let mut number = 0;
    while let Some(lane) = look.lane(number) {
        number += 1;
        let once = run_once(look, lane.clone());
        if once.len() as u64 <= closed(look, &lane) {
            once.into_iter().for_each(|turn| note(look, turn));
        }
    }
}

/// The turns in which statements are prepared that run at most once before they are prepared again.
fn run_once(look: &Look<'_>, lane: Range<usize>) -> Vec<usize> {
    let mut prepared: HashMap<u32, (usize, u64)> = HashMap::default();
    let mut once = Vec::new();
    for index in lane {
        let turn = look.turns.all[index];
        let Some(code) = turn.code else { continue };
        match turn.task {
            Task::Prepare if !turn.is_claimed => {
                if let Some((before, 1)) = prepared.insert(code.number, (index, 0)) {
                    once.push(before);
                }
            }
            Task::Execute => {
                if let Some((_, runs)) = prepared.get_mut(&code.number) {
                    *runs += look
                        .exchange(index)
                        .map_or(0, |exchange| u64::from(exchange.executions));
                }
            }
            Task::Prepare | Task::Fetch | Task::Nothing => {}
        }
    }
    let last = prepared.into_values().filter(|(_, runs)| *runs == 1);
    once.extend(last.map(|(index, _)| index));
    once
}

/// Statements closed on the connection of `lane`; no bound where it ended.
fn closed(look: &Look<'_>, lane: &Range<usize>) -> u64 {
    if look.operation.kind == OperationKind::Connection && !look.operation.continues {
        return u64::MAX;
    }
    let Some(connection) = look.turns.all.get(lane.start).map(|turn| turn.connection) else {
        return 0;
    };
    let exchanges = look.operation.steps.iter().map(|step| &step.exchange);
    exchanges
        .filter(|exchange| exchange.connection == connection)
        .map(|exchange| u64::from(exchange.asked.closes))
        .sum()
}

fn note(look: &mut Look<'_>, turn: usize) {
    let Some(waste) = look.waste(FindingKind::OneShotPrepare, turn) else {
        return;
    };
    look.claim(turn);
    look.note(Waste {
        count: 1,
        turns: 1,
        saves_turns: 1,
        ..waste
    });
}
