//! Statements prepared again because a comment contains a changing identifier: each text is new to
//! client and server.
//!
//! Counted if the same connection has prepared the statement with another identifier, and the
//! client keeps prepared statements: it re-ran one without preparing, or prepared
//! [`MIN_OPEN_STATEMENTS`] more than it closed. Otherwise the comment is not the cause. Saved is
//! the turn of preparing, if separate. Preparing and running in one batch costs server time and
//! memory but no round trip, so the saving is zero.

use super::ledger::Waste;
use super::operation_view::{OperationView, Task, Turn};
use foldhash::HashMap;
use model::{ConnectionId, Exchange, FindingKind, RequestId};

#[derive(Debug, Default)]
pub(super) struct Preparations {
    clients: HashMap<ConnectionId, Keeping>,
    statements: HashMap<(ConnectionId, u32), Preparation>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Keeping {
    prepared: u64,
    closed: u64,
    has_rerun: bool,
}

#[derive(Debug, Clone, Copy)]
struct Preparation {
    request: Option<RequestId>,
    has_run: bool,
}

/// From this many open prepared statements, the client counts as keeping them.
const MIN_OPEN_STATEMENTS: u64 = 3;

pub(super) const MAX_PREPARATIONS: usize = 65_536;

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
        if view.preparations.is_defeated(&turn, exchange)
            && let Some(index) = index
        {
            let saves = has_own_turn(&turn, exchange) && !turn.is_claimed;
            record_waste(view, index, saves);
        }
    }
}

fn concerns_prepared(exchange: &Exchange) -> bool {
    let asked = &exchange.asked;
    asked.prepares > 0 || asked.prepared_executions > 0 || asked.closes > 0
}

impl Preparations {
    fn close(&mut self, exchange: &Exchange) {
        if let Some(keeping) = self.clients.get_mut(&exchange.connection) {
            keeping.closed += u64::from(exchange.asked.closes);
        }
    }

    fn is_defeated(&mut self, turn: &Turn, exchange: &Exchange) -> bool {
        let asked = &exchange.asked;
        let Some(code) = turn
            .code
            .filter(|_| asked.prepares + asked.prepared_executions > 0)
        else {
            return false;
        };
        let key = (exchange.connection, code.number);
        let is_known = self.statements.contains_key(&key) && self.clients.contains_key(&key.0);
        if !is_known && self.clients.len().max(self.statements.len()) >= MAX_PREPARATIONS {
            return false;
        }
        let keeping = self.clients.entry(key.0).or_default();
        if asked.prepares == 0 {
            if let Some(known) = self.statements.get_mut(&key) {
                keeping.has_rerun |= known.has_run;
                known.has_run = true;
            }
            return false;
        }
        keeping.prepared += u64::from(asked.prepares);
        let request = exchange.tags.as_ref().and_then(|tags| tags.request);
        let now = Preparation {
            request,
            has_run: exchange.executions > 0,
        };
        let before = self.statements.insert(key, now).and_then(|before| before.request);
        let differs = before.zip(request).is_some_and(|(before, now)| before != now);
        differs && keeping.keeps(has_own_turn(turn, exchange))
    }
}

/// Whether the client waits for the preparation before it runs the statement: in separate
/// exchanges, or in one of two round trips (asyncpg).
fn has_own_turn(turn: &Turn, exchange: &Exchange) -> bool {
    let asked = &exchange.asked;
    let waits_inside = exchange.turns == 2 && asked.prepares == 1 && exchange.executions == 1;
    turn.task == Task::Prepare || (waits_inside && asked.fetches == 0)
}

impl Keeping {
    /// An unnamed statement is prepared with each run and never closed: only a re-run proves that
    /// it is kept.
    fn keeps(self, has_own_turn: bool) -> bool {
        let leaves_open = self.prepared >= self.closed + MIN_OPEN_STATEMENTS;
        self.has_rerun || (has_own_turn && leaves_open)
    }
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
