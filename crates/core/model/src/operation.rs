//! Operations and the attribution of their time.

use crate::serde_units::{count, ns};
use crate::{Assigned, Evidence, Exchange, Margin, OperationTransaction, Protocol, Share, Timestamp};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;

/// Work for which a user waits: exchanges, possibly on several connections.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Operation {
    /// Number within the run, from 0.
    pub id: u64,
    /// Kind of the operation.
    pub kind: OperationKind,
    /// Common name of operations that do the same work.
    #[serde(rename = "operation_name")]
    pub name: Arc<str>,
    /// Start of the wait, half a client-side round trip before the first byte passed.
    #[serde(rename = "at_ns")]
    pub at: Timestamp,
    /// Time the user waited.
    #[serde(rename = "duration_ns", with = "ns")]
    pub duration: Duration,
    /// Round trips of all exchanges, including TCP handshakes.
    pub turns: u32,
    /// Exchanges by start, with their dependencies.
    #[serde(rename = "exchanges", serialize_with = "count")]
    pub steps: Vec<OperationStep>,
    /// Number of connections used.
    pub connections: u32,
    /// Parts of the duration.
    #[serde(flatten)]
    pub attribution: Attribution,
    /// Part of `attribution` in connect, tls and login.
    #[serde(rename = "setup_ns", with = "ns")]
    pub setup: Duration,
    /// Client time after the last exchange.
    #[serde(rename = "client_after_ns", with = "ns")]
    pub client_after: Duration,
    /// Whether more parts with the same `id` follow, which sum to the operation. Splitting bounds
    /// memory.
    pub continues: bool,
    /// Transactions that stayed open between two replies, by their end, open ones last.
    #[serde(skip)]
    pub transactions: Vec<OperationTransaction>,
    /// Exchanges of its server for it that the reply did not wait for, by start.
    #[serde(skip)]
    pub after_reply: Vec<OperationStep>,
}

impl Operation {
    /// From the sequential steps of one connection, without attribution.
    pub fn of_steps(id: u64, name: Arc<str>, steps: Vec<OperationStep>) -> Self {
        let at = steps.first().map(|first| first.exchange.at).unwrap_or_default();
        let ended = steps.last().map(|last| last.exchange.ended());
        Self {
            id,
            kind: OperationKind::Burst,
            name,
            at,
            duration: ended.unwrap_or(at).since(at),
            turns: steps.iter().map(|step| step.exchange.turns).sum(),
            connections: 1,
            attribution: Attribution::default(),
            setup: Duration::ZERO,
            client_after: Duration::ZERO,
            continues: false,
            transactions: Vec::new(),
            after_reply: Vec::new(),
            steps,
        }
    }

    /// Evidence for its round trips.
    pub fn evidence(&self) -> Evidence {
        let mut evidence = Evidence::default();
        evidence.operation(&self.steps);
        evidence
    }
}

/// Criterion that groups exchanges into an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OperationKind {
    /// An HTTP request and the database work it caused.
    Http,
    /// A database transaction, or one statement outside of any.
    Transaction,
    /// The life of a connection.
    Connection,
    /// Exchanges with a common request identifier, without the request.
    Request,
    /// Exchanges without longer pauses between them.
    Burst,
    /// Exchanges between two marks of the client.
    Marked,
    /// The whole observation as one.
    Whole,
}

impl OperationKind {
    /// Whether it is a web server's request, seen itself or by identifier.
    pub const fn is_request(self) -> bool {
        matches!(self, Self::Http | Self::Request)
    }

    /// Name in records and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Transaction => "transaction",
            Self::Connection => "connection",
            Self::Request => "request",
            Self::Burst => "burst",
            Self::Marked => "marked",
            Self::Whole => "whole",
        }
    }
}

/// One exchange within an operation, with its dependencies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperationStep {
    /// The exchange, possibly a TCP handshake ([`Exchange::is_handshake`]).
    pub exchange: Exchange,
    /// Protocol of the connection.
    pub protocol: Protocol,
    /// Index of the step that had to complete first; `None` at the operation's start.
    pub after: Option<u32>,
    /// Whether `after` counts from that step's request at its server, as for a pipelined request or
    /// a server's call.
    pub after_start: bool,
    /// Further steps that must complete first: with a pipelining window, the step one window
    /// earlier; in predictions, the other concurrent queries.
    pub also_after: Vec<u32>,
    /// Client time between the dependency and its first byte.
    pub client_before: Duration,
    /// The server's last own call, for which the reply waited. `server` then counts only from that
    /// step's end.
    pub reply_after: Option<u32>,
    /// Further steps for which the reply waits, in predictions only.
    pub reply_also_after: Vec<u32>,
    /// How it was assigned to the operation, unless that is certain.
    pub assigned: Option<Assigned>,
    /// Probability that a guess is right, if determined. Calibrated against known requests
    /// (docs/requests.md).
    pub probability: Option<Share>,
    /// Whether it certainly belongs to no HTTP request of its client's host: none was in progress,
    /// or the host does the same without any.
    pub outside_requests: bool,
    /// Whether its connection calls a service within a request to another one, without passing the
    /// request on as a proxy does.
    pub is_call: bool,
}

impl OperationStep {
    /// A step without dependencies.
    #[inline]
    pub const fn first(exchange: Exchange, protocol: Protocol) -> Self {
        Self {
            exchange,
            protocol,
            after: None,
            after_start: false,
            also_after: Vec::new(),
            client_before: Duration::ZERO,
            reply_after: None,
            reply_also_after: Vec::new(),
            assigned: None,
            probability: None,
            outside_requests: false,
            is_call: false,
        }
    }

    /// Whether its exchange waits for no other on its connection.
    pub const fn has_stream(&self) -> bool {
        self.exchange.asked.on_stream || self.protocol.has_streams()
    }

    /// Whether it is for a server that a program depends on: a database or a called service.
    pub const fn is_dependency(&self) -> bool {
        self.protocol.is_database() || self.is_call
    }
}

/// Parts of an operation's duration, which sum to it exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(from = "AttributionKeys", into = "AttributionKeys")]
pub struct Attribution {
    /// Client computing, or waits that longwire did not see.
    pub client: Duration,
    /// Waits for servers to compute.
    pub server: Duration,
    /// Error of `server`, with the difference in `transfer`.
    pub server_margin: Margin,
    /// Waits for a pooler's free connection or processing; zero without a seen pooler.
    pub pooler: Duration,
    /// Bytes in flight, one round-trip time per round trip.
    pub round_trip: Duration,
    /// Bytes in flight beyond the round trip (rate, window or size).
    pub transfer: Duration,
    /// Bytes waiting for a retransmission.
    pub recovery: Duration,
    /// Time that cannot be attributed.
    pub unknown: Duration,
}

/// In records. `network_ns` is the sum of the three keys after it.
#[derive(Serialize, Deserialize)]
struct AttributionKeys {
    #[serde(rename = "client_ns", with = "ns")]
    client: Duration,
    #[serde(rename = "server_ns", with = "ns")]
    server: Duration,
    #[serde(
        rename = "server_min_ns",
        with = "ns",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    server_min: Option<Duration>,
    #[serde(
        rename = "server_max_ns",
        with = "ns",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    server_max: Option<Duration>,
    #[serde(
        rename = "pooler_ns",
        with = "ns",
        default,
        skip_serializing_if = "Duration::is_zero"
    )]
    pooler: Duration,
    #[serde(rename = "network_ns", with = "ns")]
    network: Duration,
    #[serde(rename = "round_trip_ns", with = "ns")]
    round_trip: Duration,
    #[serde(rename = "transfer_ns", with = "ns")]
    transfer: Duration,
    #[serde(rename = "recovery_ns", with = "ns")]
    recovery: Duration,
    #[serde(rename = "unknown_ns", with = "ns")]
    unknown: Duration,
}

impl From<Attribution> for AttributionKeys {
    fn from(attribution: Attribution) -> Self {
        let [server_min, server_max] = attribution.server_margin.bounds(attribution.server);
        Self {
            client: attribution.client,
            server: attribution.server,
            server_min,
            server_max,
            pooler: attribution.pooler,
            network: attribution.network(),
            round_trip: attribution.round_trip,
            transfer: attribution.transfer,
            recovery: attribution.recovery,
            unknown: attribution.unknown,
        }
    }
}

impl From<AttributionKeys> for Attribution {
    fn from(keys: AttributionKeys) -> Self {
        Self {
            client: keys.client,
            server: keys.server,
            server_margin: Margin::within_bounds(keys.server, [keys.server_min, keys.server_max]),
            pooler: keys.pooler,
            round_trip: keys.round_trip,
            transfer: keys.transfer,
            recovery: keys.recovery,
            unknown: keys.unknown,
        }
    }
}

impl Attribution {
    /// Sum of round trips, transfer and recovery.
    pub fn network(&self) -> Duration {
        self.round_trip + self.transfer + self.recovery
    }

    /// Sum of all parts, the duration.
    pub fn total(&self) -> Duration {
        self.client + self.server + self.pooler + self.network() + self.unknown
    }

    /// Adds the parts of `other`.
    pub fn add(&mut self, other: &Attribution) {
        self.client += other.client;
        self.server += other.server;
        self.server_margin.add(other.server_margin);
        self.pooler += other.pooler;
        self.round_trip += other.round_trip;
        self.transfer += other.transfer;
        self.recovery += other.recovery;
        self.unknown += other.unknown;
    }
}
