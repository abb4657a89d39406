//! A node of a plan: a request, the wait and the reply.

use super::{LockKey, NodeId, PlanConnection};
use crate::cores::Whose;
use crate::load::CoreTime;
use model::{Nanos, Phase, Protocol, Timestamp};

/// One request burst, the wait and the reply burst.
#[derive(Debug, Clone)]
pub struct PlanNode {
    pub connection: PlanConnection,
    pub phase: Phase,
    pub crossing: Crossing,
    pub has_reply: bool,
    pub bytes: Bytes,
    pub measured: Measured,
    pub dependencies: Dependencies,
    /// Lock it requests and may have to wait for.
    pub locks: Option<LockKey>,
    /// Whether no transaction is open on the connection afterwards.
    pub ends_transaction: bool,
    /// Whether the client is a server that makes this call for a received request.
    pub by_server: bool,
    /// Protocol of a server's call to a database, possibly on a pooled connection.
    pub pool: Option<Protocol>,
    /// Whether the connection cannot return to a pool afterwards: it is being opened, the exchange
    /// continues, a transaction is open, or a statement was only prepared.
    pub keeps_connection: bool,
    pub to_web_server: bool,
    /// Its connection has streams: no earlier request delays its reply.
    pub on_stream: bool,
}

/// Simulated up to 64 MiB and extrapolated beyond.
#[derive(Debug, Clone, Copy)]
pub struct Bytes {
    pub request: u64,
    pub reply: u64,
}

/// Times that are the same at every distance.
#[derive(Debug, Clone)]
pub struct Measured {
    /// Client time between the awaited event and the request.
    pub client_before: Nanos,
    pub client_inside: Nanos,
    pub server_before: Nanos,
    pub server_inside: Nanos,
    /// The pooler's own part of `server_before`, kept as measured like `behind_pooler`.
    pub pooler: Nanos,
    /// Network between pooler and database, a part of `server_before`.
    pub behind_pooler: Nanos,
    /// Time within request and reply that the sender held bytes back for a delayed acknowledgement.
    /// For connections that stay it is part of [`Crossing`].
    pub held_back: [Nanos; 2],
    /// End of the client time before the request, and of the server time before the reply.
    pub computed_at: [Timestamp; 2],
    /// Rest of the client before `client_before`, and of the server before `server_before`.
    pub rested: [Nanos; 2],
    pub round_trip: Nanos,
    /// Wait with an unknown network part; kept as it is.
    pub unknown: Nanos,
}

/// Nodes that it waits for, and lists of the nodes that wait for it.
#[derive(Debug, Clone)]
pub struct Dependencies {
    pub after: Option<NodeId>,
    pub after_what: After,
    pub reply_after: Option<NodeId>,
    pub first_dependent: Option<NodeId>,
    pub next_dependent: Option<NodeId>,
    pub first_reply_waiter: Option<NodeId>,
    pub next_reply_waiter: Option<NodeId>,
}

impl Dependencies {
    pub(super) const fn new(after: Option<NodeId>, after_what: After) -> Self {
        Self {
            after,
            after_what,
            reply_after: None,
            first_dependent: None,
            next_dependent: None,
            first_reply_waiter: None,
            next_reply_waiter: None,
        }
    }
}

impl PlanNode {
    /// Whether anything waits for its request to reach the server.
    pub const fn arrival_matters(&self) -> bool {
        self.has_reply || self.dependencies.first_dependent.is_some()
    }

    pub const fn opens(&self) -> bool {
        matches!(self.phase, Phase::Connect | Phase::Tls | Phase::Login)
    }

    pub fn turns_moved(&self) -> u64 {
        u64::from(self.has_reply && !matches!(self.crossing, Crossing::Measured { .. }))
    }

    /// Cores of client and server.
    pub const fn whose(&self) -> [Whose; 2] {
        let client = if self.by_server {
            Whose::WebServers
        } else {
            Whose::Clients
        };
        let server = if self.to_web_server {
            Whose::WebServers
        } else {
            Whose::Servers
        };
        [client, server]
    }

    pub fn computed(&self) -> [(Whose, (Timestamp, Timestamp)); 3] {
        let measured = &self.measured;
        let [client, server] = measured.computed_at;
        let [of_client, of_server] = self.whose();
        [
            (of_client, (client.minus(measured.client_before), client)),
            (of_server, (server.minus(measured.server_before), server)),
            (of_server, (server, server.plus(measured.server_inside))),
        ]
    }

    pub(super) fn keep_work_only(&mut self, work: &Work) {
        let done = self
            .computed()
            .map(|(whose, (begin, end))| match &work[whose.index()] {
                Some(work) => work.between(begin, end),
                None => end.nanos_since(begin),
            });
        let measured = &mut self.measured;
        [
            measured.client_before,
            measured.server_before,
            measured.server_inside,
        ] = done;
    }
}

/// Measured work by [`Whose`]; `None` if time is work.
pub type Work = [Option<CoreTime>; 3];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum After {
    /// Arrival of the reply at the client, or sending of a request without reply.
    Completion,
    /// Sending of the request, where both are on one connection and the second does not wait.
    RequestSent,
    /// Arrival of the request at the server, which then makes this call.
    RequestArrived,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Crossing {
    Handshake,
    Moved,
    Measured {
        /// From the request's first byte leaving the client to the last reaching the server.
        request: Nanos,
        /// From the reply's first byte leaving the server to the last reaching the client.
        reply: Nanos,
        round_trip: Nanos,
        recovery: Nanos,
    },
}
