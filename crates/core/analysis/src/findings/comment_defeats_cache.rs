//! Statements prepared again because a comment contains a changing identifier: each text is new to
//! client and server.
//!
//! Counted if the same connection has prepared the statement with another identifier, and the
//! client keeps prepared statements: it re-ran one without preparing, or prepared
//! [`super::preparations::MIN_OPEN_STATEMENTS`] more than it closed. Otherwise the comment is not
//! the cause. Saved is the turn of preparing, if separate. Preparing and running in one batch costs
//! server time and
//! memory but no round trip, so the saving is zero.

use super::ledger::Waste;
use super::operation_view::{OperationView, Task, Turn};
use model::{Exchange, FindingKind};

pub(super) fn detect_waste(view: &mut OperationView<'_>) {
    let steps = &view.operation.steps;
    if steps.iter().all(|step| !concerns_prepared(&step.exchange)) {
        return;
    }
    // Order matters only within connections, where round trips are in order. Closing is a message
    // without a round trip.
    let mut turns = vec![None; steps.len()];
    for (index, turn) in view.turns.all.iter().enumerate() {
        if let Some(place) = turns.get_mut(turn.step) {
            *place = Some(index);
        }
    }
    for (step, index) in view.operation.steps.iter().zip(turns) {
        let exchange = &step.exchange;
        if !concerns_prepared(exchange) {
            continue;
        }
        view.preparations.close(exchange);
        let Some(turn) = index.and_then(|index| view.turns.all.get(index).copied()) else {
            continue;
        };
        let Some(code) = turn.code else { continue };
        let has_own_turn = has_own_turn(&turn, exchange);
        if view.preparations.is_defeated(code.number, exchange, has_own_turn)
            && let Some(index) = index
        {
            record_waste(view, index, has_own_turn && !turn.is_claimed);
        }
    }
}

fn concerns_prepared(exchange: &Exchange) -> bool {
    let asked = &exchange.asked;
    asked.prepares > 0 || asked.prepared_executions > 0 || asked.closes > 0
}

/// Whether the client waits for the preparation before it runs the statement: in separate
/// exchanges, or in one of two round trips (asyncpg).
fn has_own_turn(turn: &Turn, exchange: &Exchange) -> bool {
    let asked = &exchange.asked;
    let waits_inside = exchange.turns == 2 && asked.prepares == 1 && exchange.executions == 1;
    turn.task == Task::Prepare || (waits_inside && asked.fetches == 0)
}

fn record_waste(view: &mut OperationView<'_>, index: usize, is_own_turn: bool) {
    let Some(waste) = view.waste(FindingKind::CommentDefeatsCache, index) else {
        return;
    };
    let turns = u64::from(is_own_turn);
    if is_own_turn {
        view.claim(index);
    }
    view.record_waste(Waste {
        count: 1,
        turns,
        saves_turns: turns,
        ..waste
    });
}
