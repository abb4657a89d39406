//! Operations and the attribution of their time.

use crate::{Assigned, Evidence, Exchange, Margin, OperationTransaction, Protocol, Share, Timestamp};
use std::sync::Arc;
use std::time::Duration;

/// Work for which a user waits: exchanges, possibly on several connections.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operation {
    /// Number within the run, from 0.
    pub id: u64,
    /// Kind of the operation.
    pub kind: OperationKind,
    /// Common name of operations that do the same work.
    pub name: Arc<str>,
    /// Start of the wait, half a client-side round trip before the first byte passed.
    pub at: Timestamp,
    /// Time the user waited.
    pub duration: Duration,
    /// Exchanges by start, with their dependencies.
    pub steps: Vec<OperationStep>,
    /// Round trips of all exchanges, including TCP handshakes.
    pub turns: u32,
    /// Number of connections used.
    pub connections: u32,
    /// Parts of the duration.
    pub attribution: Attribution,
    /// Part of `attribution` in connect, tls and login.
    pub setup: Duration,
    /// Client time after the last exchange.
    pub client_after: Duration,
    /// Whether more parts with the same `id` follow, which sum to the operation. Splitting bounds
    /// memory.
    pub continues: bool,
    /// Transactions that stayed open between two replies, by their end, open ones last.
    pub transactions: Vec<OperationTransaction>,
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
            steps,
        }
    }

    /// Evidence for its round trips.
    pub fn evidence(&self) -> Evidence {
        let mut evidence = Evidence::default();
        self.steps.iter().for_each(|step| evidence.step(step));
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
        }
    }
}

/// Parts of an operation's duration, which sum to it exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
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
