//! Groups the facts of all connections into operations: work that a user waits for.
//!
//! Memory: exchanges of open operations are held. An operation of more than [`MAXIMUM_STEPS`]
//! exchanges is emitted in parts; beyond [`MAXIMUM_HELD`] exchanges in all, every open operation
//! that can be cut is cut.

mod after_reply;
mod attribution;
mod background;
mod bursts;
mod dependencies;
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
use crate::stage_output::StageOutput;
use background::{Background, Cause};
use bursts::{Burst, Place};
use foldhash::HashMap;
use grouped::{UNNAMED_REQUEST, assemble, group_name, without_parts};
use identified::Identified;
use member::{Member, Members, Sides};
use model::{
    ConnectionId, ConnectionMap, ConnectionOutcome, Endpoint, OperationKind, OperationStep, PerSide, Phase,
    Protocol, RequestId, Timestamp, TransactionState, Warning,
};
use naming::Naming;
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
    emptied: ExchangeRecycler,
}

pub const MAXIMUM_STEPS: usize = 20_000;

/// Of all open operations; there is room for at most half as many more.
pub const MAXIMUM_HELD: usize = 200_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Key {
    Connection(ConnectionId),
    Setup(ConnectionId),
    Burst(ConnectionId),
    Request(RequestId),
    Host(IpAddr),
    All,
}

#[derive(Debug)]
struct Group {
    id: u64,
    kind: OperationKind,
    members: Members,
    from: Option<Timestamp>,
    ended: Timestamp,
    name: Option<Arc<str>>,
    naming: Naming,
    /// The name was emitted with an earlier part.
    is_named: bool,
    connects: bool,
    burst: Option<Box<Burst>>,
}

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

    /// By start, for the same order in every run.
    fn keys_by_age(&self) -> Vec<Key> {
        let mut keys: Vec<(u64, Key)> = self.groups.iter().map(|(key, group)| (group.id, *key)).collect();
        keys.sort_unstable_by_key(|(id, _)| *id);
        keys.into_iter().map(|(_, key)| key).collect()
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

    fn exchange(&mut self, member: Member, out: &mut GroupedSink<'_>) {
        match self.rule {
            Rule::Auto | Rule::Http => {
                if member.protocol.carries_requests() && member.exchange.executions > 0 {
                    self.background
                        .ended(member.exchange.connection, member.exchange.ended());
                }
                let unclaimed = match self.background.cause_of(&member) {
                    Cause::Host => StageOutput::Go(Member {
                        outside_requests: true,
                        ..member
                    }),
                    Cause::Doubtful(likely) => self.requests.claim(member, Some(likely), out),
                    Cause::Request => self.requests.claim(member, None, out),
                };
                unclaimed.each(|member| self.process_ungrouped(member, out));
            }
            Rule::Connection => self.add(
                Key::Connection(member.exchange.connection),
                OperationKind::Connection,
                member,
                out,
            ),
            Rule::Transaction => self.by_transaction(member, out),
            Rule::Gap(pause) => {
                let key = Key::Host(member.sides.client.address);
                let started = span::started(&member.exchange);
                if self
                    .groups
                    .get(&key)
                    .is_some_and(|group| started.since(group.ended) > pause)
                {
                    self.close(key, out);
                }
                self.add(key, OperationKind::Burst, member, out);
            }
            Rule::Marked => self.by_mark(member, out),
            Rule::Whole => self.add(Key::All, OperationKind::Whole, member, out),
        }
    }

    fn process_ungrouped(&mut self, member: Member, out: &mut GroupedSink<'_>) {
        if self.rule == Rule::Http {
            return out(Grouped::Alone(member.exchange, member.protocol));
        }
        self.identified_or_by_burst(member, out);
    }

    /// An exchange with a request's identifier, and its transaction, belong to that request; the
    /// rest are grouped by transactions and bursts.
    fn identified_or_by_burst(&mut self, member: Member, out: &mut GroupedSink<'_>) {
        let sorted = self.identified.process_member(member);
        sorted.each(|(member, request)| match request {
            Some((request, assigned)) => {
                let member = Member {
                    assigned: Some(assigned),
                    ..member
                };
                self.add(Key::Request(request), OperationKind::Request, member, out);
            }
            None if self.statements_alone => self.by_transaction(member, out),
            None => self.by_burst(member, out),
        });
        self.close_idle_requests(out);
    }

    /// Closes requests that have been idle for long; beyond the limit, those idle longest.
    fn close_idle_requests(&mut self, out: &mut GroupedSink<'_>) {
        for request in self.identified.over() {
            self.close(Key::Request(request), out);
        }
    }

    /// A mark is not part of the operation it names.
    fn by_mark(&mut self, member: Member, out: &mut GroupedSink<'_>) {
        let host = member.sides.client.address;
        match mark::find_mark(&member.exchange) {
            Some(name) => {
                self.close(Key::Host(host), out);
                match name {
                    "" => self.marks.remove(&host),
                    name => self.marks.insert(host, Arc::from(name)),
                };
                out(Grouped::Alone(member.exchange, member.protocol));
            }
            None if self.marks.contains_key(&host) => {
                self.add(Key::Host(host), OperationKind::Marked, member, out);
            }
            None => out(Grouped::Alone(member.exchange, member.protocol)),
        }
    }

    /// By transaction, and outside transactions by burst ([`bursts`]).
    fn by_burst(&mut self, member: Member, out: &mut GroupedSink<'_>) {
        let connection = member.exchange.connection;
        let (transaction, burst) = (Key::Connection(connection), Key::Burst(connection));
        match bursts::position_of(&member, self.groups.contains_key(&transaction)) {
            Place::Alone => out(Grouped::Alone(member.exchange, member.protocol)),
            Place::Event => {
                self.close(burst, out);
                self.add(burst, OperationKind::Burst, member, out);
                self.close(burst, out);
            }
            Place::Burst => {
                if !self.goes_on(burst, &member) {
                    self.close(burst, out);
                }
                self.add(burst, OperationKind::Burst, member, out);
            }
            Place::Transaction { is_over } => {
                self.begin_transaction(&member, out);
                self.add(transaction, OperationKind::Transaction, member, out);
                if is_over {
                    self.close(transaction, out);
                }
            }
        }
    }

    fn goes_on(&self, key: Key, member: &Member) -> bool {
        self.groups.get(&key).is_some_and(|group| {
            let pause = bursts::pause(member, group.ended);
            let burst = group.burst.as_ref();
            burst.is_some_and(|burst| burst.goes_on(member, pause))
        })
    }

    /// Ends the burst before a transaction. Connecting directly before belongs to the transaction.
    fn begin_transaction(&mut self, member: &Member, out: &mut GroupedSink<'_>) {
        let key = Key::Burst(member.exchange.connection);
        let goes_on = self.goes_on(key, member);
        let burst = self.groups.get(&key).and_then(|group| group.burst.as_ref());
        let connects = burst.is_some_and(|burst| burst.only_connects());
        if goes_on
            && connects
            && let Some(mut group) = self.groups.remove(&key)
        {
            (group.kind, group.burst, group.connects) = (OperationKind::Transaction, None, true);
            self.groups
                .insert(Key::Connection(member.exchange.connection), group);
        } else {
            self.close(key, out);
        }
    }

    fn by_transaction(&mut self, member: Member, out: &mut GroupedSink<'_>) {
        let connection = member.exchange.connection;
        match member.exchange.phase {
            Phase::Connect | Phase::Tls | Phase::Login => {
                self.add(Key::Setup(connection), OperationKind::Connection, member, out);
            }
            Phase::Close => out(Grouped::Alone(member.exchange, member.protocol)),
            Phase::Work => {
                self.close(Key::Setup(connection), out);
                let goes_on = match member.exchange.transaction {
                    Some(TransactionState::Open | TransactionState::Failed) => true,
                    Some(TransactionState::Idle) => false,
                    None => member.exchange.executions == 0 && member.protocol.is_database(),
                };
                self.add(
                    Key::Connection(connection),
                    OperationKind::Transaction,
                    member,
                    out,
                );
                if !goes_on {
                    self.close(Key::Connection(connection), out);
                }
            }
        }
    }

    fn add(&mut self, key: Key, kind: OperationKind, member: Member, out: &mut GroupedSink<'_>) {
        let ended = span::ended(&member.exchange);
        let group = self.groups.entry(key).or_insert_with(|| Group {
            id: take_id(&mut self.next_id),
            kind,
            members: Members::default(),
            from: None,
            ended,
            name: None,
            naming: Naming::default(),
            is_named: false,
            connects: false,
            burst: matches!(key, Key::Burst(_)).then(Box::default),
        });
        if let Some(burst) = &mut group.burst {
            burst.add(&member, bursts::pause(&member, group.ended));
        }
        group.ended = group.ended.max(ended);
        if group.name.is_none() {
            let given = match kind {
                OperationKind::Connection if matches!(key, Key::Setup(_)) => {
                    Some(bursts::connecting(member.sides.server))
                }
                OperationKind::Connection => self.names.get(&member.sides.server).cloned(),
                OperationKind::Marked => self.marks.get(&member.sides.client.address).cloned(),
                OperationKind::Http
                | OperationKind::Transaction
                | OperationKind::Request
                | OperationKind::Burst
                | OperationKind::Whole => None,
            };
            group.name = Some(given.unwrap_or_else(|| group_name(kind, &member)));
        }
        let by_statements = matches!(kind, OperationKind::Transaction | OperationKind::Request);
        let is_work = member.exchange.phase == Phase::Work;
        if !group.is_named && is_work && (by_statements || group.burst.is_some()) {
            group.naming.offer(&member.exchange);
            group.name = group.naming.name().or(group.name.as_ref()).cloned();
        }
        group.members.push(member, &mut self.emptied);
        self.held += 1;
        if group.members.len() >= MAXIMUM_STEPS {
            self.cut(key, out);
        } else if self.held >= MAXIMUM_HELD {
            for key in self.keys_by_age() {
                self.cut(key, out);
            }
        }
    }

    fn cut(&mut self, key: Key, out: &mut GroupedSink<'_>) {
        let groups = self.groups.len();
        let Some(group) = self.groups.get_mut(&key) else {
            return;
        };
        let next = match group.members.len() {
            0 => return,
            // The next part will be as long. With many groups, their reserves together would exceed
            // the limit.
            MAXIMUM_STEPS.. if groups * MAXIMUM_STEPS <= MAXIMUM_HELD / 2 => {
                Members::with_capacity(MAXIMUM_STEPS)
            }
            _ => Members::default(),
        };
        let members = std::mem::replace(&mut group.members, next);
        self.held -= members.len();
        let (from, ended) = (group.from, group.ended);
        group.from = Some(ended);
        let (kind, name) = group.finished();
        (group.kind, group.name, group.is_named) = (kind, Some(name.clone()), true);
        let operation = assemble(group.id, kind, name, members, from, true);
        out(Grouped::Operation(operation));
    }

    fn close(&mut self, key: Key, out: &mut GroupedSink<'_>) {
        let Some(group) = self.groups.remove(&key) else {
            return;
        };
        self.held -= group.members.len();
        if group.is_of_stragglers() {
            for step in group.members.steps {
                out(Grouped::Alone(Box::new(step.exchange), step.protocol));
            }
            return;
        }
        let (kind, name) = group.finished();
        out(Grouped::Operation(assemble(
            group.id,
            kind,
            name,
            group.members,
            group.from,
            false,
        )));
    }
}

fn take_id(next: &mut u64) -> u64 {
    *next += 1;
    *next - 1
}

impl Group {
    fn finished(&self) -> (OperationKind, Arc<str>) {
        let given = || self.name.clone().unwrap_or_else(|| Arc::from(self.kind.name()));
        match &self.burst {
            _ if self.is_named => (self.kind, given()),
            Some(burst) => (burst.kind(), burst.name(&self.naming).unwrap_or_else(given)),
            None if self.connects => (self.kind, Arc::from(bursts::after_connecting(&given(), true))),
            None => (self.kind, given()),
        }
    }

    /// Whether all members come after the last reply (`Terminate`, statements closed). No client
    /// waits for these, so alone they are no operation.
    fn is_of_stragglers(&self) -> bool {
        let nobody_waited = |step: &OperationStep| {
            let exchange = &step.exchange;
            exchange.turns == 0
                && exchange.reply_bytes == 0
                && exchange.executions == 0
                && exchange.request_messages > 0
                && span::ended(exchange) <= span::started(exchange)
        };
        self.from.is_none() && self.members.steps.iter().all(nobody_waited)
    }
}

#[cfg(test)]
mod tests;
