//! Programs at the ends of connections on the observed machine, and the requests that these
//! exclude.
//!
//! A program that serves requests and has its own database connections queries on them: statements
//! of other programs (a job, another worker) do not belong to its requests. A program that serves
//! requests without queries (a web server before workers, a proxy) excludes none.

use model::{ConnectionId, ConnectionMap};
use std::collections::HashSet;

/// Process numbers at both ends, client first, if known.
pub(super) type Ends = [Option<u32>; 2];

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
        if let Some(&[Some(client), _]) = self.ends.get(&connection)
            && self.asking.len() < MAX_ASKING
        {
            self.asking.insert(client);
        }
    }

    /// Whether a statement on one connection cannot belong to a request on the other.
    pub(super) fn exclude(&self, statement: ConnectionId, request: ConnectionId) -> bool {
        let (Some(&[Some(asks), _]), Some(&[_, Some(serves)])) =
            (self.ends.get(&statement), self.ends.get(&request))
        else {
            return false;
        };
        asks != serves && self.asking.contains(&serves)
    }

    pub(super) fn closed(&mut self, connection: ConnectionId) {
        self.ends.remove(&connection);
    }
}

const MAX_ASKING: usize = 10_000;
