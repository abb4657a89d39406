//! HTTP requests and the work they caused on other connections.
//!
//! Whose work an exchange is, by these rules in order:
//! 1. Its connection's client is a host that serves an HTTP request which had arrived when the exchange began and is not answered yet. Only
//!    such requests are considered.
//! 2. When its connection worked for one of them before, it still does: a worker keeps its connection until it answers.
//! 3. When it was opened, or at its next exchange: the earliest of them that has no connection yet, otherwise the
//!    latest of them.
//!
//! Where the protocol to a database is opaque (TLS), an exchange is reported only when the next one of its connection begins:
//! which request it belongs to is decided when it begins, and a request that is answered meanwhile waits for it. It takes it
//! if it ended before the reply did.
//!
//! With one request at a time this is exact. With several at once on one host rule 3 is a guess, right as long as workers connect
//! in the order in which their requests came.

use super::{Grouped, GroupedSink, Member, assemble, group_name};
use model::{ConnectionId, ConnectionMap, Endpoint, OperationKind, Protocol, Timestamp};
use std::collections::HashMap;
use std::sync::Arc;

/// HTTP requests that are not answered yet.
#[derive(Debug, Default)]
pub(super) struct Requests {
    open: Vec<OpenRequest>,
    /// Which request a connection worked for last.
    worked_for: ConnectionMap<u64>,
    /// What is under way on connections whose replies have no end that can be seen.
    under_way: ConnectionMap<UnderWay>,
    /// How many of these are for a request.
    awaited: HashMap<u64, u32>,
    /// Requests that are answered, with such an exchange under way.
    waiting: Vec<Answered>,
}

/// An opaque exchange that has begun.
#[derive(Debug, Clone, Copy)]
struct UnderWay {
    /// Which request it is for.
    request: u64,
    /// Its own time.
    at: Timestamp,
}

/// An HTTP request that is answered.
#[derive(Debug)]
struct Answered {
    request: OpenRequest,
    name: Arc<str>,
    /// When the last byte of its reply passed.
    ended: Timestamp,
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

/// Most answered requests that wait for the end of an opaque exchange; with more, the oldest does not wait.
const MAXIMUM_WAITING: usize = 1_000;

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

    /// An opaque exchange has begun, which will be reported only when the next one does.
    pub(super) fn begun(&mut self, connection: ConnectionId, endpoints: (Endpoint, Endpoint), at: Timestamp) {
        if let Some(position) = self.cause(connection, endpoints, at) {
            let id = self.works_for(position, connection);
            self.under_way.insert(connection, UnderWay { request: id, at });
            *self.awaited.entry(id).or_default() += 1;
        }
    }

    /// Takes an exchange that some request caused, or that answers one; gives back any other.
    pub(super) fn claim(&mut self, member: Member, out: &mut GroupedSink<'_>) -> Option<Member> {
        if member.protocol == Protocol::Http && member.exchange.executions > 0 {
            self.answered(member, out);
            return None;
        }
        let connection = member.exchange.connection;
        match self.under_way.get(&connection).copied() {
            Some(begun) if member.exchange.at <= begun.at => self.claim_begun(member, begun, out),
            _ => self.claim_new(member),
        }
    }

    fn claim_new(&mut self, member: Member) -> Option<Member> {
        let connection = member.exchange.connection;
        let Some(position) = self.cause(connection, (member.client, member.server), member.exchange.at)
        else {
            return Some(member);
        };
        if self.open[position].members.len() >= MAXIMUM_MEMBERS {
            return Some(member);
        }
        self.works_for(position, connection);
        self.open[position].members.push(member);
        None
    }

    /// Takes an exchange whose request was known when it began, or the handshake before it.
    fn claim_begun(&mut self, member: Member, begun: UnderWay, out: &mut GroupedSink<'_>) -> Option<Member> {
        let ends = member.exchange.at == begun.at;
        let connection = member.exchange.connection;
        let open = self.open.iter_mut().find(|open| open.id == begun.request);
        let waiting = self.waiting.iter_mut();
        // What ended later than the reply is none that the reply waited for.
        let waiting = waiting
            .filter(|answered| member.exchange.ended() <= answered.ended)
            .map(|answered| &mut answered.request)
            .find(|request| request.id == begun.request);
        let left = match open.or(waiting) {
            Some(request) if request.members.len() < MAXIMUM_MEMBERS => {
                request.members.push(member);
                None
            }
            _ => Some(member),
        };
        if ends {
            self.no_longer(connection, out);
        }
        left
    }

    /// The connection works for the open request at `position`, whose number it gives.
    fn works_for(&mut self, position: usize, connection: ConnectionId) -> u64 {
        let open = &mut self.open[position];
        open.has_connection = true;
        self.worked_for.insert(connection, open.id);
        open.id
    }

    /// A connection has ended.
    pub(super) fn closed(&mut self, connection: ConnectionId, out: &mut GroupedSink<'_>) {
        self.worked_for.remove(&connection);
        self.no_longer(connection, out);
    }

    /// The observation is over.
    pub(super) fn finish(&mut self, out: &mut GroupedSink<'_>) {
        for answered in std::mem::take(&mut self.waiting) {
            answered.hand_out(out);
        }
    }

    /// A connection was opened: the order in which workers connect shows more than the order in which their first
    /// exchanges are done.
    pub(super) fn opened(
        &mut self,
        connection: ConnectionId,
        client: Endpoint,
        server: Endpoint,
        at: Timestamp,
    ) {
        if let Some(position) = self.cause(connection, (client, server), at) {
            self.works_for(position, connection);
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

    fn answered(&mut self, member: Member, out: &mut GroupedSink<'_>) {
        let connection = member.exchange.connection;
        let Some(position) = self.open.iter().position(|open| open.connection == connection) else {
            out(Grouped::Alone(member.exchange, member.protocol));
            return;
        };
        let mut request = self.open.remove(position);
        let name = group_name(OperationKind::Http, &member);
        let ended = member.exchange.ended();
        request.members.push(member);
        let outer = request
            .outer
            .and_then(|outer| self.open.iter_mut().find(|open| open.id == outer));
        match outer {
            Some(outer) if outer.members.len() < MAXIMUM_MEMBERS => {
                outer.has_connection = true;
                outer.members.append(&mut request.members);
                if let Some(count) = self.awaited.remove(&request.id) {
                    *self.awaited.entry(outer.id).or_default() += count;
                    let under_way = self.under_way.values_mut();
                    under_way
                        .filter(|begun| begun.request == request.id)
                        .for_each(|begun| begun.request = outer.id);
                }
            }
            _ => self.hand_out_or_wait(Answered { request, name, ended }, out),
        }
    }

    /// An opaque exchange of the request may still be under way, as far as can be determined.
    fn hand_out_or_wait(&mut self, answered: Answered, out: &mut GroupedSink<'_>) {
        if !self.awaited.contains_key(&answered.request.id) {
            return answered.hand_out(out);
        }
        if self.waiting.len() >= MAXIMUM_WAITING {
            self.waiting.remove(0).hand_out(out);
        }
        self.waiting.push(answered);
    }

    /// Nothing is under way on the connection: hands out the answered request that waited for it alone.
    fn no_longer(&mut self, connection: ConnectionId, out: &mut GroupedSink<'_>) {
        let Some(UnderWay { request: id, .. }) = self.under_way.remove(&connection) else {
            return;
        };
        match self.awaited.get_mut(&id) {
            Some(count) if *count > 1 => *count -= 1,
            _ => {
                self.awaited.remove(&id);
                if let Some(position) = self.waiting.iter().position(|answered| answered.request.id == id) {
                    self.waiting.remove(position).hand_out(out);
                }
            }
        }
    }
}

impl Answered {
    fn hand_out(self, out: &mut GroupedSink<'_>) {
        let Self { request, name, .. } = self;
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
