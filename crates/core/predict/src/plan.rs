//! Prepares an operation for replay: a flat list of steps and their dependencies.

mod after_reply;
mod ids;
mod joins;
mod lock_key;
mod measured;
mod node;
mod openings;
mod rests;

pub use after_reply::AfterReply;
pub use ids::{NodeId, PlanConnection};
pub use joins::Joins;
pub use lock_key::LockKey;
pub use measured::nanos;
pub use node::{After, Bytes, Crossing, Dependencies, Measured, PlanNode, Work};
pub use openings::Openings;

use crate::first_window::first_window;
use crate::senders::Senders;
use foldhash::HashMap;
use link::LinkDescription;
use measured::{FIRST_WINDOW, UNSCALED_WINDOW, is_limited_by_window, measured, node, pause_between};
use model::{
    ConnectionId, Exchange, Nanos, Operation, OperationStep, Phase, Step, Timestamp, TransactionState,
};
use rests::set_rests;

/// An operation prepared once and replayed on every target.
#[derive(Debug, Clone)]
pub struct OperationPlan {
    pub nodes: Vec<PlanNode>,
    pub first_nodes: Vec<NodeId>,
    pub connections: Vec<ConnectionId>,
    pub closed: Vec<ConnectionId>,
    /// Link of each connection; 0 also for those that stay.
    pub links: Vec<u32>,
    /// Window limit of each connection in bytes, where the measurement shows one.
    pub windows: Vec<Option<u64>>,
    /// First window of each connection's server in packets, where the first large reply shows more
    /// than that of a new connection.
    pub first_windows: Vec<Option<u32>>,
    /// How senders on its new connections send.
    pub senders: Senders,
    pub roots: Vec<NodeId>,
    /// Dependencies of nodes beyond [`Dependencies::after`].
    pub joins: Joins,
    /// Dependencies of replies beyond [`Dependencies::reply_after`].
    pub reply_joins: Joins,
    /// The outermost request for which the server makes calls, if any.
    pub request: Option<NodeId>,
    /// Its reply leaves no sooner after its arrival.
    pub timer: Option<Nanos>,
    pub client_after: Nanos,
    /// Measured arrival of the last reply, at which `client_after` begins.
    pub replied_at: Timestamp,
    /// Work that its server still does after the reply.
    pub after_reply: AfterReply,
    pub measured: Nanos,
    pub turns_moved: u64,
}

impl OperationPlan {
    /// `moved` returns the target's link for exchanges on moved connections. Dependencies that
    /// point forward are ignored, as no observation can produce them.
    pub fn new(operation: &Operation, moved: &dyn Fn(&OperationStep) -> Option<u32>) -> Self {
        let mut plan = Self {
            nodes: Vec::with_capacity(operation.steps.len()),
            first_nodes: Vec::with_capacity(operation.steps.len()),
            connections: Vec::new(),
            closed: Vec::new(),
            links: Vec::new(),
            windows: Vec::new(),
            first_windows: Vec::new(),
            senders: Senders::default(),
            roots: Vec::new(),
            joins: Joins::default(),
            reply_joins: Joins::default(),
            request: None,
            timer: None,
            client_after: nanos(operation.client_after),
            replied_at: operation
                .steps
                .iter()
                .map(|step| step.exchange.ended())
                .max()
                .unwrap_or_default(),
            after_reply: AfterReply::new(operation, moved),
            measured: nanos(operation.duration),
            turns_moved: 0,
        };
        let mut places: HashMap<ConnectionId, PlanConnection> = HashMap::default();
        for (index, step) in operation.steps.iter().enumerate() {
            let id = step.exchange.connection;
            let link = moved(step);
            let connection = *places.entry(id).or_insert_with(|| {
                plan.connections.push(id);
                plan.links.push(0);
                plan.windows.push(None);
                plan.first_windows.push(None);
                PlanConnection::new(plan.connections.len() - 1)
            });
            if step.exchange.phase == Phase::Close {
                plan.closed.push(id);
            }
            if let Some(link) = link {
                plan.links[connection.index()] = link;
            }
            if step.exchange.steps().any(is_limited_by_window) {
                plan.windows[connection.index()] = Some(UNSCALED_WINDOW);
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
        let answers = |node: &PlanNode| node.dependencies.reply_after.is_some() && !node.by_server;
        plan.request = plan.nodes.iter().position(answers).map(NodeId::new);
        plan
    }

    pub fn link<'l>(&self, links: &'l [LinkDescription], node: &PlanNode) -> &'l LinkDescription {
        self.link_at(links, node.connection.index())
    }

    /// Of the connection at `place`.
    pub fn link_at<'l>(&self, links: &'l [LinkDescription], place: usize) -> &'l LinkDescription {
        &links[(self.links[place] as usize).min(links.len() - 1)]
    }

    pub fn last_node(&self, index: usize) -> NodeId {
        let next = self.first_nodes.get(index + 1);
        NodeId::new(next.map_or(self.nodes.len(), |next| next.index()) - 1)
    }

    pub fn hold_nothing_back(&mut self, index: usize) {
        for node in self.nodes_of(index) {
            let [in_request, in_reply] = std::mem::take(&mut node.measured.held_back);
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

    pub const fn computed_after(&self) -> (Timestamp, Timestamp) {
        (self.replied_at, self.replied_at.plus(self.client_after))
    }

    /// Of clients and servers together.
    pub fn computing(&self) -> Nanos {
        let nodes = self.nodes.iter().map(|node| &node.measured);
        let before = nodes.map(|times| times.client_before.saturating_add(times.server_before));
        before.chain([self.client_after]).sum()
    }

    pub fn forget_reply_waits(&mut self) {
        for node in &mut self.nodes {
            let of = &mut node.dependencies;
            (of.reply_after, of.first_reply_waiter, of.next_reply_waiter) = (None, None, None);
        }
        self.reply_joins = Joins::default();
    }

    /// Removes waits for cores from the measured computing, where the `work` of clients and
    /// servers is known.
    pub fn keep_work_only(&mut self, work: &Work) {
        self.nodes.iter_mut().for_each(|node| node.keep_work_only(work));
        if let Some(work) = &work[0] {
            let (begin, end) = self.computed_after();
            self.client_after = work.between(begin, end);
        }
    }

    fn add(&mut self, index: usize, step: &OperationStep, connection: PlanConnection, moved: bool) {
        self.first_nodes.push(NodeId::new(self.nodes.len()));
        if moved {
            self.turns_moved += u64::from(step.exchange.turns);
        }
        let (mut after, mut after_what) = self.waits_for(index, step, connection);
        let mut client_before = nanos(step.client_before);
        let mut previous: Option<Step> = None;
        for (place, part) in step.exchange.steps_with_pooler().enumerate() {
            if let Some(previous) = previous {
                after = Some(NodeId::new(self.nodes.len() - 1));
                after_what = After::Completion;
                client_before = pause_between(&previous, &part);
            }
            let crossing = match (moved, step.exchange.is_handshake()) {
                (true, true) => Crossing::Handshake,
                (true, false) => Crossing::Moved,
                (false, _) => measured(&part, step.reply_after.is_some()),
            };
            let dependencies = Dependencies::new(after, after_what);
            let mut node = node(&part, connection, crossing, dependencies, client_before);
            node.phase = step.exchange.phase;
            node.on_stream = step.has_stream() && !step.exchange.is_handshake();
            if node.on_stream && place > 0 {
                // The WINDOW_UPDATE is bytes of the connection, and travels all the same.
                node.bytes.request = node.bytes.request.max(1);
            }
            if place == 0 {
                let pooler = step.exchange.pooler_time();
                node.measured.pooler = nanos(pooler.own());
                node.measured.behind_pooler = nanos(pooler.network);
            }
            if step.reply_after.is_some() {
                node.measured.unknown = Nanos::ZERO;
            }
            node.by_server = after_what == After::RequestArrived
                || after.is_some_and(|after| self.nodes[after.index()].by_server);
            self.nodes.push(node);
            previous = Some(part);
        }
        let (first, last) = (self.first_nodes[index].index(), self.nodes.len() - 1);
        self.nodes[first].locks = LockKey::from_exchange(&step.exchange);
        self.nodes[last].ends_transaction = step.exchange.transaction == Some(TransactionState::Idle);
        self.nodes[last].keeps_connection = self.nodes[last].opens() || is_kept_after(&step.exchange);
        let pool = step.protocol.is_database().then_some(step.protocol);
        for node in self.nodes[first..].iter_mut().filter(|node| node.by_server) {
            node.pool = pool;
        }
    }

    fn waits_for(
        &self,
        index: usize,
        step: &OperationStep,
        connection: PlanConnection,
    ) -> (Option<NodeId>, After) {
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
            let place = self.nodes[node.index()].connection.index();
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
                self.nodes[last.index()].dependencies.reply_after = Some(waited_for);
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
            let index = NodeId::new(place);
            let Dependencies {
                after, reply_after, ..
            } = self.nodes[place].dependencies;
            match after {
                None => self.roots.push(index),
                Some(after) => {
                    let first = &mut self.nodes[after.index()].dependencies.first_dependent;
                    self.nodes[place].dependencies.next_dependent = first.replace(index);
                }
            }
            if let Some(reply_after) = reply_after {
                let first = &mut self.nodes[reply_after.index()].dependencies.first_reply_waiter;
                self.nodes[place].dependencies.next_reply_waiter = first.replace(index);
            }
        }
        self.roots.reverse();
    }
}

fn is_kept_after(exchange: &Exchange) -> bool {
    let is_open = exchange
        .transaction
        .is_some_and(|state| state != TransactionState::Idle);
    is_open || (exchange.asked.prepares > 0 && exchange.executions == 0)
}
