//! Transactions in operations, and the time they were open.
//!
//! A transaction is open from the arrival of the request whose reply reports it open, until the
//! reply that reports none open leaves the server. Both times are shifted to the server. The time
//! between is attributed as an operation's, with this connection's exchanges only: work on other
//! connections is client time.
//!
//! Operations (parts, pauses) may cut a transaction, so its state is kept per connection until it
//! ends.
//!
//! Memory: a few figures per open connection, and one entry per transaction of the current
//! operation.

use super::naming::Naming;
use super::{attribution, span};
use crate::verb::{self, Verb};
use model::{
    Attribution, ConnectionId, ConnectionMap, Exchange, HeldTime, Operation, OperationStep,
    OperationTransaction, Phase, Timestamp, TransactionState,
};
use std::sync::Arc;

#[derive(Debug, Default)]
pub(super) struct Transactions {
    connections: ConnectionMap<Known>,
}

#[derive(Debug)]
enum Known {
    Idle,
    Unseen,
    Open(Box<Open>),
}

#[derive(Debug)]
struct Open {
    naming: Naming,
    held: HeldTime,
    /// End of the time counted in `held`.
    until: Timestamp,
    last: Timestamp,
    has_written: bool,
    /// If in the current operation.
    first_write: Option<u32>,
    /// If in the current operation.
    opened_by: Option<u32>,
    /// Steps of the current operation not counted completely.
    steps: Vec<u32>,
}

impl Transactions {
    /// Adds the transactions of an operation. Drops connections that are closed.
    pub(super) fn operation(&mut self, operation: &mut Operation, is_open: &dyn Fn(ConnectionId) -> bool) {
        let mut found = Vec::new();
        let mut open = Vec::new();
        let mut connections: Vec<ConnectionId> = Vec::new();
        for (index, step) in operation.steps.iter().enumerate() {
            if connections.last() != Some(&step.exchange.connection) {
                connections.push(step.exchange.connection);
            }
            if !step.protocol.is_database() {
                continue;
            }
            let index = index as u32;
            match self.step(index, step, &operation.steps) {
                Some(ended) => found.push(ended),
                None if self.is_first_of_open(index, step) => open.push(step.exchange.connection),
                None => {}
            }
        }
        found.extend(
            open.into_iter()
                .filter_map(|connection| self.cut(connection, &operation.steps)),
        );
        operation.transactions = found;
        for connection in connections {
            if !is_open(connection) {
                self.connections.remove(&connection);
            }
        }
    }

    /// An exchange outside all operations. Its transaction is not reported.
    pub(super) fn alone(&mut self, exchange: &Exchange) {
        let state = match exchange.transaction {
            Some(TransactionState::Idle) => Known::Idle,
            Some(TransactionState::Open | TransactionState::Failed) => Known::Unseen,
            None => return,
        };
        self.connections.insert(exchange.connection, state);
    }

    pub(super) fn closed(&mut self, connection: ConnectionId) {
        self.connections.remove(&connection);
    }

    fn step(
        &mut self,
        index: u32,
        step: &OperationStep,
        steps: &[OperationStep],
    ) -> Option<OperationTransaction> {
        let exchange = &step.exchange;
        let connection = exchange.connection;
        if exchange.phase < Phase::Work {
            self.connections.insert(connection, Known::Idle);
            return None;
        }
        let is_idle = exchange.transaction == Some(TransactionState::Idle);
        if is_idle && matches!(self.connections.get(&connection), Some(Known::Idle)) {
            return None;
        }
        // Operations may be out of order: after a cut, none continues the transaction.
        if let Some(Known::Open(open)) = self.connections.get(&connection)
            && open.opened_by.is_none()
            && (begins(exchange) || exchange.at < open.last)
        {
            self.connections.remove(&connection);
        }
        match self.connections.get_mut(&connection) {
            Some(Known::Open(open)) => {
                open.add(index, exchange, steps);
                if !is_idle {
                    return None;
                }
                let arrived = span::reached_server(exchange);
                open.count_until(span::finished_at_server(exchange).unwrap_or(arrived), steps);
                let ended = open.found(connection, Some(index));
                self.connections.insert(connection, Known::Idle);
                return Some(ended);
            }
            _ if exchange.transaction.is_none() => {}
            _ if is_idle => {
                self.connections.insert(connection, Known::Idle);
            }
            Some(Known::Unseen) => {}
            Some(Known::Idle) => self.open(index, exchange),
            // A connection joined in the middle needs a statement that begins one.
            None if begins(exchange) => self.open(index, exchange),
            None => {
                self.connections.insert(connection, Known::Unseen);
            }
        }
        None
    }

    fn open(&mut self, index: u32, exchange: &Exchange) {
        let mut open = Open {
            naming: Naming::default(),
            held: HeldTime::default(),
            until: span::reached_server(exchange),
            last: exchange.at,
            has_written: false,
            first_write: None,
            opened_by: Some(index),
            steps: vec![index],
        };
        open.add_exchange(index, exchange, turns_after_arrival(exchange));
        self.connections
            .insert(exchange.connection, Known::Open(Box::new(open)));
    }

    /// Whether the step is the operation's first of a transaction that stays open.
    fn is_first_of_open(&self, index: u32, step: &OperationStep) -> bool {
        if step.exchange.transaction == Some(TransactionState::Idle) {
            return false;
        }
        match self.connections.get(&step.exchange.connection) {
            Some(Known::Open(open)) => open.steps.first() == Some(&index),
            _ => false,
        }
    }

    /// At the end of the operation or part: counts open transactions up to here.
    fn cut(&mut self, connection: ConnectionId, steps: &[OperationStep]) -> Option<OperationTransaction> {
        let Some(Known::Open(open)) = self.connections.get_mut(&connection) else {
            return None;
        };
        let last = *open.steps.last()?;
        open.count_until(span::ended(&steps[last as usize].exchange), steps);
        let found = open.found(connection, None);
        (open.opened_by, open.first_write) = (None, None);
        open.steps.clear();
        Some(found)
    }
}

impl Open {
    fn add(&mut self, index: u32, exchange: &Exchange, steps: &[OperationStep]) {
        if !self.has_written && holds_rows(exchange) {
            let arrived = span::reached_server(exchange);
            self.count_until(span::started(exchange).min(arrived), steps);
            self.count_request(exchange, arrived);
            // If pipelined, it may have arrived before earlier ones were answered.
            self.steps
                .retain(|&step| span::ended(&steps[step as usize].exchange) > arrived);
        }
        self.steps.push(index);
        self.add_exchange(index, exchange, exchange.turns);
    }

    fn add_exchange(&mut self, index: u32, exchange: &Exchange, turns: u32) {
        self.naming.offer(exchange);
        self.last = exchange.at;
        self.held.turns += turns;
        if self.has_written {
            self.held.turns_after_write += turns;
        }
        if holds_rows(exchange) {
            self.held.writes += exchange.executions;
            if !self.has_written {
                self.held.turns_after_write += turns_after_arrival(exchange);
                self.first_write = Some(index);
            }
            self.has_written = true;
        }
    }

    fn count_until(&mut self, to: Timestamp, steps: &[OperationStep]) {
        let walked = attribution::walk_some(steps, &self.steps, self.until, to.max(self.until));
        self.count(&walked);
        self.until = to.max(self.until);
    }

    /// Counts a request's travel to the server, arriving at `to`.
    fn count_request(&mut self, exchange: &Exchange, to: Timestamp) {
        let way = to.since(self.until);
        let step = &exchange.first;
        let client = step.client_inside_request.min(way);
        let round_trip = ((span::client_side(step) + span::server_side(step)) / 2).min(way - client);
        self.count(&Attribution {
            client,
            round_trip,
            transfer: way - client - round_trip,
            ..Attribution::default()
        });
        self.until = to.max(self.until);
    }

    fn count(&mut self, time: &Attribution) {
        match self.has_written {
            true => self.held.after_write.add(time),
            false => self.held.before_write.add(time),
        }
    }

    fn found(&self, connection: ConnectionId, ended_by: Option<u32>) -> OperationTransaction {
        OperationTransaction {
            name: self.naming.name().cloned().unwrap_or_else(|| Arc::from(UNNAMED)),
            connection,
            opened_by: self.opened_by,
            ended_by,
            first_write: self.first_write,
            held: self.held,
        }
    }
}

/// Round trips that begin after the request has arrived.
fn turns_after_arrival(exchange: &Exchange) -> u32 {
    exchange.turns.saturating_sub(u32::from(exchange.first.turn))
}

fn holds_rows(exchange: &Exchange) -> bool {
    exchange.executions > 0 && exchange.fingerprint.as_deref().is_some_and(verb::holds_rows)
}

fn begins(exchange: &Exchange) -> bool {
    exchange.fingerprint.as_deref().is_some_and(|text| {
        Verb::from_fingerprint(text) == Verb::Control
            && (text.starts_with("begin") || text.starts_with("start"))
    })
}

const UNNAMED: &str = "transaction";
