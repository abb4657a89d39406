//! Connection pools with their members, concurrent use, and selection of the next connection.

use super::family::Family;
use super::queue::Supply;
use foldhash::{HashMap, HashSet};
use model::{ConnectionId, Operation, Phase, Timestamp};

/// Connections used in one family belong to one pool.
#[derive(Debug, Default)]
pub struct Pools {
    /// Another connection of the same pool; the one that names the pool has itself.
    links: HashMap<ConnectionId, ConnectionId>,
    pools: HashMap<ConnectionId, Pool>,
}

#[derive(Debug, Default, Clone)]
struct Pool {
    width: usize,
    used: HashMap<ConnectionId, Timestamp>,
    /// How often an operation without overlap began while several connections were idle, how often
    /// with the last returned one, and the connections used.
    given: u32,
    given_last: u32,
    given_ones: HashSet<ConnectionId>,
}

impl Pools {
    /// `alone` means that no other operation overlapped this one.
    pub fn learn(&mut self, operation: &Operation, families: &[Family<'_>], alone: bool) {
        if operation.steps.len() > super::family::MAX_MEMBERS || self.links.len() > MAX_CONNECTIONS {
            return;
        }
        for family in families {
            let work = |place: &usize| family.exchange(*place).phase == Phase::Work;
            let Some(first) = (0..family.members.len()).find(work) else {
                continue;
            };
            let of_pool: HashSet<ConnectionId> = family.connections().collect();
            let root = self.join(&of_pool, family.connection(first));
            let pool = self.pools.entry(root).or_default();
            pool.width = pool.width.max(of_pool.len());
            if alone {
                pool.gave(family.connection(first));
            }
            for step in family.steps() {
                let used = pool.used.entry(step.exchange.connection).or_default();
                *used = step.exchange.ended().max(*used);
                if step.exchange.phase == Phase::Close {
                    pool.used.remove(&step.exchange.connection);
                }
            }
        }
    }

    pub fn supply(&self, mut connections: impl Iterator<Item = ConnectionId>) -> Supply {
        let pool = connections.next().and_then(|first| self.pool(first));
        pool.map_or_else(Supply::default, |pool| {
            let mut known: Vec<ConnectionId> = pool.used.keys().copied().collect();
            known.sort_unstable();
            Supply {
                width: pool.width,
                connections: known,
            }
        })
    }

    /// Whether the connection's pool reuses the last returned connection.
    pub fn gives_last(&self, connection: ConnectionId) -> bool {
        self.pool(connection).is_some_and(|pool| {
            pool.given >= ENOUGH && pool.given_ones.len() > 1 && pool.given_last * 10 >= pool.given * 9
        })
    }

    fn pool(&self, connection: ConnectionId) -> Option<&Pool> {
        self.pools.get(&self.root(connection))
    }

    fn root(&self, mut connection: ConnectionId) -> ConnectionId {
        while let Some(next) = self.links.get(&connection).filter(|next| **next != connection) {
            connection = *next;
        }
        connection
    }

    fn join(&mut self, connections: &HashSet<ConnectionId>, first: ConnectionId) -> ConnectionId {
        let root = self.root(first);
        self.links.insert(root, root);
        for connection in connections {
            let other = self.root(*connection);
            if other == root {
                continue;
            }
            self.links.insert(other, root);
            self.links.insert(*connection, root);
            if let Some(joined) = self.pools.remove(&other) {
                let pool = self.pools.entry(root).or_default();
                pool.width = pool.width.max(joined.width);
                pool.used.extend(joined.used);
                pool.given += joined.given;
                pool.given_last += joined.given_last;
                pool.given_ones.extend(joined.given_ones);
            }
        }
        root
    }
}

impl Pool {
    fn gave(&mut self, connection: ConnectionId) {
        let last = self.used.iter().max_by_key(|(_, used)| **used);
        let Some((&last, _)) = last.filter(|_| self.used.len() > 1) else {
            return;
        };
        self.given += 1;
        if last == connection {
            self.given_last += 1;
            self.given_ones.insert(connection);
        }
    }
}

/// Selections after which the pool's order is known.
const ENOUGH: u32 = 5;
const MAX_CONNECTIONS: usize = 20_000;
