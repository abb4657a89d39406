//! Poolers and database proxies: a statement seen before and behind one is a single exchange.
//!
//! A *front* exchange is between application and pooler, a *back* exchange between pooler and
//! database: its client is on the host of the front's server. A back exchange belongs to the first
//! front one that it lies within, with the same protocol, fingerprint, executions, rows and, if
//! both have one, digest of literals.
//!
//! A service is a pooler of another if nearly all statements ([`NEARLY_ALL`] of 100, at least
//! [`MIN_STATEMENTS`]) on the connections behind it belong to statements in front of it. Until that is
//! known, facts wait (at most [`MAX_WAITING`]). Afterwards back exchanges are no longer emitted,
//! and front exchanges carry the pooler's share ([`model::PoolerTime`]).

mod matching;

use crate::fact::Fact;
use crate::hosts::given_host;
use crate::operations::span;
use foldhash::{HashMap, HashSet};
use matching::Matcher;
use model::{
    ConnectionId, ConnectionMap, Endpoint, Exchange, Host, PoolerTime, Protocol, StageOutput, Warning,
    WarningKind, counted,
};
use std::net::IpAddr;

/// They take some 2 MB.
pub const MAX_WAITING: usize = 4_000;

/// Minimum percentage of statements behind a pooler that belong to one in front of it.
pub const NEARLY_ALL: u64 = 90;

/// Minimum number of statements seen on both sides of a pooler.
pub const MIN_STATEMENTS: u64 = 5;

const MAX_SERVICES: usize = 1_000;

#[derive(Debug, Default)]
pub struct Poolers {
    given: Vec<Host>,
    connections: ConnectionMap<Ends>,
    services: HashMap<IpAddr, Vec<Endpoint>>,
    protocols: HashMap<Endpoint, Option<Protocol>>,
    /// By host, the servers its clients connected to since its last new service: already paired
    /// with each of its services.
    looked_at: HashMap<IpAddr, HashSet<Endpoint>>,
    /// Undecided pairs, of which the first may be a pooler of the second.
    open: HashSet<Pair>,
    judged: HashMap<Pair, bool>,
    behind: ConnectionMap<()>,
    waiting: Vec<Fact>,
    matcher: Matcher,
    found: HashMap<Pair, Found>,
}

type Pair = (Endpoint, Endpoint);

#[derive(Debug, Clone, Copy)]
struct Ends {
    client_host: IpAddr,
    server_host: IpAddr,
    server: Endpoint,
}

#[derive(Debug, Default, Clone, Copy)]
struct Found {
    behind: u64,
    paired: u64,
}

impl Poolers {
    /// Addresses not in `given` are separate hosts.
    pub fn new(given: Vec<Host>) -> Self {
        Self {
            given,
            ..Self::default()
        }
    }

    /// Returns the facts that need wait no longer.
    pub fn process_fact(&mut self, fact: Fact) -> StageOutput<Fact> {
        self.learn(&fact);
        if self.open.is_empty() && self.waiting.is_empty() {
            return self.next(fact).into();
        }
        self.waiting.push(fact);
        match self.open.is_empty() || self.waiting.len() >= MAX_WAITING {
            true => self.finish().into(),
            false => StageOutput::Stays,
        }
    }

    pub fn finish(&mut self) -> Vec<Fact> {
        self.judge();
        let waiting = std::mem::take(&mut self.waiting);
        waiting.into_iter().filter_map(|fact| self.next(fact)).collect()
    }

    /// One sentence per pooler, with the evidence.
    pub fn notes(&self) -> Vec<Warning> {
        let mut notes: Vec<String> = self
            .found
            .iter()
            .map(|((front, back), found)| {
                format!(
                    "{front} counts as a pooler or proxy of {back}: {} of {} behind it lie within equal ones in front of it. They count \
                     once, in front. The rest is the pooler's own and not an operation. Predictions leave the leg behind it as measured",
                    found.paired,
                    counted(found.behind, "statement", "statements"),
                )
            })
            .collect();
        notes.sort();
        let kind = WarningKind::PoolerInferred;
        notes.into_iter().map(|text| Warning::new(kind, text)).collect()
    }

    pub fn found(&self) -> impl Iterator<Item = (Endpoint, Endpoint)> {
        self.found.keys().copied()
    }

    fn host(&self, address: IpAddr) -> IpAddr {
        let address = address.to_canonical();
        given_host(&self.given, address).unwrap_or(address)
    }

    fn learn(&mut self, fact: &Fact) {
        match fact {
            Fact::Opened {
                connection,
                client,
                server,
                ..
            } => {
                let ends = Ends {
                    client_host: self.host(client.address),
                    server_host: self.host(server.address),
                    server: *server,
                };
                self.connections.insert(*connection, ends);
                self.served(ends);
                self.suspect(*connection, ends);
            }
            Fact::Exchange { exchange, protocol } => {
                let ends = self.connections.get(&exchange.connection);
                if let Some(&ends) = ends.filter(|_| !exchange.is_handshake()) {
                    self.speaks(ends.server, *protocol);
                }
            }
            Fact::Begun { .. } | Fact::Left { .. } | Fact::Started { .. } | Fact::Closed(_) => {}
        }
    }

    fn served(&mut self, ends: Ends) {
        if self.protocols.contains_key(&ends.server) || self.protocols.len() >= MAX_SERVICES {
            return;
        }
        self.protocols.insert(ends.server, None);
        self.services
            .entry(ends.server_host)
            .or_default()
            .push(ends.server);
        self.looked_at.remove(&ends.server_host);
        // A pool may have connections from before the first client.
        let earlier = self.connections.values();
        let backs: HashSet<Endpoint> = earlier
            .filter(|other| other.client_host == ends.server_host)
            .map(|other| other.server)
            .collect();
        for back in backs {
            self.open_pair((ends.server, back));
        }
    }

    /// A client on the host of other services may be a pooler.
    fn suspect(&mut self, connection: ConnectionId, ends: Ends) {
        let Some(services) = self.services.get(&ends.client_host) else {
            return;
        };
        let mut found = self.found.keys();
        if found.any(|(front, back)| *back == ends.server && services.contains(front)) {
            self.behind.insert(connection, ());
        }
        let looked_at = self.looked_at.get(&ends.client_host);
        if looked_at.is_some_and(|servers| servers.contains(&ends.server)) {
            return;
        }
        for front in services.clone() {
            self.open_pair((front, ends.server));
        }
        let looked_at = self.looked_at.entry(ends.client_host).or_default();
        if self.open.len() < MAX_SERVICES && looked_at.len() < MAX_SERVICES {
            looked_at.insert(ends.server);
        }
    }

    fn open_pair(&mut self, pair: Pair) {
        let (front, back) = pair;
        let is_possible = front != back && may_be_equal(self.protocol(&front), self.protocol(&back));
        if is_possible && self.open.len() < MAX_SERVICES && !self.judged.contains_key(&pair) {
            self.open.insert(pair);
        }
    }

    fn protocol(&self, service: &Endpoint) -> Option<Protocol> {
        self.protocols.get(service).copied().flatten()
    }

    fn speaks(&mut self, server: Endpoint, protocol: Protocol) {
        let Some(spoken @ None) = self.protocols.get_mut(&server) else {
            return;
        };
        *spoken = Some(protocol);
        let mut open = std::mem::take(&mut self.open);
        open.retain(|(front, back)| may_be_equal(self.protocol(front), self.protocol(back)));
        self.open = open;
    }

    fn judge(&mut self) {
        let mut matcher = Matcher::default();
        let mut statements: HashMap<ConnectionId, u64> = HashMap::default();
        let mut paired: HashMap<(Endpoint, ConnectionId), u64> = HashMap::default();
        for fact in &self.waiting {
            let Fact::Exchange { exchange, protocol } = fact else {
                continue;
            };
            let Some(ends) = self.connections.get(&exchange.connection) else {
                continue;
            };
            if !is_statement(exchange, *protocol) {
                continue;
            }
            *statements.entry(exchange.connection).or_default() += 1;
            let is_open = |back: Endpoint| self.open.contains(&(ends.server, back));
            if let Some(back) = matcher.behind(exchange, *protocol, ends.server_host, is_open) {
                *paired.entry((ends.server, back.connection)).or_default() += 1;
            }
            matcher.offer(exchange, *protocol, ends.client_host, ends.server);
        }
        let mut evidence: HashMap<Pair, Found> = HashMap::default();
        for ((front, connection), count) in &paired {
            if let Some(ends) = self.connections.get(connection) {
                let found = evidence.entry((*front, ends.server)).or_default();
                found.paired += count;
                found.behind += statements.get(connection).copied().unwrap_or_default();
            }
        }
        for pair in std::mem::take(&mut self.open) {
            let is_pooler = evidence.get(&pair).is_some_and(Found::is_enough);
            if self.judged.len() < MAX_SERVICES * MAX_SERVICES {
                self.judged.insert(pair, is_pooler);
            }
            if is_pooler {
                self.found.insert(pair, Found::default());
                self.put_behind(pair, &statements, &paired);
            }
        }
    }

    /// Marks the pooler's connections to the database. Connections with statements not seen in
    /// front belong to another program.
    fn put_behind(
        &mut self,
        (front, back): Pair,
        statements: &HashMap<ConnectionId, u64>,
        paired: &HashMap<(Endpoint, ConnectionId), u64>,
    ) {
        let host = self.host(front.address);
        let connections = self.connections.iter();
        let of_pair = connections.filter(|(_, ends)| ends.server == back && ends.client_host == host);
        let its = of_pair.map(|(connection, _)| *connection).filter(|connection| {
            paired.contains_key(&(front, *connection)) || !statements.contains_key(connection)
        });
        let its: Vec<ConnectionId> = its.collect();
        self.behind
            .extend(its.into_iter().map(|connection| (connection, ())));
    }

    fn next(&mut self, fact: Fact) -> Option<Fact> {
        match fact {
            Fact::Exchange { exchange, protocol } => self.exchange(exchange, protocol),
            Fact::Begun { connection, .. } if self.behind.contains_key(&connection) => None,
            Fact::Closed(mut outcome) => {
                self.connections.remove(&outcome.id);
                if self.behind.remove(&outcome.id).is_some() {
                    outcome.statements = 0;
                }
                Some(Fact::Closed(outcome))
            }
            Fact::Opened { .. } | Fact::Begun { .. } | Fact::Left { .. } | Fact::Started { .. } => Some(fact),
        }
    }

    fn exchange(&mut self, mut exchange: Box<Exchange>, protocol: Protocol) -> Option<Fact> {
        let Some(&ends) = self.connections.get(&exchange.connection) else {
            return Some(Fact::Exchange { exchange, protocol });
        };
        let judged = &self.judged;
        if is_statement(&exchange, protocol) && !self.found.is_empty() {
            let is_pooler = |back: Endpoint| judged.get(&(ends.server, back)) == Some(&true);
            if let Some(back) = self
                .matcher
                .behind(&exchange, protocol, ends.server_host, is_pooler)
            {
                put_together(&mut exchange, &back.exchange);
                if let Some(found) = self.found.get_mut(&(ends.server, back.server)) {
                    found.paired += 1;
                }
            }
        }
        if !self.behind.contains_key(&exchange.connection) {
            return Some(Fact::Exchange { exchange, protocol });
        }
        if is_statement(&exchange, protocol) {
            self.matcher
                .offer(&exchange, protocol, ends.client_host, ends.server);
            let pairs = self
                .found
                .iter_mut()
                .filter(|((_, back), _)| *back == ends.server);
            pairs.for_each(|(_, found)| found.behind += 1);
        }
        None
    }
}

impl Found {
    fn is_enough(&self) -> bool {
        self.paired >= MIN_STATEMENTS && self.paired * 100 >= self.behind * NEARLY_ALL
    }
}

fn may_be_equal(one: Option<Protocol>, other: Option<Protocol>) -> bool {
    let is_possible = |protocol: Option<Protocol>| protocol.is_none_or(Protocol::is_database);
    is_possible(one) && is_possible(other) && (one.is_none() || other.is_none() || one == other)
}

fn is_statement(exchange: &Exchange, protocol: Protocol) -> bool {
    protocol.is_database() && exchange.fingerprint.is_some()
}

/// Adds the pooler's share to the front exchange.
///
/// The parts sum to the server time, to the nanosecond. If that is unknown, none is set.
fn put_together(front: &mut Exchange, back: &Exchange) {
    let (Some(_), Some(replied)) = (front.first.server_side_rtt, back.first.reply_started) else {
        return;
    };
    let inside = front.first.server_inside_reply.min(front.first.server);
    let whole = front.first.server - inside;
    let (asked, client_side) = (span::started(back), span::client_side(&back.first));
    let waiting = asked.since(span::reached_server(front)).min(whole);
    let leg = replied
        .after(client_side - client_side / 2)
        .since(asked)
        .min(whole - waiting);
    let server = (back.first.server.saturating_sub(back.first.server_inside_reply)).min(leg);
    front.first.server = server + inside;
    front.first.server_margin = back.first.server_margin.within(server);
    front.pooler = Some(Box::new(PoolerTime {
        waiting,
        processing: whole - waiting - leg,
        network: leg - server,
    }));
}

#[cfg(test)]
mod tests;
