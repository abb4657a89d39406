//! HTTP requests and the work they caused on other connections.
//!
//! Whose work an exchange is, by these rules in order:
//! 1. Its connection's client is a host that serves an HTTP request which had arrived when the exchange began and is not answered yet. Only
//!    such requests are considered.
//! 2. When its connection worked for one of them before, it still does: a worker keeps its connection until it answers.
//! 3. When it was opened, or at its next exchange: the earliest of them that has no connection yet, otherwise the
//!    latest of them.
//!
//! With one request at a time this is exact. With several at once on one host rule 3 is a guess, right as long as workers connect
//! in the order in which their requests came.

use super::{Grouped, Member, Sink, assemble, group_name};
use model::{ConnectionId, ConnectionMap, Endpoint, OperationKind, Protocol, Timestamp};

/// HTTP requests that are not answered yet.
#[derive(Debug, Default)]
pub(super) struct Requests {
    open: Vec<OpenRequest>,
    /// Which request a connection worked for last.
    worked_for: ConnectionMap<u64>,
}

/// An HTTP request that is not answered yet.
#[derive(Debug)]
struct OpenRequest {
    id: u64,
    connection: ConnectionId,
    server: Endpoint,
    started: Timestamp,
    outer: Option<u64>,
    has_connection: bool,
    members: Vec<Member>,
}

/// Most exchanges one HTTP request may collect; further ones count for their connection.
const MAXIMUM_MEMBERS: usize = 100_000;

impl Requests {
    /// A request has reached its server; `handshake` is the one that opened its connection, for the first request.
    pub(super) fn started(
        &mut self,
        id: u64,
        connection: ConnectionId,
        (client, server): (Endpoint, Endpoint),
        at: Timestamp,
        handshake: Option<Member>,
    ) {
        let outer = self
            .open
            .iter()
            .rev()
            .find(|open| {
                open.server.address == client.address
                    && open.server != server
                    && open.connection != connection
            })
            .map(|open| open.id);
        let members = handshake.into_iter().collect();
        self.open.push(OpenRequest {
            id,
            connection,
            server,
            started: at,
            outer,
            has_connection: false,
            members,
        });
    }

    /// Takes an exchange that some request caused, or that answers one; gives back any other.
    pub(super) fn claim(&mut self, member: Member, out: &mut Sink<'_>) -> Option<Member> {
        if member.protocol == Protocol::Http && member.exchange.executions > 0 {
            self.answered(member, out);
            return None;
        }
        let connection = member.exchange.connection;
        let Some(position) = self.cause(connection, (member.client, member.server), member.exchange.at)
        else {
            return Some(member);
        };
        let open = &mut self.open[position];
        if open.members.len() >= MAXIMUM_MEMBERS {
            return Some(member);
        }
        open.has_connection = true;
        self.worked_for.insert(member.exchange.connection, open.id);
        open.members.push(member);
        None
    }

    /// A connection is gone.
    pub(super) fn closed(&mut self, connection: ConnectionId) {
        self.worked_for.remove(&connection);
    }

    /// A connection was opened: the order in which workers connect tells more than the order in which their first
    /// exchanges are done.
    pub(super) fn opened(
        &mut self,
        connection: ConnectionId,
        client: Endpoint,
        server: Endpoint,
        at: Timestamp,
    ) {
        if let Some(position) = self.cause(connection, (client, server), at) {
            let open = &mut self.open[position];
            open.has_connection = true;
            self.worked_for.insert(connection, open.id);
        }
    }

    fn cause(
        &self,
        connection: ConnectionId,
        (client, server): (Endpoint, Endpoint),
        at: Timestamp,
    ) -> Option<usize> {
        let could_cause = |open: &OpenRequest| {
            open.server.address == client.address
                && open.server != server
                && open.connection != connection
                && open.started <= at
        };
        let worked_for = self.worked_for.get(&connection);
        self.open
            .iter()
            .position(|open| Some(&open.id) == worked_for && could_cause(open))
            .or_else(|| {
                self.open
                    .iter()
                    .position(|open| !open.has_connection && could_cause(open))
            })
            .or_else(|| self.open.iter().rposition(could_cause))
    }

    fn answered(&mut self, member: Member, out: &mut Sink<'_>) {
        let connection = member.exchange.connection;
        let Some(position) = self.open.iter().position(|open| open.connection == connection) else {
            out(Grouped::Alone(member.exchange, member.protocol));
            return;
        };
        let mut request = self.open.remove(position);
        let name = group_name(OperationKind::Http, &member);
        request.members.push(member);
        let outer = request
            .outer
            .and_then(|outer| self.open.iter_mut().find(|open| open.id == outer));
        match outer {
            Some(outer) if outer.members.len() < MAXIMUM_MEMBERS => {
                outer.has_connection = true;
                outer.members.append(&mut request.members);
            }
            _ => {
                let operation = assemble(
                    request.id,
                    OperationKind::Http,
                    name,
                    request.members,
                    None,
                    false,
                );
                out(Grouped::Operation(operation));
            }
        }
    }
}
