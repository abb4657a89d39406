//! Prepares an operation for replay: a flat list of steps and their dependencies.

mod joins;

pub use joins::{Joins, NodeIndex};

use crate::cores::Whose;
use crate::first_window::first_window;
use crate::load::CoreTime;
use crate::locks::LockKey;
use crate::wake_up::set_rests;
use link::LinkDescription;
use model::{ConnectionId, Operation, OperationStep, Protocol, Step, Timestamp, TransactionState};
use std::collections::HashMap;
use std::time::Duration;

/// An operation prepared once and replayed on every target.
#[derive(Debug, Clone)]
pub struct OperationPlan {
    pub nodes: Vec<PlanNode>,
    pub first_nodes: Vec<NodeIndex>,
    pub connections: Vec<ConnectionId>,
    pub links: Vec<u32>,
    /// Window limit of each connection in bytes, where the measurement shows one.
    pub windows: Vec<Option<u64>>,
    /// First window of each connection's server in packets, where the first large reply shows more
    /// than that of a new connection.
    pub first_windows: Vec<Option<u32>>,
    pub roots: Vec<NodeIndex>,
    /// Dependencies of nodes beyond [`PlanNode::after`].
    pub joins: Joins,
    /// Dependencies of replies beyond [`PlanNode::reply_after`].
    pub reply_joins: Joins,
    /// The outermost request for which the server makes calls, if any.
    pub request: Option<NodeIndex>,
    pub client_after: u64,
    /// Measured arrival of the last reply, at which `client_after` begins.
    pub replied_at: u64,
    pub measured: u64,
    pub turns_moved: u64,
}

/// One request burst, the wait and the reply burst, with times in nanoseconds.
#[derive(Debug, Clone)]
pub struct PlanNode {
    pub connection: u32,
    pub crossing: Crossing,
    pub request_bytes: u64,
    pub reply_bytes: u64,
    pub has_reply: bool,
    /// Lock it requests and may have to wait for.
    pub locks: Option<LockKey>,
    /// Whether no transaction is open on the connection afterwards.
    pub ends_transaction: bool,
    pub client_inside: u64,
    /// Time within request and reply that the sender held bytes back for a delayed acknowledgement,
    /// the same at every distance. For connections that stay it is part of [`Crossing`].
    pub held_back: [u64; 2],
    pub server_before: u64,
    pub server_inside: u64,
    /// The pooler's own part of `server_before`, kept as measured like `behind_pooler`.
    pub pooler: u64,
    /// Network between pooler and database, a part of `server_before`.
    pub behind_pooler: u64,
    /// Measured end of the client time before the request, and of the server time before the reply.
    pub computed_at: [u64; 2],
    /// Measured rest of the client before `client_before`, and of the server before
    /// `server_before`.
    pub rested: [u64; 2],
    pub round_trip: u64,
    /// Measured wait with an unknown network part; kept as it is.
    pub unknown: u64,
    pub after: Option<NodeIndex>,
    pub after_what: After,
    /// Client time between the awaited event and the request.
    pub client_before: u64,
    /// Whether the client is a server that makes this call for a received request.
    pub by_server: bool,
    /// Protocol of a server's call to a database, possibly on a pooled connection.
    pub pool: Option<Protocol>,
    /// Whether the connection cannot return to a pool afterwards: the exchange continues, or a
    /// transaction is open.
    pub keeps_connection: bool,
    pub to_web_server: bool,
    pub reply_after: Option<NodeIndex>,
    pub first_dependent: Option<NodeIndex>,
    pub next_dependent: Option<NodeIndex>,
    pub first_reply_waiter: Option<NodeIndex>,
    pub next_reply_waiter: Option<NodeIndex>,
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

    pub fn computed(&self) -> [(Whose, (u64, u64)); 3] {
        let [client, server] = self.computed_at;
        let [of_client, of_server] = self.whose();
        [
            (of_client, (client.saturating_sub(self.client_before), client)),
            (of_server, (server.saturating_sub(self.server_before), server)),
            (of_server, (server, server.saturating_add(self.server_inside))),
        ]
    }

    fn keep_work_only(&mut self, work: &Work) {
        let done = self
            .computed()
            .map(|(whose, (begin, end))| match &work[whose.index()] {
                Some(work) => work.between(begin, end),
                None => end - begin,
            });
        [self.client_before, self.server_before, self.server_inside] = done;
    }
}

/// Measured work, indexed by [`Whose`]; `None` if time is work.
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
        request: u64,
        /// From the reply's first byte leaving the server to the last reaching the client.
        reply: u64,
        round_trip: u64,
        recovery: u64,
    },
}

impl OperationPlan {
    /// `moved` returns the target's link for exchanges on moved connections. Dependencies that
    /// point forward are ignored, as no observation can produce them.
    pub fn new(operation: &Operation, moved: &dyn Fn(&OperationStep) -> Option<u32>) -> Self {
        let mut plan = Self {
            nodes: Vec::with_capacity(operation.steps.len()),
            first_nodes: Vec::with_capacity(operation.steps.len()),
            connections: Vec::new(),
            links: Vec::new(),
            windows: Vec::new(),
            first_windows: Vec::new(),
            roots: Vec::new(),
            joins: Joins::default(),
            reply_joins: Joins::default(),
            request: None,
            client_after: nanos(operation.client_after),
            replied_at: operation
                .steps
                .iter()
                .map(|step| step.exchange.ended().as_nanos())
                .max()
                .unwrap_or_default(),
            measured: nanos(operation.duration),
            turns_moved: 0,
        };
        let mut places = HashMap::new();
        for (index, step) in operation.steps.iter().enumerate() {
            let id = step.exchange.connection;
            let link = moved(step);
            let connection = *places.entry(id).or_insert_with(|| {
                plan.connections.push(id);
                plan.links.push(0);
                plan.windows.push(None);
                plan.first_windows.push(None);
                plan.connections.len() as u32 - 1
            });
            if let Some(link) = link {
                plan.links[connection as usize] = link;
            }
            if step.exchange.steps().any(is_limited_by_window) {
                plan.windows[connection as usize] = Some(UNSCALED_WINDOW);
            }
            plan.add(index, step, connection, link.is_some());
        }
        for node in plan.nodes.iter_mut().filter(|node| !node.by_server) {
            node.to_web_server = operation.kind.is_request();
        }
        plan.set_first_windows(operation);
        plan.set_reply_waits(operation);
        plan.set_joins(operation);
        plan.link_dependents();
        set_rests(&mut plan, operation);
        let answers = |node: &PlanNode| node.reply_after.is_some() && !node.by_server;
        plan.request = plan.nodes.iter().position(answers).map(NodeIndex::new);
        plan
    }

    pub fn link<'l>(&self, links: &'l [LinkDescription], node: &PlanNode) -> &'l LinkDescription {
        let link = self.links[node.connection as usize] as usize;
        &links[link.min(links.len() - 1)]
    }

    pub fn last_node(&self, index: usize) -> NodeIndex {
        let next = self.first_nodes.get(index + 1);
        NodeIndex::new(next.map_or(self.nodes.len(), |next| next.index()) - 1)
    }

    pub fn hold_nothing_back(&mut self, index: usize) {
        for node in self.nodes_of(index) {
            let [in_request, in_reply] = std::mem::take(&mut node.held_back);
            if let Crossing::Measured { request, reply, .. } = &mut node.crossing {
                *request = request.saturating_sub(in_request);
                *reply = reply.saturating_sub(in_reply);
            }
        }
    }

    fn nodes_of(&mut self, index: usize) -> &mut [PlanNode] {
        let places = self.places_of(index);
        self.nodes.get_mut(places).unwrap_or_default()
    }

    /// Node indices of the exchange `index`; empty if it does not exist.
    pub fn places_of(&self, index: usize) -> std::ops::Range<usize> {
        match self.first_nodes.get(index) {
            Some(first) => first.index()..self.last_node(index).index() + 1,
            None => 0..0,
        }
    }

    pub const fn computed_after(&self) -> (u64, u64) {
        (self.replied_at, self.replied_at.saturating_add(self.client_after))
    }

    pub fn forget_reply_waits(&mut self) {
        for node in &mut self.nodes {
            (node.reply_after, node.first_reply_waiter, node.next_reply_waiter) = (None, None, None);
        }
        self.reply_joins = Joins::default();
    }

    /// Removes waits for cores from the measured computing, given the `work` of clients and
    /// servers.
    pub fn keep_work_only(&mut self, work: &Work) {
        self.nodes.iter_mut().for_each(|node| node.keep_work_only(work));
        if let Some(work) = &work[0] {
            let (begin, end) = self.computed_after();
            self.client_after = work.between(begin, end);
        }
    }

    fn add(&mut self, index: usize, step: &OperationStep, connection: u32, moved: bool) {
        self.first_nodes.push(NodeIndex::new(self.nodes.len()));
        if moved {
            self.turns_moved += u64::from(step.exchange.turns);
        }
        let (mut after, mut after_what) = self.waits_for(index, step, connection);
        let mut client_before = nanos(step.client_before);
        let mut previous: Option<Step> = None;
        for (place, part) in step.exchange.steps_with_pooler().enumerate() {
            if let Some(previous) = previous {
                after = Some(NodeIndex::new(self.nodes.len() - 1));
                after_what = After::Completion;
                client_before = pause_between(&previous, &part);
            }
            let crossing = match (moved, step.exchange.is_handshake()) {
                (true, true) => Crossing::Handshake,
                (true, false) => Crossing::Moved,
                (false, _) => measured(&part, step.reply_after.is_some()),
            };
            let mut node = node(&part, connection, crossing, after, after_what, client_before);
            if place == 0 {
                let pooler = step.exchange.pooler_time();
                node.pooler = nanos(pooler.own());
                node.behind_pooler = nanos(pooler.network);
            }
            if step.reply_after.is_some() {
                node.unknown = 0;
            }
            node.by_server = after_what == After::RequestArrived
                || after.is_some_and(|after| self.nodes[after.index()].by_server);
            self.nodes.push(node);
            previous = Some(part);
        }
        let (first, last) = (self.first_nodes[index].index(), self.nodes.len() - 1);
        self.nodes[first].locks = LockKey::from_exchange(&step.exchange);
        self.nodes[last].ends_transaction = step.exchange.transaction == Some(TransactionState::Idle);
        let is_open = |state: TransactionState| state != TransactionState::Idle;
        self.nodes[last].keeps_connection = step.exchange.transaction.is_some_and(is_open);
        let pool = step.protocol.is_database().then_some(step.protocol);
        for node in self.nodes[first..].iter_mut().filter(|node| node.by_server) {
            node.pool = pool;
        }
    }

    fn waits_for(&self, index: usize, step: &OperationStep, connection: u32) -> (Option<NodeIndex>, After) {
        let Some(after) = step
            .after
            .map(|after| after as usize)
            .filter(|after| *after < index)
        else {
            return (None, After::Completion);
        };
        if !step.after_start {
            return (Some(self.last_node(after)), After::Completion);
        }
        let first = self.first_nodes[after];
        match self.nodes[first.index()].connection == connection {
            true => (Some(first), After::RequestSent),
            false => (Some(first), After::RequestArrived),
        }
    }

    /// Uses only the first large reply on each connection: later ones have grown windows.
    fn set_first_windows(&mut self, operation: &Operation) {
        let mut is_known = vec![false; self.connections.len()];
        for (step, node) in operation.steps.iter().zip(&self.first_nodes) {
            let place = self.nodes[node.index()].connection as usize;
            let mut parts = step.exchange.steps();
            let Some(large) = parts.find(|part| part.reply_bytes > FIRST_WINDOW && !is_known[place]) else {
                continue;
            };
            is_known[place] = true;
            self.first_windows[place] = first_window(large, self.windows[place]);
        }
    }

    fn set_reply_waits(&mut self, operation: &Operation) {
        for (index, step) in operation.steps.iter().enumerate() {
            let Some(reply_after) = step.reply_after.map(|after| after as usize) else {
                continue;
            };
            if reply_after < operation.steps.len() && reply_after != index {
                let (last, waited_for) = (self.last_node(index), self.last_node(reply_after));
                self.nodes[last.index()].reply_after = Some(waited_for);
            }
        }
    }

    fn set_joins(&mut self, operation: &Operation) {
        let (mut joins, mut reply_joins) = (Vec::new(), Vec::new());
        for (index, step) in operation.steps.iter().enumerate() {
            let earlier = step.also_after.iter().filter(|other| (**other as usize) < index);
            joins.extend(earlier.map(|other| (self.first_nodes[index], self.last_node(*other as usize))));
            let others = step.reply_also_after.iter().map(|other| *other as usize);
            let others = others.filter(|other| *other < operation.steps.len() && *other != index);
            reply_joins.extend(others.map(|other| (self.last_node(index), self.last_node(other))));
        }
        self.joins = Joins::new(joins);
        self.reply_joins = Joins::new(reply_joins);
    }

    /// Inverts the dependencies, backwards so that each list is in the operation's order.
    fn link_dependents(&mut self) {
        for place in (0..self.nodes.len()).rev() {
            let index = NodeIndex::new(place);
            let PlanNode {
                after, reply_after, ..
            } = self.nodes[place];
            match after {
                None => self.roots.push(index),
                Some(after) => {
                    let first = &mut self.nodes[after.index()].first_dependent;
                    self.nodes[place].next_dependent = first.replace(index);
                }
            }
            if let Some(reply_after) = reply_after {
                let first = &mut self.nodes[reply_after.index()].first_reply_waiter;
                self.nodes[place].next_reply_waiter = first.replace(index);
            }
        }
        self.roots.reverse();
    }
}

fn node(
    step: &Step,
    connection: u32,
    crossing: Crossing,
    after: Option<NodeIndex>,
    after_what: After,
    client_before: u64,
) -> PlanNode {
    let inside = step.server_inside_reply.min(step.server);
    let moved_unknown = matches!(crossing, Crossing::Moved) && step.server_side_rtt.is_none();
    let unknown = if moved_unknown {
        measured_wait(step).saturating_sub(step.server - inside)
    } else {
        Duration::ZERO
    };
    PlanNode {
        connection,
        crossing,
        request_bytes: step.request_bytes,
        reply_bytes: step.reply_bytes,
        has_reply: step.reply_started.is_some(),
        locks: None,
        ends_transaction: false,
        client_inside: nanos(step.client_inside_request),
        held_back: match crossing {
            Crossing::Moved | Crossing::Measured { .. } => held_back(step),
            Crossing::Handshake => [0; 2],
        },
        server_before: nanos(step.server - inside),
        server_inside: nanos(inside.saturating_sub(worked_meanwhile(step))),
        pooler: 0,
        behind_pooler: 0,
        computed_at: [
            step.request_started,
            step.reply_started.unwrap_or(step.request_ended),
        ]
        .map(Timestamp::as_nanos),
        rested: [0; 2],
        round_trip: nanos(
            step.client_side_rtt.unwrap_or_default() + step.server_side_rtt.unwrap_or_default(),
        ),
        unknown: nanos(unknown),
        after,
        after_what,
        client_before,
        by_server: false,
        pool: None,
        keeps_connection: true,
        to_web_server: false,
        reply_after: None,
        first_dependent: None,
        next_dependent: None,
        first_reply_waiter: None,
        next_reply_waiter: None,
    }
}

/// How long before the request's end the reply began: the server works on a stream of statements
/// while the client still sends, so this time is within the request.
fn worked_meanwhile(step: &Step) -> Duration {
    step.reply_started
        .map_or(Duration::ZERO, |started| step.request_ended.since(started))
}

/// How long the rest of a small request and a small reply was held back until the first part was
/// acknowledged (Nagle's algorithm with delayed acknowledgements: 40 ms on Linux, up to 200 ms
/// elsewhere). Unknown for large messages and for waits that a slow link explains.
fn held_back(step: &Step) -> [u64; 2] {
    let of = |span: Duration, inside: Duration, bytes: u64| {
        let pause = span.saturating_sub(inside + step.recovery);
        let least = Duration::from_secs_f64(bytes as f64 / SLOWEST_LINK).max(MIN_DELAYED_ACK);
        let is_held_back = bytes <= FIRST_WINDOW && pause >= least;
        if is_held_back { nanos(pause) } else { 0 }
    };
    let reply = step.reply_started.zip(step.reply_ended);
    let reply = reply.map_or(Duration::ZERO, |(started, ended)| ended.since(started));
    [
        of(
            step.request_ended.since(step.request_started),
            step.client_inside_request,
            step.request_bytes,
        ),
        of(reply, step.server_inside_reply, step.reply_bytes),
    ]
}

/// Bytes in flight without an acknowledgement: ten packets (RFC 6928).
const FIRST_WINDOW: u64 = 14_600;
/// Minimum delay of acknowledgements, less early timers.
const MIN_DELAYED_ACK: Duration = Duration::from_millis(30);
/// 500 kbit/s, in bytes per second.
const SLOWEST_LINK: f64 = 62_500.0;

/// Whether a large reply arrived at just under 64 KiB per round trip, as without window scaling. n
/// bursts span n - 1 round trips.
fn is_limited_by_window(step: &Step) -> bool {
    let rtt = step.client_side_rtt.unwrap_or_default() + step.server_side_rtt.unwrap_or_default();
    let (Some(started), Some(ended)) = (step.reply_started, step.reply_ended) else {
        return false;
    };
    let span = ended
        .since(started)
        .saturating_sub(step.server_inside_reply + step.recovery);
    if rtt < MIN_LIMITING_RTT || span < MIN_ROUNDS * rtt {
        return false;
    }
    let bursts = span.as_secs_f64() / rtt.as_secs_f64() + 1.0;
    LIMITED.contains(&(step.reply_bytes as f64 / bursts))
}

/// The largest window without scaling (RFC 9293 section 3.1).
const UNSCALED_WINDOW: u64 = 65_535;
/// Bytes per round trip that show it: full packets leave a part unused, and the first bursts are
/// smaller.
const LIMITED: std::ops::RangeInclusive<f64> = 50_000.0..=66_000.0;
/// Below this, a link would be the limit as well.
const MIN_LIMITING_RTT: Duration = Duration::from_millis(2);
const MIN_ROUNDS: u32 = 4;

fn measured_wait(step: &Step) -> Duration {
    step.reply_started
        .map_or(Duration::ZERO, |started| started.since(step.request_ended))
}

/// Times of a step that stays. Keeps the observed request and reply, and adds half a round trip to
/// each side. A wait beyond server time and round trip (a pipelined request behind another) stays
/// with the reply, unless the reply waited for other steps (`nested`).
fn measured(step: &Step, nested: bool) -> Crossing {
    let client_side = step.client_side_rtt.unwrap_or_default();
    let server_side = step.server_side_rtt.unwrap_or_default();
    let half = (client_side + server_side) / 2;
    let before = step.server.saturating_sub(step.server_inside_reply);
    let request_span = step.request_ended.since(step.request_started);
    // The client waits for an event: more time than the request took.
    let awaited = step.client_inside_request.saturating_sub(request_span);
    let unexplained = if nested {
        Duration::ZERO
    } else {
        measured_wait(step).saturating_sub(server_side + before + awaited)
    };
    let reply_span = match (step.reply_started, step.reply_ended) {
        (Some(started), Some(ended)) => ended.since(started).saturating_sub(step.server_inside_reply),
        _ => Duration::ZERO,
    };
    Crossing::Measured {
        request: nanos(request_span.saturating_sub(step.client_inside_request) + half),
        reply: nanos(unexplained + reply_span + client_side + server_side - half),
        round_trip: nanos(client_side + server_side),
        recovery: nanos(step.recovery),
    }
}

/// Client time between two steps of one exchange: from the first's reply (or request, without one)
/// to the second's request, less the way to the client and back.
fn pause_between(previous: &Step, next: &Step) -> u64 {
    let pause = match previous.reply_ended {
        Some(ended) => next
            .request_started
            .since(ended)
            .saturating_sub(next.client_side_rtt.unwrap_or_default()),
        None => next.request_started.since(previous.request_ended),
    };
    nanos(pause)
}

/// Nanoseconds, at most a year, so that sums of a few hundred never overflow.
pub fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX).min(MAX_NANOS)
}

const MAX_NANOS: u64 = 365 * 86_400 * 1_000_000_000;
