//! Pooled connections shared by all clients: a statement starts when its request has one; others
//! queue.

use super::{NodeEvent, SimulatedRun, Wake};
use crate::client_node::{ClientId, ClientNode};
use model::Protocol;
use std::collections::{HashMap, VecDeque};

#[derive(Debug, Default)]
pub struct Pooled(HashMap<Protocol, Pool>);

#[derive(Debug)]
struct Pool {
    /// Negative if requests that hold a connection need another: waiting would deadlock.
    free: i64,
    /// First come, first served.
    waiting: VecDeque<ClientNode>,
}

#[derive(Debug, Clone, Copy, Default)]
pub struct Use {
    under_way: u32,
    /// Whether the request keeps it between two statements.
    is_kept: bool,
}

impl Use {
    const fn is_held(self) -> bool {
        self.under_way > 0 || self.is_kept
    }
}

impl Pooled {
    pub fn new(limits: &HashMap<Protocol, u32>) -> Self {
        let pool = |(protocol, connections): (&Protocol, &u32)| {
            let pool = Pool {
                free: i64::from(*connections),
                waiting: VecDeque::new(),
            };
            (*protocol, pool)
        };
        Self(limits.iter().map(pool).collect())
    }
}

impl SimulatedRun<'_> {
    /// Whether the node's request holds the connection it needs from now on; otherwise the node
    /// waits.
    pub(super) fn takes_connection(&mut self, id: ClientNode) -> bool {
        let what = self.node(id);
        let Some(pool) = what.pool.and_then(|protocol| self.pooled.0.get_mut(&protocol)) else {
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

    pub(super) fn may_give_back(&mut self, id: ClientNode) {
        let what = self.node(id);
        let Some(protocol) = what.pool.filter(|protocol| self.pooled.0.contains_key(protocol)) else {
            return;
        };
        let own = &mut self.clients[id.client().index()].uses[what.connection.index()];
        own.under_way = own.under_way.saturating_sub(1);
        if own.under_way == 0 {
            own.is_kept = what.keeps_connection;
        }
        if !own.is_held() {
            self.give_back(protocol);
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
                self.give_back(protocol);
            }
        }
    }

    fn give_back(&mut self, protocol: Protocol) {
        let Some(pool) = self.pooled.0.get_mut(&protocol) else {
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
