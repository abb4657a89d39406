//! What is open at the moment: connections, their transactions, and the round trip now. For a screen that is
//! inspected while the run goes on.

use crate::fact::Fact;
use model::{
    ConnectionId, ConnectionMap, ConnectionOutcome, Endpoint, Exchange, HostProcess, Protocol, Timestamp,
    TransactionState,
};
use std::cmp::Reverse;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

/// Follows the connections of a run. Memory: at most [`MAXIMUM_OPEN`] of them; further ones are counted.
#[derive(Debug, Default)]
pub struct Current {
    connections: ConnectionMap<OpenConnection>,
    /// Open connections for which there was no room.
    others: HashSet<ConnectionId>,
    closed: u64,
    totals: CurrentTotals,
}

/// Most open connections that are followed one by one.
pub const MAXIMUM_OPEN: usize = 10_000;

/// A connection that is open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenConnection {
    /// Its number within the run.
    pub id: ConnectionId,
    /// The side that opened it.
    pub client: Endpoint,
    /// The side that accepted it.
    pub server: Endpoint,
    /// When it was first seen.
    pub at: Timestamp,
    /// What it speaks; `None` before its first exchange.
    pub protocol: Option<Protocol>,
    /// Round trips of its exchanges so far.
    pub turns: u64,
    /// Exchanges so far.
    pub exchanges: u64,
    /// Payload bytes of its exchanges, client-to-server and server-to-client.
    pub payload_bytes: [u64; 2],
    /// The round trip of both sides together that held for its last exchange; `None` if one side's is not
    /// known.
    pub rtt: Option<Duration>,
    /// The program at each side, client first, where an observer of this host adds them; facts of open
    /// connections have none.
    pub processes: [Option<Arc<HostProcess>>; 2],
    /// When the transaction that is open on it began; `None` if none is, or the protocol does not report it.
    pub transaction_since: Option<Timestamp>,
}

/// What holds for all connections at the moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CurrentTotals {
    /// Connections open.
    pub open: u64,
    /// Connections that were opened and are closed.
    pub closed: u64,
    /// Transactions open.
    pub transactions: u64,
    /// When the one of them that has been open longest began.
    pub oldest_transaction: Option<Timestamp>,
    /// Payload bytes of all exchanges so far, client-to-server and server-to-client. Those of a summary are
    /// of connections that ended.
    pub payload_bytes: [u64; 2],
    /// Round trips of all exchanges so far.
    pub turns: u64,
    /// The round trip that held for the last exchange with a database (or of any, where there is none); a
    /// minimum over 10 to 20 s.
    pub rtt: Option<Duration>,
    /// The smallest of those.
    pub least_rtt: Option<Duration>,
    /// The time of the last fact.
    pub now: Timestamp,
}

impl Current {
    /// Takes the next fact.
    pub fn fact(&mut self, fact: &Fact) {
        self.totals.now = self.totals.now.max(fact.time());
        match fact {
            Fact::Opened {
                connection,
                at,
                client,
                server,
            } => self.opened(*connection, *at, *client, *server),
            Fact::Started { .. } | Fact::Begun { .. } => {}
            Fact::Exchange { exchange, protocol } => self.exchange(exchange, *protocol),
            Fact::Closed(outcome) => self.closed(outcome),
        }
    }

    /// All of them together.
    pub fn totals(&self) -> CurrentTotals {
        let since = || {
            self.connections
                .values()
                .filter_map(|open| open.transaction_since)
        };
        CurrentTotals {
            open: (self.connections.len() + self.others.len()) as u64,
            closed: self.closed,
            transactions: since().count() as u64,
            oldest_transaction: since().min(),
            ..self.totals
        }
    }

    /// The open connections with most round trips, at most so many.
    pub fn connections(&self, most: usize) -> Vec<OpenConnection> {
        let mut all: Vec<&OpenConnection> = self.connections.values().collect();
        all.sort_by_key(|open| (Reverse(open.turns), open.id));
        all.into_iter().take(most).cloned().collect()
    }

    fn opened(&mut self, id: ConnectionId, at: Timestamp, client: Endpoint, server: Endpoint) {
        if self.connections.len() >= MAXIMUM_OPEN {
            // A bound for what never ends; beyond it the count is too low.
            if self.others.len() < MAXIMUM_OPEN {
                self.others.insert(id);
            }
            return;
        }
        self.connections.insert(
            id,
            OpenConnection {
                id,
                client,
                server,
                at,
                protocol: None,
                turns: 0,
                exchanges: 0,
                payload_bytes: [0; 2],
                rtt: None,
                processes: [None, None],
                transaction_since: None,
            },
        );
    }

    fn exchange(&mut self, exchange: &Exchange, protocol: Protocol) {
        let bytes = [exchange.request_bytes, exchange.reply_bytes];
        self.totals.turns += u64::from(exchange.turns);
        for (sum, bytes) in self.totals.payload_bytes.iter_mut().zip(bytes) {
            *sum += bytes;
        }
        let rtt = round_trip(exchange);
        if rtt.is_some() && !protocol.carries_requests() {
            self.totals.rtt = rtt;
            let least = self.totals.least_rtt.into_iter().chain(rtt).min();
            self.totals.least_rtt = least;
        }
        let Some(open) = self.connections.get_mut(&exchange.connection) else {
            return;
        };
        open.protocol = Some(protocol);
        open.turns += u64::from(exchange.turns);
        open.exchanges += 1;
        for (sum, bytes) in open.payload_bytes.iter_mut().zip(bytes) {
            *sum += bytes;
        }
        open.rtt = rtt.or(open.rtt);
        match exchange.transaction {
            Some(TransactionState::Open | TransactionState::Failed) => {
                open.transaction_since.get_or_insert(exchange.at);
            }
            Some(TransactionState::Idle) => open.transaction_since = None,
            None => {}
        }
    }

    fn closed(&mut self, outcome: &ConnectionOutcome) {
        self.connections.remove(&outcome.id);
        self.others.remove(&outcome.id);
        self.closed += 1;
    }
}

/// Both sides of the observation point together.
fn round_trip(exchange: &Exchange) -> Option<Duration> {
    let last = exchange.more.last().unwrap_or(&exchange.first);
    Some(last.client_side_rtt? + last.server_side_rtt?)
}
