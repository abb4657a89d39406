//! Requests and the work they caused on other connections.
//!
//! The owner of an exchange is found by these rules, in order. Candidates are requests served by
//! its client's host that had arrived when it began and are not answered yet; a request made for
//! another one (a proxy, FastCGI) counts as part of it.
//! 1. It carries the identifier of a candidate ([`model::Tags::request`]). With the identifier of no request,
//!    it has no owner.
//! 2. Its connection is in a transaction that began for a candidate.
//! 3. There is one candidate. It is a guess if the host also sends such statements without a request.
//! 4. Otherwise it waits until all or many candidates are answered: [`window`] then guesses for all that
//!    waited.
//!
//! The rule is recorded ([`Assigned`]); the first three are proofs. Whole connections are assigned where
//! each request opens its own and goes on using it after its reply ([`window`]).
//!
//! If the database protocol is opaque (TLS), an exchange is reported only when the next one on its
//! connection begins. Its request is decided at its beginning: the one its connection worked for
//! before, otherwise the earliest without a connection, otherwise the latest. A request answered
//! meanwhile waits for it, and owns it if it ended before the reply.

mod affinity;
mod after_reply;
mod answered;
mod likelihood;
mod lives;
mod matching;
mod opaque;
mod proof;
mod runs;
mod search;
mod window;

use super::grouped::GroupedSink;
use super::member::{Member, Sides};
use super::programs::Programs;
use crate::exchange_pool::{ExchangePool, ExchangeRecycler};
use answered::Answered;
use foldhash::{HashMap, HashSet};
use lives::Lives;
use model::{
    Assigned, ConnectionId, ConnectionMap, Endpoint, Fingerprint, RequestId, Share, StageOutput, Timestamp,
    Warning, WarningKind, counted,
};
use opaque::UnderWay;
use proof::Proof;
use runs::{Before, ConnectionUnits, Shapes};
use std::net::IpAddr;
use window::{Candidate, Window};

#[derive(Debug, Default)]
pub(super) struct Requests {
    open: Vec<OpenRequest>,
    worked_for: ConnectionMap<u64>,
    in_transaction: ConnectionMap<u64>,
    windows: HashMap<IpAddr, Window>,
    shapes: Shapes,
    lives: Lives,
    serving: HashSet<IpAddr>,
    pub(super) programs: Programs,
    /// Open exchanges of connections without visible ends of replies.
    under_way: ConnectionMap<UnderWay>,
    /// Decisions and ends of opaque exchanges that each request waits for.
    awaited: HashMap<u64, u32>,
    waiting: Vec<Answered>,
    within: HashSet<u64>,
    repeated_identifiers: u64,
    emptied: ExchangeRecycler,
}

#[derive(Debug)]
struct OpenRequest {
    id: u64,
    connection: ConnectionId,
    server: Endpoint,
    host: IpAddr,
    started: Timestamp,
    name: Fingerprint,
    identifier: Option<RequestId>,
    outer: Option<(u64, Assigned)>,
    has_connection: bool,
    /// Whether it was one of several candidates for an exchange.
    is_contended: bool,
    members: Vec<Member>,
}

pub(super) struct Arrival {
    pub(super) id: u64,
    pub(super) connection: ConnectionId,
    pub(super) at: Timestamp,
    pub(super) name: Fingerprint,
    pub(super) identifier: Option<RequestId>,
    /// The connection's handshake, with the first request.
    pub(super) handshake: Option<Member>,
}

/// Further ones of an HTTP request count for their connection.
const MAXIMUM_MEMBERS: usize = 100_000;

/// Also bounds the hosts in `serving`.
const MAXIMUM_WINDOWS: usize = 1_000;

impl Requests {
    pub(super) fn give_back(&mut self, boxes: ExchangePool) {
        self.emptied = ExchangeRecycler::new(boxes);
    }

    pub(super) fn started(&mut self, arrival: Arrival, sides: Sides) {
        if self.serving.len() < MAXIMUM_WINDOWS {
            self.serving.insert(sides.server_host);
        }
        if !self.open.iter().any(|open| open.host == sides.server_host) {
            self.lives.arrived_alone(sides.server_host, arrival.at);
        }
        let outer = self.outer_of(&arrival, sides);
        if let Some((outer, _)) = outer
            && let Some(open) = self.open.iter_mut().find(|open| open.id == outer)
        {
            open.has_connection = true;
        }
        self.open.push(OpenRequest {
            id: arrival.id,
            connection: arrival.connection,
            server: sides.server,
            host: sides.server_host,
            started: arrival.at,
            name: arrival.name,
            identifier: arrival.identifier,
            outer,
            has_connection: false,
            is_contended: false,
            members: arrival.handshake.into_iter().collect(),
        });
    }

    /// Finds the outer request: with the same identifier, otherwise the only one, otherwise the
    /// earliest of the same path without an inner request, otherwise the latest.
    fn outer_of(&self, arrival: &Arrival, sides: Sides) -> Option<(u64, Assigned)> {
        let mut possible = self.open.iter().filter(|open| {
            open.host == sides.client_host
                && open.server != sides.server
                && open.connection != arrival.connection
                && open.started <= arrival.at
        });
        if arrival.identifier.is_some() {
            let mut same = possible
                .clone()
                .filter(|open| open.identifier == arrival.identifier);
            if let (Some(open), None) = (same.next(), same.next()) {
                return Some((open.id, Assigned::Identifier));
            }
        }
        let latest = possible.clone().next_back()?;
        if possible.clone().count() == 1 {
            return Some((latest.id, Assigned::Only));
        }
        let chosen = possible
            .find(|open| !open.has_connection && open.name == arrival.name)
            .unwrap_or(latest);
        Some((chosen.id, Assigned::Order))
    }

    /// Accepts an exchange that a request may have caused, or that answers one; returns it if no
    /// request did. `doubt`: probability that any request caused it.
    pub(super) fn claim(
        &mut self,
        member: Member,
        doubt: Option<Share>,
        out: &mut GroupedSink<'_>,
    ) -> StageOutput<Member> {
        if member.protocol.carries_requests() && member.exchange.executions > 0 {
            return self.answered(member, out).into();
        }
        let connection = member.exchange.connection;
        let left = match self.under_way.get(&connection).copied() {
            Some(begun) if member.exchange.at <= begun.at => self.claim_begun(member, begun, out),
            _ if !member.protocol.is_database() => self.claim_opaque(member),
            _ => return self.claim_statement(member, doubt, out),
        };
        left.into()
    }

    fn nobodys(&self, member: Member) -> Member {
        Member {
            outside_requests: self.serving.contains(&member.sides.client_host),
            ..member
        }
    }

    fn claim_statement(
        &mut self,
        mut member: Member,
        doubt: Option<Share>,
        out: &mut GroupedSink<'_>,
    ) -> StageOutput<Member> {
        let host = member.sides.client_host;
        self.programs.asks(member.exchange.connection);
        self.note_life(&member);
        let possible = self.possible(&member);
        let mut proof = self.proof(&member, &possible);
        if let (Proof::Of(id, Assigned::Only), Some(likely)) = (proof, doubt) {
            proof = Proof::Of(id, Assigned::Order);
            member.probability = Some(likely);
        }
        self.note_transaction(&member, proof);
        if self.may_go_on(&member) {
            return self.claim_of_program(member, &possible, proof, out).into();
        }
        let waits = self.windows.get(&host).is_some_and(|window| !window.is_empty());
        match proof {
            Proof::Nobodys => StageOutput::Go(self.nobodys(member)),
            Proof::Of(id, assigned) if !waits => {
                let member = Member {
                    assigned: Some(assigned),
                    ..member
                };
                if let Some(open) = self.open.iter_mut().find(|open| open.id == id) {
                    open.has_connection = true;
                }
                self.worked_for.insert(member.exchange.connection, id);
                self.assign_member(id, member).into()
            }
            Proof::Of(id, assigned) => self.wait(host, member, &[id], Some((id, assigned)), out).into(),
            Proof::None => self.wait(host, member, &possible, None, out).into(),
        }
    }

    fn wait(
        &mut self,
        host: IpAddr,
        member: Member,
        possible: &[u64],
        owner: Option<(u64, Assigned)>,
        out: &mut GroupedSink<'_>,
    ) -> Vec<Member> {
        let is_certain = owner.is_some() && self.may_go_on(&member);
        let window = self.windows.entry(host).or_default();
        for open in self.open.iter_mut().filter(|open| possible.contains(&open.id)) {
            open.is_contended |= !is_certain;
            if !window.knows(open.id) {
                *self.awaited.entry(open.id).or_default() += 1;
                window.add_candidate(Candidate {
                    id: open.id,
                    connection: open.connection,
                    started: open.started,
                    answered: None,
                    name: open.name.clone(),
                    is_streamed: false,
                });
            }
        }
        let now = member.exchange.ended();
        let connection = member.exchange.connection;
        let worked_for = self.worked_for.get(&connection);
        let open = &self.open;
        let before = || {
            let request = open.iter().find(|open| Some(&open.id) == worked_for)?;
            Before::from_members(request.id, &request.members, connection)
        };
        window.keep(member, owner, || ConnectionUnits {
            before: before(),
            opened: self.lives.opening(connection),
            ..ConnectionUnits::default()
        });
        match window.is_full() {
            true => self.decide(host, now, true, out),
            false => Vec::new(),
        }
    }

    /// Decides the host's waiting exchanges if possible; returns those without an owner.
    fn decide(&mut self, host: IpAddr, now: Timestamp, all: bool, out: &mut GroupedSink<'_>) -> Vec<Member> {
        let Some(window) = self.windows.get_mut(&host) else {
            return Vec::new();
        };
        let ripe = match all {
            true => window.ids(),
            false => window.ripe(now, &self.lives),
        };
        if ripe.is_empty() {
            return Vec::new();
        }
        let decisions = window.decide(&ripe, &self.shapes, &self.lives);
        if window.is_empty() && self.windows.len() > MAXIMUM_WINDOWS {
            self.windows.remove(&host);
        }
        let mut left = Vec::new();
        for (member, owner) in decisions {
            match owner {
                Some(id) => left.extend(self.assign_member(id, member)),
                None => left.push(member),
            }
        }
        for id in ripe {
            self.no_longer_awaited(id, out);
        }
        left
    }

    /// Adds an exchange to a request or the outer one; returns it if neither exists.
    fn assign_member(&mut self, id: u64, member: Member) -> Option<Member> {
        match self.request(id) {
            Some(request) if request.members.len() < MAXIMUM_MEMBERS => {
                request.members.push(member);
                None
            }
            _ => Some(Member {
                assigned: None,
                probability: None,
                ..member
            }),
        }
    }

    fn request(&mut self, id: u64) -> Option<&mut OpenRequest> {
        let waiting = self.waiting.iter_mut().map(|answered| &mut answered.request);
        self.open
            .iter_mut()
            .chain(waiting)
            .find(|request| request.id == id)
    }

    pub(super) fn closed(&mut self, connection: ConnectionId, out: &mut GroupedSink<'_>) {
        self.worked_for.remove(&connection);
        let under_way = self.open.iter().map(|open| (open.host, open.started));
        self.lives.closed(connection, under_way);
        self.programs.closed(connection);
        self.in_transaction.remove(&connection);
        if let Some(UnderWay { request, .. }) = self.under_way.remove(&connection) {
            self.no_longer_awaited(request, out);
        }
    }

    /// Returns exchanges without an owner.
    pub(super) fn finish(&mut self, out: &mut GroupedSink<'_>) -> Vec<Member> {
        let mut hosts: Vec<IpAddr> = self.windows.keys().copied().collect();
        hosts.sort_unstable();
        let mut left = Vec::new();
        for host in hosts {
            left.extend(self.decide(host, Timestamp::default(), true, out));
        }
        for answered in std::mem::take(&mut self.waiting) {
            self.emit_request(answered, out);
        }
        left
    }

    fn could_cause(&self, open: &OpenRequest, connection: ConnectionId, sides: Sides, at: Timestamp) -> bool {
        open.could_cause(connection, sides, at) && !self.programs.exclude(connection, open.connection)
    }

    pub(super) fn warning(&self) -> Option<Warning> {
        (self.repeated_identifiers > 0).then(|| {
            let text = format!(
                "several requests in flight at once carried the same identifier; {} with it were assigned by order. Give each request its \
                 own traceparent or X-Request-Id",
                counted(self.repeated_identifiers, "statement", "statements")
            );
            Warning::new(WarningKind::OwnersGuessed, text)
        })
    }
}

impl OpenRequest {
    fn could_cause(&self, connection: ConnectionId, sides: Sides, at: Timestamp) -> bool {
        self.host == sides.client_host
            && self.server != sides.server
            && self.connection != connection
            && self.started <= at
    }
}
