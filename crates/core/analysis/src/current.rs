//! Open connections, transactions and the current round trip, for a live screen.

use crate::fact::Fact;
use model::{
    ConnectionId, ConnectionMap, ConnectionOutcome, Endpoint, Exchange, HostProcess, PerDirection, PerSide,
    Protocol, Timestamp, TransactionState,
};
use std::cmp::Reverse;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

/// Follows the connections of a run: at most [`MAXIMUM_OPEN`] of them; further ones are only
/// counted.
#[derive(Debug, Default)]
pub struct Current {
    connections: ConnectionMap<OpenConnection>,
    others: HashSet<ConnectionId>,
    closed: u64,
    totals: CurrentTotals,
}

pub const MAXIMUM_OPEN: usize = 10_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenConnection {
    pub id: ConnectionId,
    pub client: Endpoint,
    pub server: Endpoint,
    pub at: Timestamp,
    /// `None` before the first exchange.
    pub protocol: Option<Protocol>,
    pub turns: u64,
    pub exchanges: u64,
    /// Of exchanges, client-to-server and server-to-client.
    pub payload_bytes: PerDirection<u64>,
    /// Both sides together, at the last exchange; `None` if one side is unknown.
    pub rtt: Option<Duration>,
    /// Client first, if an observer of this host sets them. Facts of open connections have none.
    pub processes: PerSide<Option<Arc<HostProcess>>>,
    /// Start of the open transaction; `None` if none is open or the protocol does not report it.
    pub transaction_since: Option<Timestamp>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CurrentTotals {
    pub open: u64,
    pub closed: u64,
    pub transactions: u64,
    /// Start of the transaction open longest.
    pub oldest_transaction: Option<Timestamp>,
    /// Of all exchanges: client-to-server, server-to-client. A summary counts ended connections
    /// only.
    pub payload_bytes: PerDirection<u64>,
    pub turns: u64,
    /// At the last exchange with a database, or with any server if there is none; a minimum over 10
    /// to 20 s.
    pub rtt: Option<Duration>,
    pub least_rtt: Option<Duration>,
    pub now: Timestamp,
}

impl Current {
    pub fn fact(&mut self, fact: &Fact) {
        self.totals.now = self.totals.now.max(fact.time());
        match fact {
            Fact::Opened {
                connection,
                at,
                client,
                server,
            } => self.opened(*connection, *at, *client, *server),
            Fact::Started { .. } | Fact::Begun { .. } | Fact::Left { .. } => {}
            Fact::Exchange { exchange, protocol } => self.exchange(exchange, *protocol),
            Fact::Closed(outcome) => self.closed(outcome),
        }
    }

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

    /// The open connections with most round trips, at most `most`.
    pub fn connections(&self, most: usize) -> Vec<OpenConnection> {
        let mut all: Vec<&OpenConnection> = self.connections.values().collect();
        all.sort_by_key(|open| (Reverse(open.turns), open.id));
        all.into_iter().take(most).cloned().collect()
    }

    fn opened(&mut self, id: ConnectionId, at: Timestamp, client: Endpoint, server: Endpoint) {
        if self.connections.len() >= MAXIMUM_OPEN {
            // Bounds the set; beyond it the count is too low.
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
                payload_bytes: PerDirection::default(),
                rtt: None,
                processes: PerSide::default(),
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

fn round_trip(exchange: &Exchange) -> Option<Duration> {
    let last = exchange.more.last().unwrap_or(&exchange.first);
    Some(last.client_side_rtt? + last.server_side_rtt?)
}
