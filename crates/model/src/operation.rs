//! Operations: what a user waits for, and where its time went.

use crate::{Assigned, Evidence, Exchange, Margin, OperationTransaction, Protocol, Share, Timestamp};
use std::sync::Arc;
use std::time::Duration;

/// What a user waits for: a group of exchanges, possibly on several connections.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operation {
    /// Number within the run, from 0.
    pub id: u64,
    /// What kind of thing was waited for.
    pub kind: OperationKind,
    /// Its name: the same for operations that do the same thing, so that they can be summed.
    pub name: Arc<str>,
    /// When the user began to wait (half a client-side round trip before the first byte passed).
    pub at: Timestamp,
    /// How long the user waited.
    pub duration: Duration,
    /// The exchanges in order of their start, each with what it waited for.
    pub steps: Vec<OperationStep>,
    /// Round trips of all its exchanges, the TCP handshakes included.
    pub turns: u32,
    /// Connections that took part.
    pub connections: u32,
    /// Where the time went.
    pub attribution: Attribution,
    /// The share of `attribution` spent in connect, tls and login: its total.
    pub setup: Duration,
    /// Time of the client after the last exchange, before the operation ended.
    pub client_after: Duration,
    /// Whether more parts of the same operation follow. A very long operation is passed on in parts with the
    /// same `id`, so that memory stays bounded; durations, round trips and attributions of the parts sum to
    /// the whole.
    pub continues: bool,
    /// The transactions in it that stayed open between two replies, in the order in which they ended; last
    /// those still open.
    pub transactions: Vec<OperationTransaction>,
}

impl Operation {
    /// Steps of one connection, in order, as if they were all that its client waited for; their time is not
    /// attributed.
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

    /// How much of its waiting stands on what was seen.
    pub fn evidence(&self) -> Evidence {
        let mut evidence = Evidence::default();
        self.steps.iter().for_each(|step| evidence.step(step));
        evidence
    }
}

/// What groups exchanges into an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OperationKind {
    /// An HTTP request and the database work it caused.
    Http,
    /// A database transaction, or one statement outside of any.
    Transaction,
    /// A connection's life.
    Connection,
    /// What carries the identifier of one request, where the request itself was not seen.
    Request,
    /// Exchanges that follow each other without a longer pause.
    Burst,
    /// What lies between two marks of the client.
    Marked,
    /// All that was observed.
    Whole,
}

impl OperationKind {
    /// Whether it is a request that a web server answers, seen itself or by its identifier alone.
    pub const fn is_request(self) -> bool {
        matches!(self, Self::Http | Self::Request)
    }

    /// The word for it in records and reports.
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

/// One exchange within an operation, with what it waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperationStep {
    /// What happened; a TCP handshake is an exchange too ([`Exchange::is_handshake`]).
    pub exchange: Exchange,
    /// The protocol of its connection.
    pub protocol: Protocol,
    /// Index of the step whose completion allowed this one to begin; `None` if it began with the operation.
    pub after: Option<u32>,
    /// Whether `after` counts from that step's request (having reached its server) rather than from its reply
    /// (having reached its client): true for a pipelined request, and for a call that a server makes on
    /// behalf of a request it received.
    pub after_start: bool,
    /// Indices of further steps that must be complete too before this one begins. As measured: for a
    /// pipelined request of a client with a window, the step a window before it. A prediction adds those of
    /// queries that ran at once, where something waited for all of them.
    pub also_after: Vec<u32>,
    /// Client time between what it waited for and its own first byte, seen at the client of this exchange.
    pub client_before: Duration,
    /// For an exchange whose server made calls of its own (an HTTP request with database work inside): index
    /// of the last of them, which its reply waited for. Its own `server` time is then the time of that
    /// server's own computing only: the time from that step's end to the first byte of the reply.
    pub reply_after: Option<u32>,
    /// Indices of further steps that its reply waits for. Empty in an operation as it was measured.
    pub reply_also_after: Vec<u32>,
    /// How it is known that the step belongs to this operation; `None` if that is no question (the request
    /// itself, a connection's life, what a mark names).
    pub assigned: Option<Assigned>,
    /// How likely a guess is right; `None` for a proof, and where the question does not arise or was not
    /// answered. Calibrated: of the steps that are called 90 % likely, about 90 % are right
    /// (docs/requests.md).
    pub probability: Option<Share>,
    /// That no HTTP request was waiting for the step, although its client's host serves some: none was in
    /// progress, or the host does the same without any. `false` also where that is not known.
    pub outside_requests: bool,
}

impl OperationStep {
    /// A step that waited for nothing but the beginning of its operation.
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

/// Where an operation's wall time went. The parts exclude each other and sum to the duration to the
/// nanosecond.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Attribution {
    /// The client computed, or waited for something longwire did not see.
    pub client: Duration,
    /// The operation waited for a server to compute.
    pub server: Duration,
    /// By how much `server` may be wrong. What of it is not the server's is the network's, as transfer.
    pub server_margin: Margin,
    /// The operation waited for a pooler: for a free connection to the database, or for its own processing.
    /// Zero where none was seen.
    pub pooler: Duration,
    /// Bytes were on their way: one round trip per round trip.
    pub round_trip: Duration,
    /// Bytes were on their way: beyond the round trip, because of rate, window or size.
    pub transfer: Duration,
    /// Bytes were waiting for a retransmission.
    pub recovery: Duration,
    /// Cannot be determined.
    pub unknown: Duration,
}

impl Attribution {
    /// Round trips, transfer and recovery together.
    pub fn network(&self) -> Duration {
        self.round_trip + self.transfer + self.recovery
    }

    /// All parts together: the operation's duration.
    pub fn total(&self) -> Duration {
        self.client + self.server + self.pooler + self.network() + self.unknown
    }

    /// Adds the parts of `other` to these.
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
