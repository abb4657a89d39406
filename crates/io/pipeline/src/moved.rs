//! Selects the connections that a prediction moves to the other link.

use anyhow::{Result, bail};
use model::{ConnectionId, ConnectionMap, Endpoint, OperationStep, Prediction, Protocol};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConnectionChoice {
    Protocol(Protocol),
    Server {
        /// Address or host name as given, compared as text.
        host: String,
        port: u16,
    },
}

impl ConnectionChoice {
    /// Parses the name of a protocol, or `HOST:PORT`.
    ///
    /// # Errors
    /// If it is neither.
    pub fn parse(text: &str) -> Result<Self> {
        if let Some(protocol) = Protocol::from_word(text) {
            return Ok(Self::Protocol(protocol));
        }
        let parts = text
            .rsplit_once(':')
            .and_then(|(host, port)| Some((host, port.parse().ok()?)));
        let Some((host, port)) = parts else {
            let known: Vec<&str> = Protocol::all_known().map(Protocol::name).collect();
            bail!(
                "'{text}' names no connections: use {} or HOST:PORT",
                known.join(", ")
            );
        };
        Ok(Self::Server {
            host: host.trim_matches(['[', ']']).to_owned(),
            port,
        })
    }
}

/// Learns the servers of connections as they open.
#[derive(Debug, Clone)]
pub struct MovedConnections {
    choices: Vec<ConnectionChoice>,
    servers: Arc<RwLock<ConnectionMap<Endpoint>>>,
    /// Servers of moved calls, at most [`MAX_CALLED`].
    called: Arc<RwLock<BTreeSet<Endpoint>>>,
    any: Arc<AtomicBool>,
}

impl MovedConnections {
    /// Moves the chosen connections; without a choice those to databases and called services
    /// ([`OperationStep::is_call`]), and all others but HTTP, FastCGI and web ports.
    pub fn new(choices: Vec<ConnectionChoice>) -> Self {
        Self {
            choices,
            servers: Arc::default(),
            called: Arc::default(),
            any: Arc::default(),
        }
    }

    pub fn opened(&self, connection: ConnectionId, server: Endpoint) {
        let mut servers = self.servers.write().unwrap_or_else(PoisonError::into_inner);
        servers.insert(connection, server);
    }

    pub fn words(&self) -> String {
        if self.choices.is_empty() {
            let called = self.called();
            let others: Vec<String> = called.iter().map(Endpoint::to_string).collect();
            return match others.is_empty() {
                true => "all database connections".to_owned(),
                false => format!("all database connections, and calls of {}", others.join(", ")),
            };
        }
        let choices = self.choices.iter().map(|choice| match choice {
            ConnectionChoice::Protocol(protocol) => format!("{} connections", protocol.name()),
            ConnectionChoice::Server { host, port } => format!("connections to {host}:{port}"),
        });
        choices.collect::<Vec<_>>().join(", ")
    }

    pub fn names(&self, server: Endpoint) -> bool {
        let named = |choice: &&ConnectionChoice| matches!(choice, ConnectionChoice::Server { .. });
        let choices: Vec<ConnectionChoice> = self.choices.iter().filter(named).cloned().collect();
        !choices.is_empty() && chosen(&choices, Protocol::Unknown, Some(&server))
    }

    pub fn moves_any(&self) -> bool {
        self.any.load(Ordering::Relaxed)
    }

    pub fn moves(&self, step: &OperationStep) -> bool {
        let connection = step.exchange.connection;
        let is_moved_call = || self.choices.is_empty() && step.is_call && self.record_call(connection);
        let moves = self.moves_connection(connection, step.protocol) || is_moved_call();
        if moves && !self.moves_any() {
            self.any.store(true, Ordering::Relaxed);
        }
        moves
    }

    /// Servers of calls that move without a choice, at most [`MAX_CALLED`].
    pub fn called(&self) -> BTreeSet<Endpoint> {
        self.called.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn record_call(&self, connection: ConnectionId) -> bool {
        let servers = self.servers.read().unwrap_or_else(PoisonError::into_inner);
        let known = |server: &Endpoint| {
            let called = self.called.read().unwrap_or_else(PoisonError::into_inner);
            called.contains(server) || called.len() >= MAX_CALLED
        };
        if let Some(server) = servers.get(&connection).filter(|server| !known(server)) {
            let mut called = self.called.write().unwrap_or_else(PoisonError::into_inner);
            called.insert(*server);
        }
        true
    }

    pub fn moves_connection(&self, connection: ConnectionId, protocol: Protocol) -> bool {
        let servers = self.servers.read().unwrap_or_else(PoisonError::into_inner);
        chosen(&self.choices, protocol, servers.get(&connection))
    }
}

/// Separates predictions of operations that wait for a moving connection from the names of the
/// others, for which a prediction only repeats the measurement.
pub fn by_whether_they_move(predictions: Vec<Prediction>) -> (Vec<Prediction>, Vec<Arc<str>>) {
    let (moved, others): (Vec<Prediction>, Vec<Prediction>) = predictions
        .into_iter()
        .partition(|prediction| prediction.turns > 0.0);
    let mut unmoved: Vec<Arc<str>> = Vec::new();
    for other in others {
        if !unmoved.contains(&other.operation_name) {
            unmoved.push(other.operation_name);
        }
    }
    (moved, unmoved)
}

/// Whether `choices` include a connection of this protocol and server. Without choices all but
/// HTTP, FastCGI and web ports are included.
pub fn chosen(choices: &[ConnectionChoice], protocol: Protocol, server: Option<&Endpoint>) -> bool {
    if choices.is_empty() {
        let web = server.is_some_and(|server| matches!(server.port, 80 | 443 | 8000 | 8080 | 8443));
        return protocol.is_database() || (!protocol.carries_requests() && !web);
    }
    choices.iter().any(|choice| match choice {
        ConnectionChoice::Protocol(chosen) => protocol == *chosen,
        ConnectionChoice::Server { host, port } => {
            server.is_some_and(|server| server.port == *port && server.address.to_string() == *host)
        }
    })
}

const MAX_CALLED: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_protocol_is_chosen_by_its_names() {
        for protocol in Protocol::all_known() {
            let words = std::iter::once(protocol.name()).chain(protocol.facts().aliases.iter().copied());
            for word in words.flat_map(|word| [word.to_owned(), word.to_uppercase()]) {
                let choice = ConnectionChoice::parse(&word).unwrap_or_else(|error| panic!("{error}"));
                assert_eq!(choice, ConnectionChoice::Protocol(protocol), "{word}");
            }
        }
    }

    #[test]
    fn an_unknown_word_lists_the_protocols() {
        for word in ["cassandra", "unknown", ""] {
            let refusal = ConnectionChoice::parse(word).unwrap_err().to_string();
            let names = Protocol::all_known().map(Protocol::name);
            assert!(
                names.chain(["HOST:PORT"]).all(|name| refusal.contains(name)),
                "{refusal}"
            );
        }
    }
}
