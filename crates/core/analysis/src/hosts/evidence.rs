//! Evidence about request servers and database clients.

use super::client::{Asked, Client, Explained, Kind};
use super::closeness::{self, Closeness, Spans};
use super::server::{Near, Server};
use super::{Verdict, within};
use crate::fact::Fact;
use foldhash::HashSet;
use model::{CapturedAddress, ConnectionMap, Exchange, Origin, Phase, Protocol};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

#[derive(Debug, Default)]
pub(super) struct Evidence {
    connections: ConnectionMap<(IpAddr, IpAddr)>,
    servers: BTreeMap<IpAddr, Server>,
    clients: BTreeMap<IpAddr, Client>,
    databases: HashSet<IpAddr>,
    with_undecoded: bool,
    /// Addresses to which the capturing machine received packets: not at the observation point,
    /// however near.
    elsewhere: HashSet<IpAddr>,
}

impl Evidence {
    pub(super) fn new(captures: &[Vec<CapturedAddress>], with_undecoded: bool) -> Self {
        let received = captures
            .iter()
            .flatten()
            .filter(|one| one.origin == Origin::Elsewhere);
        Self {
            with_undecoded,
            elsewhere: received.map(|one| one.address.to_canonical()).collect(),
            ..Self::default()
        }
    }

    /// Returns the client of a statement, or of an exchange that may be one.
    pub(super) fn fact(&mut self, fact: &Fact) -> Option<IpAddr> {
        match fact {
            Fact::Opened {
                connection,
                client,
                server,
                ..
            } => {
                let sides = (client.address.to_canonical(), server.address.to_canonical());
                self.connections.insert(*connection, sides);
            }
            Fact::Started {
                connection,
                at,
                request,
                ..
            } => {
                if let Some(&(_, server)) = self.connections.get(connection) {
                    self.servers
                        .entry(server)
                        .or_default()
                        .started(*connection, *at, *request);
                }
            }
            Fact::Begun { connection, .. } => {
                let &(client, server) = self.connections.get(connection)?;
                return self.may_ask(server).then_some(client);
            }
            Fact::Left { .. } => {}
            Fact::Exchange { exchange, protocol } => {
                let &(client, server) = self.connections.get(&exchange.connection)?;
                if protocol.carries_requests() {
                    if let Some(server) = self.servers.get_mut(&server).filter(|_| exchange.executions > 0) {
                        server.answered(exchange.connection, exchange);
                    }
                } else if exchange.phase == Phase::Work && exchange.turns > 0 {
                    if !protocol.is_database() {
                        return self.may_ask(server).then_some(client);
                    }
                    if self.databases.len() < MAX_CLIENTS {
                        self.databases.insert(server);
                    }
                    return (!self.servers.is_empty()).then_some(client);
                }
            }
            Fact::Closed(outcome) => {
                if let Some((_, server)) = self.connections.remove(&outcome.id)
                    && let Some(server) = self.servers.get_mut(&server)
                {
                    server.gone(outcome.id, outcome.at.after(outcome.duration));
                }
            }
        }
        None
    }

    /// Whether undecoded exchanges with a server may be statements: only if these are evidence and
    /// the server serves no requests.
    fn may_ask(&self, server: IpAddr) -> bool {
        self.with_undecoded && !self.servers.is_empty() && !self.servers.contains_key(&server)
    }

    pub(super) fn asked(&mut self, client: IpAddr, fact: &Fact) {
        if self.clients.len() >= MAX_CLIENTS && !self.clients.contains_key(&client) {
            return;
        }
        let known = self.clients.entry(client).or_default();
        let Fact::Exchange { exchange, protocol } = fact else {
            return;
        };
        known
            .near
            .add(exchange.first.client_side_rtt, exchange.first.server_side_rtt);
        match kind(*protocol) {
            Kind::Undecoded => known.undecoded.add_late(exchange, &self.servers),
            Kind::Statements => self.statement(client, exchange),
        }
    }

    fn statement(&mut self, client: IpAddr, exchange: &Exchange) {
        let Some(known) = self.clients.get_mut(&client) else {
            return;
        };
        let carried = exchange.tags.as_ref().and_then(|tags| tags.request);
        let mut is_identified = false;
        for (&address, server) in self
            .servers
            .iter()
            .filter(|(_, server)| server.since <= exchange.at)
        {
            let explained = known.statements.by.entry(address).or_default();
            let mut during = server
                .open
                .values()
                .filter(|request| request.started <= exchange.at)
                .peekable();
            match during.peek() {
                None => explained.outside += 1,
                Some(_) => {
                    explained.inside += 1;
                    if explained.last_busy_time != Some(server.busy_times) {
                        explained.last_busy_time = Some(server.busy_times);
                        explained.busy_times += 1;
                        let quiet = explained.last_ended.map(|ended| exchange.at.since(ended));
                        explained.quiet = explained.quiet.into_iter().chain(quiet).min();
                    }
                }
            }
            explained.last_ended = Some(exchange.ended());
            if carried.is_some() && during.any(|request| request.identifier == carried) {
                explained.identified += 1;
                is_identified = true;
            }
        }
        known.identified += u64::from(is_identified);
        known.statements.add(exchange);
    }

    /// A fact of a client inferred to be on a server's host. Returns whether it lies outside that
    /// server's requests.
    pub(super) fn asked_later(
        &mut self,
        client: IpAddr,
        server: IpAddr,
        exchange: &Exchange,
        protocol: Protocol,
    ) -> bool {
        let kind = kind(protocol);
        if let Some(known) = self.clients.get_mut(&client) {
            known.asked_mut(kind).add(exchange);
        }
        let is_busy = |server: &Server| match kind {
            Kind::Statements => server.open.values().any(|request| request.started <= exchange.at),
            Kind::Undecoded => server.was_busy(exchange.at),
        };
        !self.servers.get(&server).is_some_and(is_busy)
    }

    pub(super) fn begin_anew(&mut self, client: IpAddr) {
        if let Some(known) = self.clients.get_mut(&client) {
            known.statements.spans = Spans::default();
            known.undecoded.spans = Spans::default();
        }
    }

    /// Whether a server's last responses follow a client's statements more often than by chance.
    pub(super) fn follows(&self, client: IpAddr, server: IpAddr) -> bool {
        let (Some(known), Some(server)) = (self.clients.get(&client), self.servers.get(&server)) else {
            return false;
        };
        let follows = |kind| closeness::compare(&server.responses, &known.asked(kind).spans);
        let mut found = Kind::ALL.into_iter().filter_map(follows);
        found.any(|found| found.is_its_own())
    }

    pub(super) fn asks_database(&self, client: IpAddr) -> bool {
        let known = self.clients.get(&client);
        known.is_some_and(|known| known.statements.spans.seen() > 0)
    }

    pub(super) fn servers(&self) -> impl Iterator<Item = IpAddr> {
        self.servers.keys().copied()
    }

    pub(super) fn clients(&self) -> impl Iterator<Item = IpAddr> {
        self.clients.keys().copied()
    }

    pub(super) fn judge_client(&mut self, client: IpAddr, last: bool) -> Verdict {
        let verdict = self.without_closeness(client);
        match verdict {
            Verdict::Unknown => self.following(client, last),
            Verdict::On(..) | Verdict::Open(..) | Verdict::Elsewhere => verdict,
        }
    }

    pub(super) fn is_identified(&self, client: IpAddr) -> bool {
        let known = self.clients.get(&client);
        known.is_some_and(|known| known.identified >= MIN_IDENTIFIED_REQUESTS)
    }

    fn without_closeness(&self, client: IpAddr) -> Verdict {
        let Some(known) = self.clients.get(&client) else {
            return Verdict::Unknown;
        };
        if let Some(server) = self.here(client, known) {
            return Verdict::On(
                server,
                "both are where the traffic was seen: one is at no distance from its clients' requests, the other at none from its \
                 statements"
                    .to_owned(),
            );
        }
        if self.is_identified(client) {
            return self.identifying(known);
        }
        let possible: Vec<(IpAddr, &Explained)> = known
            .statements
            .by
            .iter()
            .filter(|(_, explained)| explained.outside == 0)
            .map(|(&server, explained)| (server, explained))
            .collect();
        self.explaining(&possible)
    }

    /// The server with responses closely after the client's statements, or else after exchanges
    /// that may be some.
    fn following(&mut self, client: IpAddr, last: bool) -> Verdict {
        let Some(known) = self.clients.get(&client) else {
            return Verdict::Unknown;
        };
        let kinds = Kind::ALL.map(|kind| (kind, known.asked(kind).spans.seen() > 0));
        let asked = kinds.into_iter().filter(|(_, is_asked)| *is_asked);
        let verdicts: Vec<Verdict> = asked
            .map(|(kind, _)| self.following_kind(client, kind, last))
            .collect();
        let strength = |verdict: &Verdict| match verdict {
            Verdict::On(..) => 3,
            Verdict::Unknown => 2,
            Verdict::Open(..) => 1,
            Verdict::Elsewhere => 0,
        };
        let nothing_yet = match last || !self.may_be_answered_more() {
            true => Verdict::Elsewhere,
            false => Verdict::Unknown,
        };
        verdicts.into_iter().max_by_key(strength).unwrap_or(nothing_yet)
    }

    fn may_be_answered_more(&self) -> bool {
        self.servers
            .values()
            .all(|server| server.responses.seen() < MANY_RESPONSES)
    }

    /// The server with responses closely after the client's exchanges. Of nested servers (a proxy)
    /// it is the innermost, if that is clear. An address that serves a database (a pooler, a
    /// database with links) is no evidence.
    fn following_kind(&mut self, client: IpAddr, kind: Kind, last: bool) -> Verdict {
        let Some(known) = self.clients.get_mut(&client) else {
            return Verdict::Unknown;
        };
        let asked = known.asked_mut(kind);
        let seen = asked.spans.seen();
        if seen < asked.next_look && !last {
            return Verdict::Unknown;
        }
        asked.next_look = seen + seen / 2 + 16;
        let asked: &Asked = asked;
        let mut found: Vec<(IpAddr, &Server, Closeness)> = Vec::new();
        for (&address, server) in &self.servers {
            if let Some(closeness) = closeness::compare(&server.responses, &asked.spans) {
                found.push((address, server, closeness));
            }
        }
        found.sort_by_key(|(_, _, closeness)| closeness.gap);
        let is_own = |(address, server, closeness): &&(IpAddr, &Server, Closeness)| {
            closeness.is_its_own() && !asked.is_as_busy_without(*address, server)
        };
        let own: Vec<_> = found.iter().filter(is_own).collect();
        // A proxy's responses follow those of the server behind it, and so its statements, too.
        let is_a_proxy = |server: &Server| {
            let is_one = |address: &IpAddr| own.iter().any(|(own, _, _)| own == address);
            let mut behind = found.iter().filter(|(address, _, _)| !is_one(address));
            behind.any(|(_, other, _)| server.may_be_around(other))
        };
        let best = found
            .iter()
            .max_by(|one, other| one.2.excess().total_cmp(&other.2.excess()));
        match own.as_slice() {
            [(server, inner, closeness), outer @ ..]
                if !self.databases.contains(&client)
                    && !is_a_proxy(inner)
                    && outer.iter().all(|(_, outer, _)| outer.is_around(inner)) =>
            {
                Verdict::On(*server, closely(closeness, kind))
            }
            _ if !last
                && found
                    .iter()
                    .all(|(_, server, _)| server.responses.seen() < MANY_RESPONSES) =>
            {
                Verdict::Unknown
            }
            [(server, _, closeness), ..] => Verdict::Open(*server, closely(closeness, kind)),
            [] => match best {
                // Exchanges may be anything, such as a session of SSH: only the exceptional is
                // reported.
                Some((address, server, closeness))
                    if !asked.is_as_busy_without(*address, server)
                        && (kind == Kind::Statements || closeness.may_be_its_own()) =>
                {
                    Verdict::Open(*address, closely(closeness, kind))
                }
                _ => Verdict::Elsewhere,
            },
        }
    }

    /// The server with the identifiers of all tagged statements; of several (a proxy forwards them)
    /// the least busy. If none has them all, several hosts share the address.
    fn identifying(&self, known: &Client) -> Verdict {
        let busy = |address: &IpAddr| {
            let server = self.servers.get(address);
            server.map_or(f64::INFINITY, |server| server.busy.as_secs_f64())
        };
        let having_all = known
            .statements
            .by
            .iter()
            .filter(|(_, explained)| explained.identified == known.identified);
        match having_all.min_by(|one, other| busy(one.0).total_cmp(&busy(other.0))) {
            Some((&server, explained)) => Verdict::On(
                server,
                format!(
                    "{} of its statements carry identifiers of requests to it",
                    explained.identified
                ),
            ),
            None => Verdict::Elsewhere,
        }
    }

    /// The only server at the observation point, if the client is there too.
    fn here(&self, client: IpAddr, known: &Client) -> Option<IpAddr> {
        let is_here = |address: IpAddr, near: &Near| near.is_here() && !self.elsewhere.contains(&address);
        let mut here = self
            .servers
            .iter()
            .filter(|(address, server)| is_here(**address, &server.near));
        match (here.next(), here.next()) {
            (Some((&server, _)), None) if is_here(client, &known.near) => Some(server),
            _ => None,
        }
    }

    /// The server with requests that explain all statements beyond coincidence. Of nested servers
    /// (a proxy) it is the least busy.
    fn explaining(&self, possible: &[(IpAddr, &Explained)]) -> Verdict {
        let mut sure: Vec<(f64, IpAddr, &Explained)> = Vec::new();
        for &(address, explained) in possible {
            let Some(server) = self.servers.get(&address) else {
                continue;
            };
            let now = server.open.values().map(|request| request.started).max();
            let now = now.unwrap_or(server.busy_since).after(Duration::from_nanos(1));
            let share = server.share_busy(now);
            // Unrelated statements would also come between one request's last statement and the
            // next one's first.
            let period = now.since(server.since).as_secs_f64() / server.busy_times.max(1) as f64;
            let quiet = explained.quiet.unwrap_or_default().as_secs_f64();
            let other = (1.0 - quiet / period).clamp(0.0, share);
            // Statements of one busy time depend on each other: they count once.
            let coincidence = other.powf(explained.busy_times as f64);
            if explained.inside >= MIN_STATEMENTS
                && explained.busy_times >= MIN_BUSY_PERIODS
                && coincidence < COINCIDENCE
            {
                sure.push((share, address, explained));
            }
        }
        sure.sort_by(|one, other| one.0.total_cmp(&other.0));
        match sure.as_slice() {
            [] => Verdict::Unknown,
            [(_, server, explained)] => Verdict::On(*server, within(explained.inside, explained.busy_times)),
            [(share, server, explained), (next, ..), ..] if share * CLEARLY < *next => {
                Verdict::On(*server, within(explained.inside, explained.busy_times))
            }
            [(_, server, explained), ..] => {
                let both = within(explained.inside, explained.busy_times).replace(
                    "no other server explains them",
                    "requests to another server explain them as well",
                );
                Verdict::Open(*server, both)
            }
        }
    }
}

fn kind(protocol: Protocol) -> Kind {
    match protocol.is_database() {
        true => Kind::Statements,
        false => Kind::Undecoded,
    }
}

fn closely(closeness: &Closeness, kind: Kind) -> String {
    let Closeness {
        responses,
        window: (near, far),
        ends,
        shifted,
        ..
    } = closeness;
    let ms = |span: &Duration| (span.as_secs_f64() * 10_000.0).round() / 10.0;
    format!(
        "on average {ends:.2} of its {} end {} to {} ms before each of {} to its requests, with shifted times {shifted:.2}",
        kind.name(),
        ms(near),
        ms(far),
        model::counted(*responses, "response", "responses"),
    )
}

const MIN_STATEMENTS: u64 = 20;
const MIN_BUSY_PERIODS: u64 = 10;
const MIN_IDENTIFIED_REQUESTS: u64 = 3;
/// Small, as two servers with clients in step do not follow chance.
const COINCIDENCE: f64 = 1e-6;
/// Minimum ratio for a server to count as busier.
const CLEARLY: f64 = 1.05;
/// Responses after which no further evidence is awaited.
const MANY_RESPONSES: u64 = 400;
const MAX_CLIENTS: usize = 1_000;
