//! Autocommitted statements in sequence on one connection. If each statement or round is a separate
//! operation, a loop spans operations; these are inspected together, for loops only.

use super::operation_view::Turn;
use model::{ConnectionId, ConnectionMap, Operation, OperationKind, OperationStep, Phase, TransactionState};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

/// Bounded by [`MAX_STATEMENTS`] each and [`MAX_TOTAL_STATEMENTS`].
#[derive(Debug, Default)]
pub(super) struct AllSeries {
    open: ConnectionMap<Series>,
    statements: usize,
}

#[derive(Debug, Default)]
pub(super) struct Series {
    steps: Vec<OperationStep>,
    names: Vec<Arc<str>>,
    claimed: Vec<bool>,
    id: u64,
}

const MAX_STATEMENTS: usize = 8192;

/// Of all open series, about 25 MB. At the limit, new series wait for another to end.
pub(super) const MAX_TOTAL_STATEMENTS: usize = 60_000;

/// Maximum length of a burst that may be a round of a loop.
const MAX_BURST_LEN: usize = 64;

/// After a longer pause the client does something else.
const MAX_IDLE: Duration = Duration::from_secs(1);

impl AllSeries {
    /// Adds an operation and its turns. Returns the series that it ends.
    pub(super) fn process_operation(&mut self, operation: &Operation, turns: &[Turn]) -> Option<Series> {
        let connection = operation.steps.first()?.exchange.connection;
        if !is_autocommitted(operation) {
            return self.end(connection);
        }
        let all = operation.steps.iter().enumerate();
        let work = all.filter(|(_, step)| step.exchange.phase == Phase::Work);
        let (_, first) = work.clone().next()?;
        let over = match self.open.get(&connection) {
            Some(series) if series.goes_on(first) && self.statements < MAX_TOTAL_STATEMENTS => None,
            Some(_) => self.end(connection),
            None => None,
        };
        if self.statements >= MAX_TOTAL_STATEMENTS {
            return over;
        }
        self.statements += work.clone().count();
        let series = self.open.entry(connection).or_default();
        series.id = operation.id;
        let claimed: HashSet<usize> = turns
            .iter()
            .filter(|turn| turn.is_claimed)
            .map(|turn| turn.step)
            .collect();
        for (index, step) in work {
            series.push(step.clone(), &operation.name, claimed.contains(&index));
        }
        over
    }

    pub(super) fn end(&mut self, connection: ConnectionId) -> Option<Series> {
        let series = self.open.remove(&connection)?;
        self.statements -= series.steps.len();
        series.may_loop().then_some(series)
    }

    pub(super) fn end_all(&mut self) -> Vec<Series> {
        self.statements = 0;
        let mut all: Vec<(ConnectionId, Series)> = self.open.drain().collect();
        all.sort_by_key(|(connection, _)| *connection);
        all.into_iter()
            .map(|(_, series)| series)
            .filter(Series::may_loop)
            .collect()
    }
}

impl Series {
    fn goes_on(&self, step: &OperationStep) -> bool {
        let rest = self
            .steps
            .last()
            .map(|last| step.exchange.at.since(last.exchange.ended()));
        self.steps.len() < MAX_STATEMENTS && rest.is_some_and(|rest| rest <= MAX_IDLE)
    }

    /// The time since the previous statement is the client's, minus the travel of that reply and
    /// this request.
    fn push(&mut self, mut step: OperationStep, name: &Arc<str>, is_claimed: bool) {
        if let Some(last) = self.steps.last() {
            let rest = step.exchange.at.since(last.exchange.ended());
            let way = step.exchange.first.client_side_rtt.unwrap_or_default();
            step.client_before = rest.saturating_sub(way);
        }
        self.steps.push(step);
        self.names.push(name.clone());
        self.claimed.push(is_claimed);
    }

    fn may_loop(&self) -> bool {
        self.steps.len() >= super::loops::MIN_ROUNDS
    }

    pub(super) fn is_claimed(&self, step: usize) -> bool {
        self.claimed.get(step).copied().unwrap_or(false)
    }

    pub(super) fn as_operation(&self) -> Option<Operation> {
        let mut counts: HashMap<&Arc<str>, usize> = HashMap::new();
        for name in &self.names {
            *counts.entry(name).or_default() += 1;
        }
        let name = counts
            .into_iter()
            .max_by_key(|(name, count)| (*count, std::cmp::Reverse(*name)))?
            .0;
        Some(Operation::of_steps(self.id, name.clone(), self.steps.clone()))
    }
}

/// A few statements of one connection without an open transaction. A long burst contains its loops
/// itself.
fn is_autocommitted(operation: &Operation) -> bool {
    let is_short = match operation.kind {
        OperationKind::Transaction => operation.steps.len() == 1,
        OperationKind::Burst => operation.steps.len() <= MAX_BURST_LEN && operation.connections == 1,
        OperationKind::Http
        | OperationKind::Connection
        | OperationKind::Request
        | OperationKind::Marked
        | OperationKind::Whole => false,
    };
    let is_open = |step: &OperationStep| step.exchange.transaction == Some(TransactionState::Open);
    is_short && !operation.steps.iter().any(is_open)
}
