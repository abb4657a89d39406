//! The round trips of an operation's connections to databases and called services, prepared for
//! findings.

use super::clients::Clients;
use super::fingerprint_ids::{FingerprintId, FingerprintIds};
use super::ledger::{Ledger, Waste};
use super::preparations::{Preparations, PreparedBefore};
use crate::events::waits_for_event;
use crate::verb::Verb;
use foldhash::HashMap;
use model::{
    ConnectionId, Exchange, FindingKey, FindingKind, LeftOut, Operation, OperationKind, OperationStep, Phase,
    Timestamp, TransactionState,
};
use std::ops::Range;
use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Task {
    Execute,
    /// Prepares, without running in the same round trip.
    Prepare,
    Fetch,
    Nothing,
}

/// One round trip (or an exchange of several) of a dependency's work.
#[derive(Debug, Clone, Copy)]
pub(super) struct Turn {
    pub(super) step: usize,
    pub(super) connection: ConnectionId,
    pub(super) code: Option<FingerprintId>,
    /// By the text or, if unseen, by the replies.
    pub(super) verb: Option<Verb>,
    pub(super) task: Task,
    /// A single read or write in one round trip, without an error.
    pub(super) is_plain: bool,
    /// Whether a transaction is open afterwards.
    pub(super) is_open: bool,
    /// Client time before the turn.
    pub(super) gap: Duration,
    pub(super) is_claimed: bool,
}

impl Turn {
    pub(super) fn repeats(&self, other: &Self) -> bool {
        self.task == other.task
            && self.is_plain == other.is_plain
            && self.code.is_some()
            && self.code.map(|code| code.number) == other.code.map(|code| code.number)
    }

    pub(super) fn verb(&self) -> Option<Verb> {
        self.verb
    }

    pub(super) fn is_free(&self, verb: Verb) -> bool {
        self.is_plain && !self.is_claimed && self.verb() == Some(verb)
    }
}

/// Reused across operations for the memory.
#[derive(Debug, Default)]
pub(super) struct Turns {
    pub(super) all: Vec<Turn>,
    pub(super) lanes: Vec<Range<usize>>,
}

impl Turns {
    pub(super) fn list(&mut self, operation: &Operation, codes: &mut FingerprintIds) {
        self.all.clear();
        self.lanes.clear();
        for (index, step) in operation.steps.iter().enumerate() {
            let exchange = &step.exchange;
            let is_event = exchange.fingerprint.as_deref().is_some_and(waits_for_event);
            if exchange.phase != Phase::Work || !step.is_dependency() || is_event {
                continue;
            }
            if exchange.turns == 0 {
                self.join(exchange);
            } else {
                self.all.push(turn(index, step, codes));
            }
        }
        if operation.connections > 1 {
            self.all.sort_by_key(|turn| turn.connection);
        }
        self.cut_lanes();
        self.judge_calls(operation);
        self.judge_streams(operation);
        for lane in self.lanes.clone() {
            self.judge_unseen(lane, operation);
        }
    }

    /// Infers the verb of statements without text from all replies on the connection: rows returned
    /// mean a read, rows reported but not returned a write; otherwise unknown.
    fn judge_unseen(&mut self, lane: Range<usize>, operation: &Operation) {
        let Some(turns) = self.all.get_mut(lane) else {
            return;
        };
        let mut verbs: HashMap<u32, Verb> = HashMap::default();
        let unseen = |turn: &Turn| {
            turn.code
                .filter(|code| code.is_unseen && turn.task == Task::Execute)
        };
        for turn in &*turns {
            let (Some(code), Some(step)) = (unseen(turn), operation.steps.get(turn.step)) else {
                continue;
            };
            let exchange = &step.exchange;
            if exchange.asked.returns_rows {
                verbs.insert(code.number, Verb::Read);
            } else if exchange.rows.is_some_and(|rows| rows > 0) {
                verbs.entry(code.number).or_insert(Verb::Write);
            }
        }
        if verbs.is_empty() {
            return;
        }
        for turn in turns {
            let verb = unseen(turn).and_then(|code| verbs.get(&code.number));
            if let (Some(verb), Some(step)) = (verb, operation.steps.get(turn.step)) {
                turn.verb = Some(*verb);
                turn.is_plain = is_one_execution(&step.exchange);
            }
        }
    }

    /// Streams of a connection that ran at once are waited for together: they are no loop.
    fn judge_streams(&mut self, operation: &Operation) {
        let mut last: Option<(ConnectionId, Timestamp)> = None;
        for turn in &mut self.all {
            let Some(step) = operation.steps.get(turn.step) else {
                continue;
            };
            if !step.has_stream() {
                continue;
            }
            let exchange = &step.exchange;
            let before = last.filter(|(connection, _)| *connection == turn.connection);
            let ended = before.map_or(exchange.ended(), |(_, ended)| ended.max(exchange.ended()));
            turn.is_plain &= before.is_none_or(|(_, ended)| ended <= exchange.at);
            last = Some((turn.connection, ended));
        }
    }

    /// Infers the verb of calls whose name does not tell it (POST) from the sizes of all: it
    /// writes if the requests have more than twice the bytes of the replies.
    fn judge_calls(&mut self, operation: &Operation) {
        let mut bytes: HashMap<u32, [u64; 2]> = HashMap::default();
        let untold = |turn: &Turn| {
            let step = operation.steps.get(turn.step).filter(|step| step.is_call)?;
            let code = turn.code.filter(|_| turn.verb == Some(Verb::Other))?;
            Some((code.number, &step.exchange))
        };
        for (code, exchange) in self.all.iter().filter_map(untold) {
            let [asked, answered] = bytes.entry(code).or_default();
            *asked += exchange.request_bytes;
            *answered += exchange.reply_bytes;
        }
        for turn in &mut self.all {
            let Some((code, exchange)) = untold(turn) else {
                continue;
            };
            let [asked, answered] = bytes.get(&code).copied().unwrap_or_default();
            turn.verb = Some(if asked > 2 * answered {
                Verb::Write
            } else {
                Verb::Read
            });
            turn.is_plain = is_one_execution(exchange);
        }
    }

    fn join(&mut self, exchange: &Exchange) {
        if exchange.executions == 0 && exchange.asked.prepares == 0 && exchange.asked.fetches == 0 {
            return;
        }
        let last = self
            .all
            .iter_mut()
            .rev()
            .find(|turn| turn.connection == exchange.connection);
        if let Some(last) = last {
            last.is_plain = false;
        }
    }

    fn cut_lanes(&mut self) {
        let mut from = 0;
        for (index, turn) in self.all.iter().enumerate() {
            let next = self.all.get(index + 1);
            if next.is_none_or(|next| next.connection != turn.connection) {
                self.lanes.push(from..index + 1);
                from = index + 1;
            }
        }
    }
}

fn turn(index: usize, step: &OperationStep, codes: &mut FingerprintIds) -> Turn {
    let exchange = &step.exchange;
    let asked = &exchange.asked;
    let code = exchange
        .fingerprint
        .as_ref()
        .and_then(|fingerprint| codes.fingerprint_id(fingerprint));
    let task = match () {
        () if exchange.executions > 0 || asked.prepared_executions > 0 => Task::Execute,
        () if asked.fetches > 0 => Task::Fetch,
        () if asked.prepares > 0 => Task::Prepare,
        () => Task::Nothing,
    };
    let verb = code.map(|code| code.verb);
    Turn {
        step: index,
        connection: exchange.connection,
        code,
        task,
        verb,
        is_plain: task == Task::Execute
            && is_one_execution(exchange)
            && matches!(verb, Some(Verb::Read | Verb::Write))
            && code.is_some_and(|code| code.control.is_none()),
        is_open: exchange.transaction == Some(TransactionState::Open),
        gap: step.client_before,
        is_claimed: false,
    }
}

fn is_one_execution(exchange: &Exchange) -> bool {
    let asked = &exchange.asked;
    exchange.executions == 1
        && exchange.turns == 1
        && asked.sets <= 1
        && asked.fetches == 0
        && exchange.error.is_none()
}

pub(super) struct OperationView<'a> {
    pub(super) operation: &'a Operation,
    pub(super) turns: &'a mut Turns,
    pub(super) clients: &'a Clients,
    pub(super) ledger: &'a mut Ledger,
    pub(super) preparations: &'a mut Preparations,
    pub(super) claimed: Vec<usize>,
    pub(super) left_out: Vec<LeftOut>,
    pub(super) prepared_before: &'a mut PreparedBefore,
}

impl<'a> OperationView<'a> {
    /// Whether a user waits for the operation as a whole; false for a connection's life.
    pub(super) fn is_one_piece(&self) -> bool {
        matches!(
            self.operation.kind,
            OperationKind::Http | OperationKind::Transaction | OperationKind::Marked
        )
    }

    pub(super) fn exchange(&self, turn: usize) -> Option<&Exchange> {
        let turn = self.turns.all.get(turn)?;
        self.operation.steps.get(turn.step).map(|step| &step.exchange)
    }

    pub(super) fn claim(&mut self, turn: usize) {
        if let Some(claimed) = self.turns.all.get_mut(turn) {
            claimed.is_claimed = true;
            self.claimed.push(turn);
        }
    }

    pub(super) fn waste(&self, kind: FindingKind, turn: usize) -> Option<Waste> {
        let turn = self.turns.all.get(turn)?;
        let step = self.operation.steps.get(turn.step)?;
        Some(Waste {
            fingerprint: step.exchange.fingerprint.clone(),
            ..Waste::new(kind, turn.connection, step.protocol)
        })
    }

    /// The remedy leaves out the last of the round trips claimed for the waste.
    pub(super) fn record_waste(&mut self, waste: Waste) {
        let claimed = std::mem::take(&mut self.claimed);
        if waste.saves_turns > 0 {
            let turns = self.whole_exchanges(&claimed, waste.saves_turns);
            self.leave_out(&waste, self.steps(&turns), Vec::new());
        }
        self.ledger.record_waste(waste, self.operation);
    }

    pub(super) fn note_steps(&mut self, waste: Waste, steps: &[usize]) {
        let steps = steps.iter().filter_map(|&step| u32::try_from(step).ok());
        self.leave_out(&waste, steps.collect(), Vec::new());
        self.ledger.record_waste(waste, self.operation);
    }

    /// The last claimed exchanges with exactly `turns` round trips together; empty if there is no
    /// exact match.
    fn whole_exchanges(&self, claimed: &[usize], turns: u64) -> Vec<usize> {
        let mut left = turns;
        let from = claimed.iter().rposition(|&turn| {
            let of_exchange = self
                .exchange(turn)
                .map_or(0, |exchange| u64::from(exchange.turns));
            left = left.saturating_sub(of_exchange);
            left == 0
        });
        let exchanges = from.map_or(Vec::new(), |from| claimed[from..].to_vec());
        let have: u64 = exchanges
            .iter()
            .filter_map(|&turn| Some(u64::from(self.exchange(turn)?.turns)))
            .sum();
        if have == turns { exchanges } else { Vec::new() }
    }

    /// Records held-back bytes of a round trip; no round trip is saved.
    pub(super) fn note_held_back(&mut self, waste: Waste, turn: usize) {
        let step = self.turns.all.get(turn).map(|turn| turn.step);
        self.note_steps_held_back(waste, step.as_slice());
    }

    pub(super) fn note_steps_held_back(&mut self, waste: Waste, steps: &[usize]) {
        let steps = steps.iter().filter_map(|&step| u32::try_from(step).ok());
        self.leave_out(&waste, Vec::new(), steps.collect());
        self.ledger.record_waste(waste, self.operation);
    }

    fn steps(&self, turns: &[usize]) -> Vec<u32> {
        let turns = turns.iter().filter_map(|&turn| self.turns.all.get(turn));
        turns.filter_map(|turn| u32::try_from(turn.step).ok()).collect()
    }

    fn leave_out(&mut self, waste: &Waste, steps: Vec<u32>, held_back: Vec<u32>) {
        self.left_out.push(LeftOut {
            finding: FindingKey {
                kind: waste.kind,
                fingerprint: waste.fingerprint.clone(),
                operation_name: self.operation.name.clone(),
            },
            steps,
            held_back,
        });
    }

    /// Round trips of the connection with this number, from 0; `None` past the last.
    pub(super) fn lane(&self, number: usize) -> Option<Range<usize>> {
        self.turns.lanes.get(number).cloned()
    }
}
