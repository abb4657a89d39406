//! Groups the facts of all connections into operations: work that a user waits for.
//!
//! Memory: exchanges of open operations are held. An operation of more than [`MAXIMUM_STEPS`]
//! exchanges is emitted in parts; beyond [`MAXIMUM_HELD`] exchanges in all, every open operation
//! that can be cut is cut.

mod after_reply;
mod attribution;
mod background;
mod bursts;
mod by_rule;
mod calls;
mod dependencies;
mod group;
mod grouped;
mod identified;
mod mark;
mod member;
mod moment;
mod naming;
pub mod pipelines;
mod programs;
mod requests;
pub mod rule;
pub(crate) mod span;
mod transactions;

pub use grouped::{Grouped, GroupedSink};

use crate::exchange_pool::{ExchangePool, ExchangeRecycler};
use crate::fact::Fact;
use crate::hosts::{HostSettings, Hosts};
use background::Background;
use foldhash::HashMap;
use group::{Group, Key};
use grouped::{UNNAMED_REQUEST, without_parts};
use identified::Identified;
use member::{Member, Sides};
use model::{ConnectionId, ConnectionMap, ConnectionOutcome, Endpoint, PerSide, Protocol, Warning};
use requests::{Arrival, Requests};
use rule::Rule;
use std::net::IpAddr;
use std::sync::Arc;
use transactions::Transactions;

#[derive(Debug)]
pub struct Operations {
    rule: Rule,
    next_id: u64,
    connections: ConnectionMap<(Endpoint, Endpoint)>,
    handshakes: ConnectionMap<Member>,
    groups: HashMap<Key, Group>,
    requests: Requests,
    background: Background,
    identified: Identified,
    hosts: Hosts,
    names: HashMap<Endpoint, Arc<str>>,
    marks: HashMap<IpAddr, Arc<str>>,
    transactions: Transactions,
    statements_alone: bool,
    held: usize,
    /// Steps of the group that ended last, up to [`MAXIMUM_ROOM`].
    usual_steps: usize,
    emptied: ExchangeRecycler,
}

pub const MAXIMUM_STEPS: usize = 20_000;

/// Steps for which a new group has room: one that grows is copied.
const MAXIMUM_ROOM: usize = 8;

/// Of all open operations; there is room for at most half as many more.
pub const MAXIMUM_HELD: usize = 200_000;

impl Operations {
    pub fn new(rule: Rule) -> Self {
        Self {
            rule,
            next_id: 0,
            connections: ConnectionMap::default(),
            handshakes: ConnectionMap::default(),
            groups: HashMap::default(),
            requests: Requests::default(),
            background: Background::default(),
            identified: Identified::default(),
            hosts: Hosts::default(),
            names: HashMap::default(),
            marks: HashMap::default(),
            transactions: Transactions::default(),
            statements_alone: false,
            held: 0,
            usual_steps: 0,
            emptied: ExchangeRecycler::default(),
        }
    }

    pub fn with_boxes(mut self, boxes: ExchangePool) -> Self {
        self.requests.give_back(boxes.clone());
        self.emptied = ExchangeRecycler::new(boxes);
        self
    }

    /// Names of connections to these servers; others are named after the server's address.
    pub fn with_names(mut self, names: impl IntoIterator<Item = (Endpoint, Arc<str>)>) -> Self {
        self.names.extend(names);
        self
    }

    pub fn with_hosts(mut self, settings: HostSettings) -> Self {
        self.hosts = Hosts::new(settings);
        self
    }

    /// Under [`Rule::Auto`], makes each autocommitted statement an operation: clients of a load
    /// never pause.
    pub fn with_statements_alone(mut self, alone: bool) -> Self {
        self.statements_alone = alone;
        self
    }

    /// Emits bursts without new exchanges since the last call, so that live views see them. A
    /// statement still in progress then begins another burst.
    pub fn close_resting(&mut self, out: &mut GroupedSink<'_>) {
        let mut grouped = Vec::new();
        for key in self.keys_by_age() {
            let group = self.groups.get_mut(&key);
            let burst = group.and_then(|group| group.burst.as_mut());
            if burst.is_some_and(|burst| burst.rests()) {
                self.close(key, &mut |one| grouped.push(one));
            }
        }
        self.emit_grouped(grouped, out);
    }

    pub fn fact(&mut self, fact: Fact, out: &mut GroupedSink<'_>) {
        match self.rule {
            Rule::Auto | Rule::Http => {
                self.hosts.process_fact(fact).each(|fact| self.next(fact, out));
            }
            Rule::Connection | Rule::Transaction | Rule::Gap(_) | Rule::Marked | Rule::Whole => {
                self.next(fact, out);
            }
        }
    }

    /// Identifies the programs of this machine at the ends of an open connection.
    pub fn programs(&mut self, connection: ConnectionId, ends: PerSide<Option<u32>>) {
        self.requests.programs.known(connection, ends);
    }

    fn sides_of(&self, connection: ConnectionId) -> Option<Sides> {
        self.connections.get(&connection).map(|&ends| self.sides(ends))
    }

    fn sides(&self, (client, server): (Endpoint, Endpoint)) -> Sides {
        Sides {
            client,
            server,
            client_host: self.hosts.host(client.address),
            server_host: self.hosts.host(server.address),
        }
    }

    fn next(&mut self, fact: Fact, out: &mut GroupedSink<'_>) {
        let closed = if let Fact::Closed(outcome) = &fact {
            Some(outcome.id)
        } else {
            None
        };
        let mut grouped = Vec::new();
        self.group(fact, &mut |one| grouped.push(one));
        self.emit_grouped(grouped, out);
        if let Some(connection) = closed {
            self.transactions.closed(connection);
        }
    }

    fn emit_grouped(&mut self, grouped: Vec<Grouped>, out: &mut GroupedSink<'_>) {
        for mut one in grouped {
            match &mut one {
                Grouped::Operation(operation) => {
                    let is_open = |connection| self.connections.contains_key(&connection);
                    self.transactions.operation(operation, &is_open);
                }
                Grouped::Alone(exchange, _) => self.transactions.alone(exchange),
            }
            out(one);
        }
    }

    fn group(&mut self, fact: Fact, out: &mut GroupedSink<'_>) {
        match fact {
            Fact::Opened {
                connection,
                at,
                client,
                server,
            } => {
                self.connections.insert(connection, (client, server));
                let sides = self.sides((client, server));
                self.requests.opened(connection, sides, at);
            }
            Fact::Started {
                connection,
                at,
                fingerprint,
                request,
            } => {
                if matches!(self.rule, Rule::Auto | Rule::Http)
                    && let Some(sides) = self.sides_of(connection)
                {
                    let mut handshake = self.handshakes.remove(&connection);
                    if let Some(handshake) = &mut handshake {
                        handshake.protocol = Protocol::Http;
                    }
                    let arrival = Arrival {
                        id: take_id(&mut self.next_id),
                        connection,
                        at,
                        name: fingerprint.unwrap_or_else(|| Arc::from(UNNAMED_REQUEST)),
                        identifier: request,
                        handshake,
                    };
                    self.background.started(sides.server_host, connection, at);
                    self.requests.started(arrival, sides);
                }
            }
            Fact::Begun { connection, at } => {
                if matches!(self.rule, Rule::Auto | Rule::Http)
                    && let Some(sides) = self.sides_of(connection)
                {
                    self.requests.begun(connection, sides, at);
                }
            }
            Fact::Exchange { exchange, protocol } => {
                if let Some(sides) = self.sides_of(exchange.connection) {
                    let member = Member {
                        exchange,
                        protocol,
                        sides,
                        assigned: None,
                        probability: None,
                        outside_requests: false,
                    };
                    self.identified(member, out);
                }
            }
            Fact::Left { .. } => {}
            Fact::Closed(outcome) => self.closed(&outcome, out),
        }
    }

    fn closed(&mut self, outcome: &ConnectionOutcome, out: &mut GroupedSink<'_>) {
        if let Some(handshake) = self.handshakes.remove(&outcome.id) {
            self.exchange(handshake, out);
        }
        let one_sided = outcome.totals.seen != outcome.totals.seen.reversed();
        let mut drop_if_one_sided = |grouped| {
            out(if one_sided {
                without_parts(grouped)
            } else {
                grouped
            })
        };
        if let Some(member) = self.identified.closed(outcome.id) {
            self.by_burst(member, &mut drop_if_one_sided);
        }
        for key in [Key::Connection, Key::Setup, Key::Burst] {
            self.close(key(outcome.id), &mut drop_if_one_sided);
        }
        self.background
            .ended(outcome.id, outcome.at.after(outcome.duration));
        self.requests.closed(outcome.id, out);
        self.connections.remove(&outcome.id);
    }

    /// Emits open operations and returns the inferences made.
    pub fn finish(mut self, out: &mut GroupedSink<'_>) -> Vec<Warning> {
        for fact in self.hosts.finish() {
            self.next(fact, out);
        }
        let mut grouped = Vec::new();
        self.group_rest(&mut |one| grouped.push(one));
        self.emit_grouped(grouped, out);
        let mut notes = self.hosts.notes();
        notes.extend(self.requests.warning());
        notes
    }

    fn group_rest(&mut self, out: &mut GroupedSink<'_>) {
        let unclaimed = self.requests.finish(out);
        for member in unclaimed {
            self.process_ungrouped(member, out);
        }
        for member in self.identified.finish() {
            self.by_burst(member, out);
        }
        for key in self.keys_by_age() {
            self.close(key, out);
        }
    }

    /// Holds a handshake until the next exchange shows the connection's purpose.
    fn identified(&mut self, member: Member, out: &mut GroupedSink<'_>) {
        if member.exchange.is_handshake() {
            self.handshakes.insert(member.exchange.connection, member);
            return;
        }
        if let Some(mut handshake) = self.handshakes.remove(&member.exchange.connection) {
            handshake.protocol = member.protocol;
            self.exchange(handshake, out);
        }
        self.exchange(member, out);
    }
}

fn take_id(next: &mut u64) -> u64 {
    *next += 1;
    *next - 1
}

#[cfg(test)]
mod tests;
