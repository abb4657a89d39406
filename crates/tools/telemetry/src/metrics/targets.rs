//! Sums by server, and by statement on a server.

use crate::metrics::family::{FamilyKind, Label, SeriesFamily};
use crate::metrics::names::{Mergeable, OTHER};
use crate::metrics::parts::{PartFamilies, PartNames, Parts};
use crate::metrics::text::short;
use analysis::waited::ExchangeWait;
use model::{Direction, Endpoint, Exchange, Fingerprint, PerDirection, Protocol};
use std::sync::Arc;

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct StatementKey {
    pub(crate) target: Option<Endpoint>,
    pub(crate) protocol: Protocol,
    pub(crate) fingerprint: Fingerprint,
}

#[derive(Debug, Default)]
pub(crate) struct TargetSums {
    /// `None` until known, and for several targets together.
    pub(crate) protocol: Option<Protocol>,
    parts: Parts,
    errors: u64,
    bytes: PerDirection<u64>,
    pub(crate) opened: u64,
    pub(crate) closed: u64,
}

#[derive(Debug, Default)]
pub(crate) struct StatementSums {
    parts: Parts,
    executions: u64,
    errors: u64,
}

impl TargetSums {
    pub(crate) fn exchange(&mut self, exchange: &Exchange, protocol: Protocol, waited: ExchangeWait) {
        if protocol != Protocol::Unknown {
            self.protocol = Some(protocol);
        }
        self.parts.exchange(waited, exchange.turns);
        self.errors += u64::from(exchange.error.is_some());
        self.bytes[Direction::ClientToServer] += exchange.request_bytes;
        self.bytes[Direction::ServerToClient] += exchange.reply_bytes;
    }
}

impl Mergeable for TargetSums {
    fn merge(&mut self, other: &Self) {
        self.protocol = None;
        self.parts.merge(&other.parts);
        self.errors += other.errors;
        self.opened += other.opened;
        self.closed += other.closed;
        for (sum, more) in self.bytes.iter_mut().zip(other.bytes) {
            *sum += more;
        }
    }
}

impl StatementSums {
    pub(crate) fn exchange(&mut self, exchange: &Exchange, waited: ExchangeWait) {
        self.parts.exchange(waited, exchange.turns);
        self.executions += u64::from(exchange.executions);
        self.errors += u64::from(exchange.error.is_some());
    }
}

impl Mergeable for StatementSums {
    fn merge(&mut self, other: &Self) {
        self.parts.merge(&other.parts);
        self.executions += other.executions;
        self.errors += other.errors;
    }
}

pub(crate) fn of_targets<'t>(
    targets: impl Iterator<Item = (Option<&'t Endpoint>, &'t TargetSums, u64)>,
) -> impl Iterator<Item = SeriesFamily> {
    let mut parts = PartFamilies::new(&TARGET_PARTS);
    let counter = |name, otel_name, help| SeriesFamily::new(name, otel_name, help, FamilyKind::Counter);
    let mut errors = counter(
        "longwire_target_errors_total",
        "longwire.target.errors",
        "Exchanges that ended in an error.",
    );
    let mut bytes = counter(
        "longwire_target_bytes_total",
        "longwire.target.bytes",
        "Payload bytes of exchanges.",
    )
    .in_unit("By");
    let mut opened = counter(
        "longwire_target_connections_opened_total",
        "longwire.target.connections.opened",
        "Connections that were seen for the first time.",
    );
    let mut closed = counter(
        "longwire_target_connections_closed_total",
        "longwire.target.connections.closed",
        "Connections that ended.",
    );
    for (target, sums, since) in targets {
        if since == 0 {
            continue;
        }
        let labels = vec![target_label(target.copied()), protocol_label(sums.protocol)];
        parts.add(&labels, &sums.parts, since);
        errors = errors.with(labels.clone(), since, sums.errors as f64);
        for (direction, count) in ["sent", "received"].into_iter().zip(sums.bytes) {
            let mut labels = labels.clone();
            labels.push(("direction", Arc::from(direction)));
            bytes = bytes.with(labels, since, count as f64);
        }
        opened = opened.with(labels.clone(), since, sums.opened as f64);
        closed = closed.with(labels, since, sums.closed as f64);
    }
    parts.into_families().chain([errors, bytes, opened, closed])
}

pub(crate) fn of_statements<'s>(
    statements: impl Iterator<Item = (Option<&'s StatementKey>, &'s StatementSums, u64)>,
) -> impl Iterator<Item = SeriesFamily> {
    let mut parts = PartFamilies::new(&STATEMENT_PARTS);
    let counter = |name, otel_name, help| SeriesFamily::new(name, otel_name, help, FamilyKind::Counter);
    let mut executions = counter(
        "longwire_statement_executions_total",
        "longwire.statement.executions",
        "Executions of statements; a pipelined batch has many in one exchange.",
    );
    let mut errors = counter(
        "longwire_statement_errors_total",
        "longwire.statement.errors",
        "Exchanges with statements that ended in an error.",
    );
    for (key, sums, since) in statements {
        let labels = match key {
            Some(key) => vec![
                target_label(key.target),
                protocol_label(Some(key.protocol)),
                ("statement", short(&key.fingerprint)),
            ],
            None => vec![
                target_label(None),
                protocol_label(None),
                ("statement", Arc::from(OTHER)),
            ],
        };
        if since == 0 {
            continue;
        }
        parts.add(&labels, &sums.parts, since);
        executions = executions.with(labels.clone(), since, sums.executions as f64);
        errors = errors.with(labels, since, sums.errors as f64);
    }
    parts.into_families().chain([executions, errors])
}

fn target_label(target: Option<Endpoint>) -> Label {
    (
        "target",
        target.map_or_else(|| Arc::from(OTHER), |target| Arc::from(target.to_string())),
    )
}

fn protocol_label(protocol: Option<Protocol>) -> Label {
    ("protocol", Arc::from(protocol.map_or(OTHER, Protocol::name)))
}

const TARGET_PARTS: PartNames = PartNames {
    families: [
        (
            "longwire_target_duration_seconds",
            "longwire.target.duration",
            "How long clients waited for exchanges with a server.",
        ),
        (
            "longwire_target_turns",
            "longwire.target.turns",
            "Round trips that clients waited for, of each exchange with a server.",
        ),
        (
            "longwire_target_network_seconds",
            "longwire.target.network.duration",
            "Of the duration of an exchange with a server, the network's part.",
        ),
        (
            "longwire_target_server_seconds",
            "longwire.target.server.duration",
            "Of the duration of an exchange with a server, the server's part.",
        ),
        (
            "longwire_target_client_seconds",
            "longwire.target.client.duration",
            "Of the duration of an exchange with a server, the client's part: it was still producing the request.",
        ),
    ],
};

const STATEMENT_PARTS: PartNames = PartNames {
    families: [
        (
            "longwire_statement_duration_seconds",
            "db.client.operation.duration",
            "How long clients waited for an exchange that executes the statement.",
        ),
        (
            "longwire_statement_turns",
            "longwire.turns",
            "Round trips that clients waited for, of each exchange that executes the statement.",
        ),
        (
            "longwire_statement_network_seconds",
            "longwire.network.duration",
            "Of the duration of an exchange, the network's part.",
        ),
        (
            "longwire_statement_server_seconds",
            "longwire.server.duration",
            "Of the duration of an exchange, the server's part.",
        ),
        (
            "longwire_statement_client_seconds",
            "longwire.client.duration",
            "Of the duration of an exchange, the client's part: it was still producing the request.",
        ),
    ],
};
