//! Facts about connections outside operations: client software and reconnects.

use super::fingerprint_ids::FingerprintId;
use super::frameworks::{Certainty, Evidence, Framework};
use super::software::Software;
use crate::fact::Fact;
use model::{ConnectionId, ConnectionMap, EndedBy, Endpoint, Fingerprint, Phase, Tags, Timestamp};
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

#[derive(Debug, Default)]
pub(super) struct Clients {
    opened: ConnectionMap<Opened>,
    over: HashMap<Pair, (Timestamp, ConnectionId)>,
    introduced: ConnectionMap<Introduced>,
    /// Of connections with HTTP.
    endings: HashMap<Pair, Endings>,
    /// Only connections with evidence of a framework.
    frameworks: ConnectionMap<Evidence>,
}

type Pair = (IpAddr, Endpoint);

#[derive(Debug, Clone, Copy)]
struct Opened {
    at: Timestamp,
    pair: Pair,
    /// The handshake or login failed.
    is_refused: bool,
}

/// How the connections between a client host and a server ended.
#[derive(Debug, Default)]
struct Endings {
    connections: u64,
    by: HashMap<EndedBy, u64>,
}

#[derive(Debug, Clone)]
pub(super) struct Introduced {
    pub(super) driver: Option<Arc<str>>,
    pub(super) software: Software,
}

/// Maximum delay with which a relay on a busy machine sees an end after the next beginning.
const SLACK: Duration = Duration::from_millis(5);

pub(super) const MAX_CONNECTIONS: usize = 65_536;

impl Clients {
    pub(super) fn fact(&mut self, fact: &Fact) {
        match fact {
            Fact::Opened {
                connection,
                at,
                client,
                server,
            } => {
                if self.opened.len() < MAX_CONNECTIONS {
                    let pair = (client.address, *server);
                    self.opened.insert(
                        *connection,
                        Opened {
                            at: *at,
                            pair,
                            is_refused: false,
                        },
                    );
                }
            }
            Fact::Exchange { exchange, .. } => {
                if exchange.error.is_some()
                    && matches!(exchange.phase, Phase::Connect | Phase::Tls | Phase::Login)
                    && let Some(opened) = self.opened.get_mut(&exchange.connection)
                {
                    opened.is_refused = true;
                }
                // A client that says goodbye is done; the server's close is seen a round trip
                // later.
                if exchange.phase == Phase::Close {
                    self.left(exchange.connection, exchange.at);
                }
            }
            Fact::Closed(outcome) => {
                let pair = (outcome.client.address, outcome.server);
                self.note_over(pair, outcome.at.after(outcome.duration), outcome.id);
                if outcome.decoding.protocol.is_over_http() {
                    self.note_ending(pair, outcome.ended_by);
                }
                if outcome.decoding.protocol.is_database() && self.introduced.len() < MAX_CONNECTIONS {
                    self.introduced.insert(
                        outcome.id,
                        Introduced {
                            driver: outcome.driver.clone(),
                            software: Software::from_connection(outcome),
                        },
                    );
                }
            }
            Fact::Left { connection, at } => self.left(*connection, *at),
            Fact::Started { .. } | Fact::Begun { .. } => {}
        }
    }

    pub(super) fn statement(
        &mut self,
        connection: ConnectionId,
        code: Option<FingerprintId>,
        tags: Option<&Tags>,
    ) {
        let names_some = tags.is_some_and(|tags| tags.framework.is_some() || tags.db_driver.is_some());
        let style = code.and_then(|code| code.style);
        if !names_some && style.is_none() {
            return;
        }
        if self.frameworks.len() >= MAX_CONNECTIONS && !self.frameworks.contains_key(&connection) {
            return;
        }
        let evidence = self.frameworks.entry(connection).or_default();
        if let Some(code) = code {
            evidence.statement(code.number, code.style);
        }
        if let Some(tags) = tags {
            evidence.tags(tags);
        }
    }

    /// Framework of a statement, otherwise of its connection.
    pub(super) fn framework(
        &self,
        connection: ConnectionId,
        fingerprint: Option<&Fingerprint>,
    ) -> Option<(Framework, Certainty)> {
        let driver = self
            .introduced(connection)
            .and_then(|introduced| introduced.driver.as_deref());
        let evidence = self.frameworks.get(&connection).copied().unwrap_or_default();
        evidence.framework(driver, fingerprint)
    }

    fn left(&mut self, connection: ConnectionId, at: Timestamp) {
        if let Some(opened) = self.opened.get(&connection) {
            self.note_over(opened.pair, at, connection);
        }
    }

    fn note_over(&mut self, pair: Pair, at: Timestamp, connection: ConnectionId) {
        if self
            .opened
            .get(&connection)
            .is_some_and(|opened| opened.is_refused)
        {
            return;
        }
        if self.over.len() < MAX_CONNECTIONS || self.over.contains_key(&pair) {
            let first = self.over.entry(pair).or_insert((at, connection));
            if at < first.0 {
                *first = (at, connection);
            }
        }
    }

    fn note_ending(&mut self, pair: Pair, by: Option<EndedBy>) {
        if self.endings.len() < MAX_CONNECTIONS || self.endings.contains_key(&pair) {
            let endings = self.endings.entry(pair).or_default();
            endings.connections += 1;
            if let Some(by) = by {
                *endings.by.entry(by).or_default() += 1;
            }
        }
    }

    /// How most connections between its two hosts ended.
    pub(super) fn ended_by(&self, connection: ConnectionId) -> Option<EndedBy> {
        let endings = self.endings.get(&self.opened.get(&connection)?.pair)?;
        let mut most = endings
            .by
            .iter()
            .filter(|(_, count)| **count * 2 > endings.connections);
        most.next().map(|(by, _)| *by)
    }

    /// Whether an earlier connection between the same client host and server ended before this one
    /// opened.
    pub(super) fn is_reopened(&self, connection: ConnectionId) -> bool {
        let Some(opened) = self.opened.get(&connection) else {
            return false;
        };
        let over = self.over.get(&opened.pair);
        over.is_some_and(|&(over, first)| first != connection && over <= opened.at.after(SLACK))
    }

    /// `None` while the connection is open.
    pub(super) fn introduced(&self, connection: ConnectionId) -> Option<&Introduced> {
        self.introduced.get(&connection)
    }
}
