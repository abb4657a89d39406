//! Which programs of the observed machine have the ends of connections, and what cannot be for a request
//! because of it.
//!
//! A program that serves requests and has its own connections to databases asks them itself: a statement of
//! another program (a job, another worker of the same server) is for none of its requests. From a program
//! that serves requests and asks nothing, a web server in front of workers or a proxy, nothing follows.

use model::{ConnectionId, ConnectionMap};
use std::collections::HashSet;

/// The numbers of the programs at the ends of a connection, client first, as far as they are known.
pub(super) type Ends = [Option<u32>; 2];

/// The programs of open connections.
#[derive(Debug, Default)]
pub(super) struct Programs {
    ends: ConnectionMap<Ends>,
    /// Programs that asked a database.
    asking: HashSet<u32>,
}

impl Programs {
    pub(super) fn known(&mut self, connection: ConnectionId, ends: Ends) {
        self.ends.insert(connection, ends);
    }

    /// A statement came on this connection.
    pub(super) fn asks(&mut self, connection: ConnectionId) {
        if let Some(&[Some(client), _]) = self.ends.get(&connection)
            && self.asking.len() < MAX_ASKING
        {
            self.asking.insert(client);
        }
    }

    /// Whether a statement on one connection cannot be for a request on another one.
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

/// Programs of which it is kept that they asked a database.
const MAX_ASKING: usize = 10_000;
