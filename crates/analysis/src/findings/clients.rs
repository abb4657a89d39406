//! What is known of connections beside their operations: which software, and whether an earlier one was closed before.

use super::software::Software;
use crate::fact::Fact;
use model::{ConnectionId, ConnectionMap, Endpoint, Timestamp};
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

/// The connections of a run, bounded.
#[derive(Debug, Default)]
pub(super) struct Clients {
    opened: ConnectionMap<(Pair, Timestamp)>,
    /// When the first connection of a client host and a server ended.
    first_ended: HashMap<Pair, Timestamp>,
    introduced: ConnectionMap<Introduced>,
}

/// A client's host and a server.
type Pair = (IpAddr, Endpoint);

/// How a client introduced itself, and what it is.
#[derive(Debug, Clone)]
pub(super) struct Introduced {
    pub(super) driver: Option<Arc<str>>,
    pub(super) software: Software,
}

/// Most connections of which anything is kept.
pub(super) const MOST_CONNECTIONS: usize = 65_536;

impl Clients {
    pub(super) fn fact(&mut self, fact: &Fact) {
        match fact {
            Fact::Opened {
                connection,
                at,
                client,
                server,
            } => {
                if self.opened.len() < MOST_CONNECTIONS {
                    self.opened.insert(*connection, ((client.address, *server), *at));
                }
            }
            Fact::Closed(outcome) => {
                let pair = (outcome.client.address, outcome.server);
                let ended = outcome.at.after(outcome.duration);
                if let Some(first) = self.first_ended.get_mut(&pair) {
                    *first = ended.min(*first);
                } else if self.first_ended.len() < MOST_CONNECTIONS {
                    self.first_ended.insert(pair, ended);
                }
                if outcome.decoding.protocol.is_database() && self.introduced.len() < MOST_CONNECTIONS {
                    self.introduced.insert(
                        outcome.id,
                        Introduced {
                            driver: outcome.driver.clone(),
                            software: Software::of(outcome),
                        },
                    );
                }
            }
            Fact::Started { .. } | Fact::Exchange { .. } => {}
        }
    }

    /// Whether an earlier connection of the same client host to the same server had ended before it was opened, as far as the end of
    /// that is known by now: a capture tells it a little later.
    pub(super) fn is_reopened(&self, connection: ConnectionId) -> bool {
        self.opened
            .get(&connection)
            .is_some_and(|(pair, at)| self.first_ended.get(pair).is_some_and(|ended| ended < at))
    }

    /// Who is on the client's side of a connection that is closed.
    pub(super) fn introduced(&self, connection: ConnectionId) -> Option<&Introduced> {
        self.introduced.get(&connection)
    }
}
