//! Operations: what a user waits for, and where its time went.

use crate::{ConnectionId, Exchange, Protocol, Timestamp};
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
    /// Turns of all its exchanges, the TCP handshakes included.
    pub turns: u32,
    /// Connections that took part.
    pub connections: u32,
    /// Where the time went.
    pub attribution: Attribution,
    /// The share of `attribution` spent in connect, tls and login: its total.
    pub setup: Duration,
    /// When the user had the last byte, relative to `steps`: time of the client after its last exchange ended.
    pub client_after: Duration,
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
    /// Exchanges that follow each other without a longer pause.
    Burst,
    /// All that was observed.
    Whole,
}

impl OperationKind {
    /// The word for it in records and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Transaction => "transaction",
            Self::Connection => "connection",
            Self::Burst => "burst",
            Self::Whole => "whole",
        }
    }
}

/// One exchange (or TCP handshake) within an operation, with what it waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperationStep {
    /// What happened.
    pub event: StepEvent,
    /// The protocol of its connection.
    pub protocol: Protocol,
    /// Index of the step whose completion allowed this one to begin; absent when it began with the operation.
    /// With `after_start`, the step whose *request* allowed it (pipelining, nested calls).
    pub after: Option<u32>,
    /// Whether `after` counts from that step's request arriving at the server rather than from its reply reaching the client: true
    /// for a pipelined request and for the first call a server makes on behalf of a request it received.
    pub after_start: bool,
    /// Client time between what it waited for and its own first byte.
    pub client_before: Duration,
    /// For an exchange whose server made calls of its own (an HTTP request nesting database work): index of the last
    /// step its reply waited for. Its own `server` time then counts from that step's end.
    pub reply_after: Option<u32>,
}

/// What a step of an operation is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepEvent {
    /// A TCP handshake of `connection`: one turn, no payload.
    Handshake {
        /// The connection it opened.
        connection: ConnectionId,
        /// When the SYN passed.
        at: Timestamp,
        /// Round trip between observation point and client as seen in the handshake.
        client_side_rtt: Duration,
        /// Round trip between observation point and server as seen in the handshake.
        server_side_rtt: Duration,
    },
    /// An exchange.
    Exchange(Exchange),
}

impl StepEvent {
    /// The connection it happened on.
    pub fn connection(&self) -> ConnectionId {
        match self {
            Self::Handshake { connection, .. } => *connection,
            Self::Exchange(exchange) => exchange.connection,
        }
    }
}

/// Where an operation's wall time went. The parts exclude each other and sum to the duration to the nanosecond.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Attribution {
    /// The client computed, or waited for something longwire did not see.
    pub client: Duration,
    /// The operation waited for a server to compute.
    pub server: Duration,
    /// Bytes were on their way: one round trip per turn.
    pub round_trip: Duration,
    /// Bytes were on their way: beyond the round trip, because of rate, window or size.
    pub transfer: Duration,
    /// Bytes were waiting for a retransmission.
    pub recovery: Duration,
    /// Cannot be told.
    pub unknown: Duration,
}

impl Attribution {
    /// Round trips, transfer and recovery together.
    pub fn network(&self) -> Duration {
        self.round_trip + self.transfer + self.recovery
    }

    /// All parts together: the operation's duration.
    pub fn total(&self) -> Duration {
        self.client + self.server + self.network() + self.unknown
    }

    /// Adds the parts of `other` to these.
    pub fn add(&mut self, other: &Attribution) {
        self.client += other.client;
        self.server += other.server;
        self.round_trip += other.round_trip;
        self.transfer += other.transfer;
        self.recovery += other.recovery;
        self.unknown += other.unknown;
    }
}
