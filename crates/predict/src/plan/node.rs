//! A node of a plan: a request, the wait and the reply.

use super::{NodeId, PlanConnection};
use crate::cores::Whose;
use crate::load::CoreTime;
use crate::locks::LockKey;
use model::{Nanos, Protocol, Timestamp};

/// One request burst, the wait and the reply burst.
#[derive(Debug, Clone)]
pub struct PlanNode {
    pub connection: PlanConnection,
    pub crossing: Crossing,
    /// Like those of the reply, simulated up to 64 MiB and extrapolated beyond.
    pub request_bytes: u64,
    pub reply_bytes: u64,
    pub has_reply: bool,
    /// Lock it requests and may have to wait for.
    pub locks: Option<LockKey>,
    /// Whether no transaction is open on the connection afterwards.
    pub ends_transaction: bool,
    pub client_inside: Nanos,
    /// Time within request and reply that the sender held bytes back for a delayed acknowledgement,
    /// the same at every distance. For connections that stay it is part of [`Crossing`].
    pub held_back: [Nanos; 2],
    pub server_before: Nanos,
    pub server_inside: Nanos,
    /// The pooler's own part of `server_before`, kept as measured like `behind_pooler`.
    pub pooler: Nanos,
    /// Network between pooler and database, a part of `server_before`.
    pub behind_pooler: Nanos,
    /// Measured end of the client time before the request, and of the server time before the reply.
    pub computed_at: [Timestamp; 2],
    /// Measured rest of the client before `client_before`, and of the server before
    /// `server_before`.
    pub rested: [Nanos; 2],
    pub round_trip: Nanos,
    /// Measured wait with an unknown network part; kept as it is.
    pub unknown: Nanos,
    pub after: Option<NodeId>,
    pub after_what: After,
    /// Client time between the awaited event and the request.
    pub client_before: Nanos,
    /// Whether the client is a server that makes this call for a received request.
    pub by_server: bool,
    /// Protocol of a server's call to a database, possibly on a pooled connection.
    pub pool: Option<Protocol>,
    /// Whether the connection cannot return to a pool afterwards: the exchange continues, or a
    /// transaction is open.
    pub keeps_connection: bool,
    pub to_web_server: bool,
    pub reply_after: Option<NodeId>,
    pub first_dependent: Option<NodeId>,
    pub next_dependent: Option<NodeId>,
    pub first_reply_waiter: Option<NodeId>,
    pub next_reply_waiter: Option<NodeId>,
}

impl PlanNode {
    /// Whether anything waits for its request to reach the server.
    pub const fn arrival_matters(&self) -> bool {
        self.has_reply || self.first_dependent.is_some()
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
        let [client, server] = self.computed_at;
        let [of_client, of_server] = self.whose();
        [
            (of_client, (client.minus(self.client_before), client)),
            (of_server, (server.minus(self.server_before), server)),
            (of_server, (server, server.plus(self.server_inside))),
        ]
    }

    pub(super) fn keep_work_only(&mut self, work: &Work) {
        let done = self
            .computed()
            .map(|(whose, (begin, end))| match &work[whose.index()] {
                Some(work) => work.between(begin, end),
                None => end.nanos_since(begin),
            });
        [self.client_before, self.server_before, self.server_inside] = done;
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
