//! Statements prepared in a separate turn, run once and closed.
//!
//! Saved is the turn of preparing, and a separate turn of closing: the statement could run
//! unprepared, or be kept. It was not kept if its connection prepares it again, in this or a later
//! operation. Otherwise it counts only if as many statements are closed as were prepared so, or the
//! connection ends: a kept statement may still be used.

use super::ledger::Waste;
use super::operation_view::{OperationView, Task};
use foldhash::HashMap;
use model::{FindingKind, OperationKind};
use std::ops::Range;

pub(super) fn detect_waste(view: &mut OperationView<'_>) {
    if view.turns.all.iter().all(|turn| turn.task != Task::Prepare) {
        return;
    }
    let mut number = 0;
    while let Some(lane) = view.lane(number) {
        number += 1;
        let (again, once) = run_once(view, lane.clone());
        let is_closed = (again.len() + once.len()) as u64 <= closed(view, &lane);
        let mut closings = closings(view, lane);
        let once = once.into_iter().filter(|_| is_closed);
        for turn in again.into_iter().chain(once) {
            let closing = closings.iter().position(|closing| *closing > turn);
            let closing = closing.map(|place| closings.remove(place));
            record_waste(view, turn, closing);
        }
    }
}

/// Round trips that prepare statements run at most once before the next preparation: those their
/// connection prepares repeatedly, and the others.
fn run_once(view: &mut OperationView<'_>, lane: Range<usize>) -> (Vec<usize>, Vec<usize>) {
    let mut prepared: HashMap<u32, (usize, u64, bool)> = HashMap::default();
    let mut again = Vec::new();
    for index in lane {
        let turn = view.turns.all[index];
        let Some(code) = turn.code else { continue };
        match turn.task {
            Task::Prepare if !turn.is_claimed => {
                let before = view.prepared_before.again(turn.connection, code.number);
                if let Some((earlier, 1, _)) = prepared.insert(code.number, (index, 0, before)) {
                    again.push(earlier);
                }
            }
            Task::Execute => {
                if let Some((_, runs, _)) = prepared.get_mut(&code.number) {
                    *runs += view
                        .exchange(index)
                        .map_or(0, |exchange| u64::from(exchange.executions));
                }
            }
            Task::Prepare | Task::Fetch | Task::Nothing => {}
        }
    }
    let mut once = Vec::new();
    for (index, runs, before) in prepared.into_values() {
        match (runs, before) {
            (1, true) => again.push(index),
            (1, false) => once.push(index),
            _ => {}
        }
    }
    again.sort_unstable();
    once.sort_unstable();
    (again, once)
}

fn closings(view: &OperationView<'_>, lane: Range<usize>) -> Vec<usize> {
    let closes = |&index: &usize| {
        let turn = &view.turns.all[index];
        let exchange = view.exchange(index);
        turn.task == Task::Nothing
            && exchange.is_some_and(|exchange| exchange.asked.closes > 0 && exchange.turns == 1)
    };
    lane.filter(closes).collect()
}

/// Statements closed on the connection of `lane`; unlimited if it ended.
fn closed(view: &OperationView<'_>, lane: &Range<usize>) -> u64 {
    if view.operation.kind == OperationKind::Connection && !view.operation.continues {
        return u64::MAX;
    }
    let Some(connection) = view.turns.all.get(lane.start).map(|turn| turn.connection) else {
        return 0;
    };
    let exchanges = view.operation.steps.iter().map(|step| &step.exchange);
    exchanges
        .filter(|exchange| exchange.connection == connection)
        .map(|exchange| u64::from(exchange.asked.closes))
        .sum()
}

fn record_waste(view: &mut OperationView<'_>, turn: usize, closing: Option<usize>) {
    let Some(waste) = view.waste(FindingKind::OneShotPrepare, turn) else {
        return;
    };
    view.claim(turn);
    if let Some(closing) = closing {
        view.claim(closing);
    }
    let turns = 1 + u64::from(closing.is_some());
    view.record_waste(Waste {
        count: 1,
        turns,
        saves_turns: turns,
        ..waste
    });
}
