//! What the traffic shows about servers of requests and clients of databases.

use super::closeness::{self, Closeness, Span, Spans};
use super::{Verdict, within};
use crate::fact::Fact;
use model::{CapturedAddress, ConnectionId, ConnectionMap, Exchange, Origin, Phase, RequestId, Timestamp};
use std::collections::{BTreeMap, HashSet};
use std::net::IpAddr;
use std::time::Duration;

/// What was seen so far.
#[derive(Debug, Default)]
pub(super) struct Evidence {
    /// Client and server of each connection.
    connections: ConnectionMap<(IpAddr, IpAddr)>,
    servers: BTreeMap<IpAddr, Server>,
    clients: BTreeMap<IpAddr, Client>,
    /// Addresses at which databases are served.
    databases: HashSet<IpAddr>,
    /// Addresses whose packets the machine that captured received: they are not where the traffic was seen, however near.
    elsewhere: HashSet<IpAddr>,
}

/// A server of requests.
#[derive(Debug, Default)]
struct Server {
    open: ConnectionMap<OpenRequest>,
    since: Timestamp,
    busy_since: Timestamp,
    /// Time with a request under way, without the one that is.
    busy: Duration,
    /// Times from idle to idle so far.
    busy_times: u64,
    near: Near,
    responses: Spans,
}

#[derive(Debug)]
struct OpenRequest {
    started: Timestamp,
    identifier: Option<RequestId>,
}

/// A client of databases.
#[derive(Debug, Default)]
struct Client {
    near: Near,
    /// Statements with an identifier of a request that some server has under way.
    identified: u64,
    /// What each server's requests explain.
    by: BTreeMap<IpAddr, Explained>,
    statements: Spans,
    /// How many statements there are to be when responses are compared with them again.
    next_look: u64,
}

#[derive(Debug, Default)]
struct Explained {
    inside: u64,
    /// Statements before the server was first seen count as inside of nothing, not as outside.
    outside: u64,
    /// Busy times with a statement inside.
    busy_times: u64,
    last_busy_time: Option<u64>,
    /// When the last statement ended.
    last_ended: Option<Timestamp>,
    /// The shortest time without a statement from one busy time's last to the next one's first.
    quiet: Option<Duration>,
    identified: u64,
}

/// Round trips towards one side of the observation point and towards the other: the shortest.
#[derive(Debug, Default)]
struct Near {
    here: Option<Duration>,
    there: Option<Duration>,
    samples: u64,
}

impl Near {
    fn add(&mut self, here: Option<Duration>, there: Option<Duration>) {
        let (Some(here), Some(there)) = (here, there) else {
            return;
        };
        self.here = Some(self.here.map_or(here, |before| before.min(here)));
        self.there = Some(self.there.map_or(there, |before| before.min(there)));
        self.samples += 1;
    }

    /// Whether it is at the observation point: it has no distance to it, and the others have.
    fn is_here(&self) -> bool {
        match (self.here, self.there) {
            (Some(here), Some(there)) => {
                self.samples >= LEAST_SAMPLES && there >= LEAST_DISTANCE && here * NO_DISTANCE <= there
            }
            _ => false,
        }
    }
}

impl Server {
    fn started(&mut self, connection: ConnectionId, at: Timestamp, identifier: Option<RequestId>) {
        if self.since == Timestamp::default() {
            self.since = at;
        }
        if self.open.is_empty() {
            self.busy_since = at;
        }
        if self.open.len() < MOST_OPEN {
            self.open.insert(
                connection,
                OpenRequest {
                    started: at,
                    identifier,
                },
            );
        }
    }

    fn answered(&mut self, connection: ConnectionId, exchange: &Exchange) {
        self.near
            .add(exchange.first.server_side_rtt, exchange.first.client_side_rtt);
        let last = exchange.steps().last();
        if let Some(to) = last.and_then(|step| step.reply_started) {
            let from = exchange.first.request_started;
            self.responses.add(Span { from, to });
        }
        self.gone(connection, exchange.ended());
    }

    fn gone(&mut self, connection: ConnectionId, at: Timestamp) {
        if self.open.remove(&connection).is_some() && self.open.is_empty() {
            self.busy += at.since(self.busy_since);
            self.busy_times += 1;
        }
    }

    /// The share of the time until `now` in which a request was under way.
    fn share_busy(&self, now: Timestamp) -> f64 {
        let under_way = match self.open.is_empty() {
            true => Duration::ZERO,
            false => now.since(self.busy_since),
        };
        let all = now.since(self.since).as_secs_f64();
        if all > 0.0 {
            (self.busy + under_way).as_secs_f64() / all
        } else {
            1.0
        }
    }
}

impl Server {
    /// Whether this server's responses follow those of another one, as a proxy's do, and not the other way round.
    fn is_around(&self, inner: &Self) -> bool {
        let follows = |outer: &Self, inner: &Self| {
            closeness::compare(&outer.responses, &inner.responses).is_some_and(|found| found.is_its_own())
        };
        follows(self, inner) && !follows(inner, self)
    }

    /// The same where it is not sure yet: too few responses, or their times scatter.
    fn may_be_around(&self, inner: &Self) -> bool {
        let follows = |outer: &Self, inner: &Self| {
            closeness::compare(&outer.responses, &inner.responses).is_some_and(|found| found.may_be_its_own())
        };
        follows(self, inner) && !follows(inner, self)
    }
}

impl Client {
    /// Whether it asks no more often during requests to a server than at other times, as far as there are other times.
    fn is_as_busy_without(&self, address: IpAddr, server: &Server) -> bool {
        let Some(explained) = self.by.get(&address) else {
            return true;
        };
        let busy = explained.last_ended.map_or(1.0, |now| server.share_busy(now));
        let (inside, outside) = (explained.inside as f64, explained.outside as f64);
        1.0 - busy >= MIN_IDLE && inside * (1.0 - busy) <= outside * busy
    }
}

impl Evidence {
    pub(super) fn new(captures: &[Vec<CapturedAddress>]) -> Self {
        let received = captures
            .iter()
            .flatten()
            .filter(|one| one.origin == Origin::Elsewhere);
        Self {
            elsewhere: received.map(|one| one.address.to_canonical()).collect(),
            ..Self::default()
        }
    }

    /// Takes a fact; gives the client of a database whose statement it is.
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
            Fact::Begun { .. } => {}
            Fact::Exchange { exchange, protocol } => {
                let &(client, server) = self.connections.get(&exchange.connection)?;
                if protocol.carries_requests() {
                    if let Some(server) = self.servers.get_mut(&server).filter(|_| exchange.executions > 0) {
                        server.answered(exchange.connection, exchange);
                    }
                } else if protocol.is_database() && exchange.phase == Phase::Work && exchange.turns > 0 {
                    if self.databases.len() < MOST_CLIENTS {
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

    /// Takes a statement of a client of which it is not known where it is.
    pub(super) fn statement(&mut self, client: IpAddr, exchange: &Exchange) {
        if self.clients.len() >= MOST_CLIENTS && !self.clients.contains_key(&client) {
            return;
        }
        let known = self.clients.entry(client).or_default();
        known
            .near
            .add(exchange.first.client_side_rtt, exchange.first.server_side_rtt);
        let carried = exchange.tags.as_ref().and_then(|tags| tags.request);
        let mut is_identified = false;
        for (&address, server) in self
            .servers
            .iter()
            .filter(|(_, server)| server.since <= exchange.at)
        {
            let explained = known.by.entry(address).or_default();
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
        known.statements.add(Span {
            from: exchange.at,
            to: exchange.ended(),
        });
    }

    /// Takes a statement of a client that is taken to be on a server's host.
    pub(super) fn later_statement(&mut self, client: IpAddr, exchange: &Exchange) {
        if let Some(known) = self.clients.get_mut(&client) {
            known.statements.add(Span {
                from: exchange.at,
                to: exchange.ended(),
            });
        }
    }

    /// From now on only later statements of this client count.
    pub(super) fn begin_anew(&mut self, client: IpAddr) {
        if let Some(known) = self.clients.get_mut(&client) {
            known.statements = Spans::default();
        }
    }

    /// Whether the last responses of a server follow statements of a client more often than chance would have it.
    pub(super) fn follows(&self, client: IpAddr, server: IpAddr) -> bool {
        let (Some(known), Some(server)) = (self.clients.get(&client), self.servers.get(&server)) else {
            return false;
        };
        closeness::compare(&server.responses, &known.statements).is_some_and(|found| found.is_its_own())
    }

    /// Whether a request to this server was under way.
    pub(super) fn is_busy(&self, server: IpAddr, at: Timestamp) -> bool {
        let server = self.servers.get(&server);
        server.is_some_and(|server| server.open.values().any(|request| request.started <= at))
    }

    /// The addresses at which requests are served.
    pub(super) fn servers(&self) -> impl Iterator<Item = IpAddr> {
        self.servers.keys().copied()
    }

    /// The addresses from which databases are asked.
    pub(super) fn clients(&self) -> impl Iterator<Item = IpAddr> {
        self.clients.keys().copied()
    }

    /// What is known of a client, at the `last` moment or before it.
    pub(super) fn of(&mut self, client: IpAddr, last: bool) -> Verdict {
        match self.without_closeness(client) {
            Verdict::Unknown => self.following(client, last),
            verdict => verdict,
        }
    }

    /// Whether statements of this client carry identifiers of requests.
    pub(super) fn is_identified(&self, client: IpAddr) -> bool {
        let known = self.clients.get(&client);
        known.is_some_and(|known| known.identified >= LEAST_IDENTIFIED)
    }

    fn without_closeness(&self, client: IpAddr) -> Verdict {
        let Some(known) = self.clients.get(&client) else {
            return Verdict::Unknown;
        };
        if let Some(server) = self.here(client, known) {
            return Verdict::On(
                server,
                "both are where the traffic was seen: the one has no distance to its clients' requests, the other none to its \
                 statements, while the other sides have"
                    .to_owned(),
            );
        }
        if self.is_identified(client) {
            return self.identifying(known);
        }
        let possible: Vec<(IpAddr, &Explained)> = known
            .by
            .iter()
            .filter(|(_, explained)| explained.outside == 0)
            .map(|(&server, explained)| (server, explained))
            .collect();
        self.explaining(&possible)
    }

    /// The server whose responses follow a client's statements closely. Of servers whose responses follow each other's (a proxy) it is the
    /// innermost, and where that one is not clear, none. An address that serves databases itself (a pooler, a database that asks another one) is no evidence.
    fn following(&mut self, client: IpAddr, last: bool) -> Verdict {
        let Some(known) = self.clients.get_mut(&client) else {
            return Verdict::Unknown;
        };
        let seen = known.statements.seen();
        if seen < known.next_look && !last {
            return Verdict::Unknown;
        }
        known.next_look = seen + seen / 2 + 16;
        let known = &*known;
        let mut found: Vec<(IpAddr, &Server, Closeness)> = Vec::new();
        for (&address, server) in &self.servers {
            if let Some(closeness) = closeness::compare(&server.responses, &known.statements) {
                found.push((address, server, closeness));
            }
        }
        found.sort_by_key(|(_, _, closeness)| closeness.gap);
        let is_own = |(address, server, closeness): &&(IpAddr, &Server, Closeness)| {
            closeness.is_its_own() && !known.is_as_busy_without(*address, server)
        };
        let own: Vec<_> = found.iter().filter(is_own).collect();
        // A proxy's responses follow those of the server behind it, and so its statements, more or less closely.
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
                Verdict::On(*server, closely(closeness))
            }
            _ if !last
                && found
                    .iter()
                    .all(|(_, server, _)| server.responses.seen() < MANY_RESPONSES) =>
            {
                Verdict::Unknown
            }
            [(server, _, closeness), ..] => Verdict::Open(*server, closely(closeness)),
            [] => match best {
                Some((address, server, closeness)) if !known.is_as_busy_without(*address, server) => {
                    Verdict::Open(*address, closely(closeness))
                }
                _ => Verdict::Elsewhere,
            },
        }
    }

    /// The server whose requests have the identifiers of all statements that carry one: of several (a proxy passes them on), the one that
    /// is busy least. When none has them all, several hosts use the address.
    fn identifying(&self, known: &Client) -> Verdict {
        let busy = |address: &IpAddr| {
            let server = self.servers.get(address);
            server.map_or(f64::INFINITY, |server| server.busy.as_secs_f64())
        };
        let having_all = known
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

    /// The only server at the observation point, when the client is there too.
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

    /// The server whose requests explain all statements, when that is no coincidence. Of servers within each other's requests (a
    /// proxy) it is the one that is busy least.
    fn explaining(&self, possible: &[(IpAddr, &Explained)]) -> Verdict {
        let mut sure: Vec<(f64, IpAddr, &Explained)> = Vec::new();
        for &(address, explained) in possible {
            let Some(server) = self.servers.get(&address) else {
                continue;
            };
            let now = server.open.values().map(|request| request.started).max();
            let now = now.unwrap_or(server.busy_since).after(Duration::from_nanos(1));
            let share = server.share_busy(now);
            // Statements that had nothing to do with the requests would come between one request's last and the next one's first, too.
            let period = now.since(server.since).as_secs_f64() / server.busy_times.max(1) as f64;
            let quiet = explained.quiet.unwrap_or_default().as_secs_f64();
            let other = (1.0 - quiet / period).clamp(0.0, share);
            // Statements of one busy time follow from each other: they are elsewhere together, or not.
            let coincidence = other.powf(explained.busy_times as f64);
            if explained.inside >= LEAST_STATEMENTS
                && explained.busy_times >= LEAST_BUSY_TIMES
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

fn closely(closeness: &Closeness) -> String {
    let Closeness {
        responses,
        window: (near, far),
        ends,
        shifted,
        ..
    } = closeness;
    let ms = |span: &Duration| (span.as_secs_f64() * 10_000.0).round() / 10.0;
    format!(
        "on average {ends:.2} of its statements end {} to {} ms before each of {} to its requests, with shifted times {shifted:.2}",
        ms(near),
        ms(far),
        model::counted(*responses, "response", "responses"),
    )
}

const LEAST_SAMPLES: u64 = 10;
const LEAST_STATEMENTS: u64 = 20;
const LEAST_BUSY_TIMES: u64 = 10;
const LEAST_IDENTIFIED: u64 = 3;
/// How likely a coincidence may be: little, as busy times of two servers whose clients fall into step do not follow from chance.
const COINCIDENCE: f64 = 1e-6;
/// How much busier than another a server is clearly busier.
const CLEARLY: f64 = 1.05;
/// Below this a round trip is no distance that could be distinguished from the host's own.
const LEAST_DISTANCE: Duration = Duration::from_micros(200);
/// A side is here when the other is so many times as far.
const NO_DISTANCE: u32 = 5;
/// Responses after which it is not waited for more evidence.
const MANY_RESPONSES: u64 = 400;
/// The share of time without a request that shows what a client does without one.
const MIN_IDLE: f64 = 0.1;
const MOST_OPEN: usize = 10_000;
const MOST_CLIENTS: usize = 1_000;
