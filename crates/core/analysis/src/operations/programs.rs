//! Programs at the ends of connections on the observed machine, and the requests that these
//! exclude.
//!
//! A program that serves requests and has its own database connections queries on them: statements
//! of other programs (a job, another worker) do not belong to its requests. A program that serves
//! requests without queries (a web server before workers, a proxy) excludes none.

use foldhash::HashSet;
use model::{ConnectionId, ConnectionMap, PerSide, Side};

/// Process numbers at both ends, if known.
pub(super) type Ends = PerSide<Option<u32>>;

#[derive(Debug, Default)]
pub(super) struct Programs {
    ends: ConnectionMap<Ends>,
    asking: HashSet<u32>,
}

impl Programs {
    pub(super) fn known(&mut self, connection: ConnectionId, ends: Ends) {
        self.ends.insert(connection, ends);
    }

    pub(super) fn asks(&mut self, connection: ConnectionId) {
        if let Some(client) = self.number(connection, Side::Client)
            && self.asking.len() < MAX_ASKING
        {
            self.asking.insert(client);
        }
    }

    /// Whether a statement on one connection cannot belong to a request on the other.
    pub(super) fn exclude(&self, statement: ConnectionId, request: ConnectionId) -> bool {
        let asks = self.number(statement, Side::Client);
        let serves = self.number(request, Side::Server);
        asks.zip(serves)
            .is_some_and(|(asks, serves)| asks != serves && self.asking.contains(&serves))
    }

    fn number(&self, connection: ConnectionId, side: Side) -> Option<u32> {
        self.ends.get(&connection)?[side]
    }

    pub(super) fn closed(&mut self, connection: ConnectionId) {
        self.ends.remove(&connection);
    }
}

const MAX_ASKING: usize = 10_000;
