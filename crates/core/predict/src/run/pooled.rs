//! Pooled connections shared by all clients: a statement starts when its request has one; others
//! queue, or open one.

use super::{NodeEvent, SimulatedRun, Wake};
use crate::client_node::{ClientId, ClientNode};
use crate::links::ReplayConnection;
use crate::plan::PlanNode;
use model::{Phase, Protocol};
use std::collections::{HashMap, VecDeque};

#[derive(Debug, Default)]
pub struct Pooled {
    limited: HashMap<Protocol, Pool>,
    of_few_idle: HashMap<Protocol, IdlePool>,
}

#[derive(Debug)]
struct Pool {
    /// Negative if requests that hold a connection need another: waiting would deadlock.
    free: i64,
    /// First come, first served.
    waiting: VecDeque<ClientNode>,
}

/// The connection returned last is taken first. One returned beyond the limit is closed.
#[derive(Debug)]
struct IdlePool {
    limit: usize,
    idle: HashMap<u32, Vec<ReplayConnection>>,
}

#[derive(Debug, Clone, Copy, Default)]
pub struct Use {
    under_way: u32,
    /// Whether the request keeps it between two statements.
    is_kept: bool,
    was_idle: bool,
}

impl Use {
    const fn is_held(self) -> bool {
        self.under_way > 0 || self.is_kept
    }
}

impl Pooled {
    pub fn new(limits: Option<&HashMap<Protocol, u32>>, idle_limits: &HashMap<Protocol, u32>) -> Self {
        let pool = |(protocol, connections): (&Protocol, &u32)| {
            let pool = Pool {
                free: i64::from(*connections),
                waiting: VecDeque::new(),
            };
            (*protocol, pool)
        };
        let of_few_idle = |(protocol, limit): (&Protocol, &u32)| {
            let pool = IdlePool {
                limit: *limit as usize,
                idle: HashMap::new(),
            };
            (*protocol, pool)
        };
        Self {
            limited: limits.into_iter().flatten().map(pool).collect(),
            of_few_idle: idle_limits.iter().map(of_few_idle).collect(),
        }
    }

    fn of_few_idle(&self, node: &PlanNode) -> bool {
        node.pool
            .is_some_and(|protocol| self.of_few_idle.contains_key(&protocol))
    }
}

impl SimulatedRun<'_> {
    /// Whether the node's request holds the connection it needs from now on, and the node is to be
    /// carried out; otherwise the node waits, or has been skipped.
    pub(super) fn takes_connection(&mut self, id: ClientNode) -> bool {
        let what = self.node(id);
        if self.pooled.of_few_idle(what) {
            return self.takes_idle_or_opens(id);
        }
        let Some(pool) = what
            .pool
            .and_then(|protocol| self.pooled.limited.get_mut(&protocol))
        else {
            return true;
        };
        let uses = &mut self.clients[id.client().index()].uses;
        let holds_another = uses.iter().any(|one| one.is_held());
        let own = &mut uses[what.connection.index()];
        if !own.is_held() {
            if pool.free <= 0 && !holds_another {
                pool.waiting.push_back(id);
                return false;
            }
            pool.free -= 1;
        }
        own.under_way += 1;
        true
    }

    fn takes_idle_or_opens(&mut self, id: ClientNode) -> bool {
        let what = self.node(id);
        let place = what.connection.index();
        if what.phase == Phase::Close {
            let used = std::mem::take(self.own_use(id));
            if let Some(protocol) = what.pool.filter(|_| used.is_held()) {
                self.give_back(id.client(), place, protocol);
            }
            self.skip(id);
            return false;
        }
        if !self.own_use(id).is_held() {
            let idle = self.take_idle(id);
            self.own_use(id).was_idle = idle.is_some();
            let plan = self.client(id).plan;
            let connection = idle.unwrap_or_else(|| self.network.add_connection(plan.links[place], None));
            self.clients[id.client().index()].connections[place] = connection;
            self.set_up_connection(plan, place, connection);
            if idle.is_some() {
                self.keep_first_window(plan, place, connection);
            }
        }
        let own = self.own_use(id);
        own.is_kept = true;
        if what.opens() && own.was_idle {
            self.skip(id);
            return false;
        }
        true
    }

    /// Whether the client computes nothing before the node, as its connection was idle.
    pub(super) fn needs_no_opening(&self, id: ClientNode) -> bool {
        let what = self.node(id);
        let own = self.client(id).uses[what.connection.index()];
        let follows_opening = || {
            let after = what.dependencies.after;
            let after = after.map(|after| self.node(self.beside(id, after)));
            after.is_some_and(|after| after.opens() && after.connection == what.connection)
        };
        own.was_idle && own.is_held() && self.pooled.of_few_idle(what) && (what.opens() || follows_opening())
    }

    fn take_idle(&mut self, id: ClientNode) -> Option<ReplayConnection> {
        let what = self.node(id);
        let link = self.client(id).plan.links[what.connection.index()];
        let pool = self.pooled.of_few_idle.get_mut(&what.pool?)?;
        pool.idle.get_mut(&link)?.pop()
    }

    fn own_use(&mut self, id: ClientNode) -> &mut Use {
        let place = self.node(id).connection.index();
        &mut self.clients[id.client().index()].uses[place]
    }

    pub(super) fn may_give_back(&mut self, id: ClientNode) {
        let what = self.node(id);
        let Some(protocol) = what
            .pool
            .filter(|protocol| self.pooled.limited.contains_key(protocol))
        else {
            return;
        };
        let own = self.own_use(id);
        own.under_way = own.under_way.saturating_sub(1);
        if own.under_way == 0 {
            own.is_kept = what.keeps_connection;
        }
        if !own.is_held() {
            self.give_back(id.client(), what.connection.index(), protocol);
        }
    }

    pub(super) fn give_all_back(&mut self, client: ClientId) {
        let this = &mut self.clients[client.index()];
        let uses = std::mem::take(&mut this.uses);
        let plan = this.plan;
        for (connection, _) in uses.iter().enumerate().filter(|(_, one)| one.is_held()) {
            let mut nodes = plan
                .nodes
                .iter()
                .filter(|node| node.connection.index() == connection);
            if let Some(protocol) = nodes.find_map(|node| node.pool) {
                self.give_back(client, connection, protocol);
            }
        }
    }

    fn give_back(&mut self, client: ClientId, place: usize, protocol: Protocol) {
        if let Some(pool) = self.pooled.of_few_idle.get_mut(&protocol) {
            let client = &self.clients[client.index()];
            let idle = pool.idle.entry(client.plan.links[place]).or_default();
            if idle.len() < pool.limit {
                idle.push(client.connections[place]);
            }
            return;
        }
        let Some(pool) = self.pooled.limited.get_mut(&protocol) else {
            return;
        };
        pool.free += 1;
        if pool.free > 0
            && let Some(next) = pool.waiting.pop_front()
        {
            self.network
                .wake_at(self.network.now(), Wake::Node(next, NodeEvent::Start));
        }
    }
}
