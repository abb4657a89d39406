//! What is known of connections beside their operations: which software, and whether an earlier one was closed before.

use super::software::Software;
use crate::fact::Fact;
use model::{ConnectionId, ConnectionMap, Endpoint};
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

/// The connections of a run, bounded.
#[derive(Debug, Default)]
pub(super) struct Clients {
    /// Of connections that were opened after another of the same two hosts was closed: nothing. Others are not in it.
    reopened: ConnectionMap<()>,
    pairs: HashMap<(IpAddr, Endpoint), bool>,
    introduced: ConnectionMap<Introduced>,
}

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
                client,
                server,
                ..
            } => {
                let closed_before = self.pairs.get(&(client.address, *server)) == Some(&true);
                if closed_before && self.reopened.len() < MOST_CONNECTIONS {
                    self.reopened.insert(*connection, ());
                }
            }
            Fact::Closed(outcome) => {
                if self.pairs.len() < MOST_CONNECTIONS {
                    self.pairs.insert((outcome.client.address, outcome.server), true);
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

    /// Whether an earlier connection of the same client host to the same server had been closed before it was opened.
    pub(super) fn is_reopened(&self, connection: ConnectionId) -> bool {
        self.reopened.contains_key(&connection)
    }

    /// Who is on the client's side of a connection that is closed.
    pub(super) fn introduced(&self, connection: ConnectionId) -> Option<&Introduced> {
        self.introduced.get(&connection)
    }
}
