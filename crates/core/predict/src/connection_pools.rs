//! Connection pools shared by all requests: a request waits while all connections are in use.
//!
//! The wire does not show the maximum. But a pool with all connections in use opens another or, at
//! its maximum, makes the statement wait. If all known connections were repeatedly in use and none
//! was added, that is the maximum. Pools with a maximum of idle connections: [`idle`].

mod idle;

use crate::peak::Peak;
use crate::plan::{Crossing, OperationPlan};
use idle::Openings;
use model::{ConnectionId, Phase, Protocol, Timestamp};
use std::collections::{HashMap, HashSet};

#[derive(Debug, Default)]
pub struct PoolEvidence {
    uses: HashMap<Protocol, Vec<Use>>,
    openings: HashMap<Protocol, Openings>,
    requests: Vec<(Timestamp, Timestamp)>,
}

/// From the first statement until the connection could be returned.
#[derive(Debug, Clone, Copy)]
struct Use {
    connection: ConnectionId,
    request: usize,
    from: Timestamp,
    to: Timestamp,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PoolLimits {
    pub certain: HashMap<Protocol, u32>,
    /// Certain limits plus possible ones.
    pub all: HashMap<Protocol, u32>,
    /// Idle connections that are kept, of pools that close what is returned beyond.
    pub idle: HashMap<Protocol, u32>,
    /// Concurrent requests in the measurement, which shows no limits beyond this number.
    pub requests: u32,
}

impl PoolEvidence {
    pub fn add(&mut self, plan: &OperationPlan) {
        let Some(first) = plan.nodes.first().filter(|_| self.requests.len() < MAX_REQUESTS) else {
            return;
        };
        let request = self.requests.len();
        self.requests
            .push((first.measured.computed_at[0], plan.replied_at));
        let mut under_way: Vec<Option<Use>> = vec![None; plan.connections.len()];
        for node in &plan.nodes {
            let Some(protocol) = node.pool else { continue };
            let [asked, replied] = node.measured.computed_at;
            let connection = plan.connections[node.connection.index()];
            let openings = self.openings.entry(protocol).or_default();
            if node.phase == Phase::Close {
                openings.closed.insert(connection, asked);
                continue;
            }
            if node.crossing == Crossing::Handshake {
                openings.opened.push(asked);
            }
            let under_way = &mut under_way[node.connection.index()];
            let now = under_way.get_or_insert(Use {
                connection,
                request,
                from: asked,
                to: replied,
            });
            now.to = replied.plus(node.measured.server_inside).max(now.to);
            if !node.keeps_connection {
                self.uses.entry(protocol).or_default().push(*now);
                *under_way = None;
            }
        }
    }

    /// A pool returns connections before the request is answered. That must be seen in one of
    /// [`ONE_EARLY_IN`] connections that went to another request, and at least [`MIN_EARLY`] times.
    /// The limit is certain if all connections were in use [`MIN_FULL`] times, else possible.
    pub fn conclude(mut self) -> PoolLimits {
        let mut limits = PoolLimits {
            requests: Peak::of_spans(self.requests.iter().copied()).height,
            ..PoolLimits::default()
        };
        for (protocol, mut uses) in std::mem::take(&mut self.uses) {
            uses.sort_unstable_by_key(|one| (one.from, one.to));
            let [handed_on, early] = handed_on(&uses, &self.requests);
            let openings = self.openings.remove(&protocol).unwrap_or_default();
            if let Some(limit) = openings.idle_limit(&uses).filter(|_| handed_on >= MIN_HANDED_ON) {
                limits.idle.insert(protocol, limit);
                continue;
            }
            if early < MIN_EARLY || early * ONE_EARLY_IN < handed_on {
                continue;
            }
            let connections: HashSet<ConnectionId> = uses.iter().map(|one| one.connection).collect();
            let connections = connections.len() as u32;
            let peak = Peak::of_spans(uses.iter().map(|one| (one.from, one.to)));
            limits.all.insert(protocol, connections);
            if peak.height >= connections && peak.times >= MIN_FULL {
                limits.certain.insert(protocol, connections);
            }
        }
        limits
    }
}

/// How often a connection went to another request, and how often before the previous request was
/// answered.
fn handed_on(uses: &[Use], requests: &[(Timestamp, Timestamp)]) -> [usize; 2] {
    let mut before: HashMap<ConnectionId, usize> = HashMap::new();
    let (mut all, mut early) = (0, 0);
    for one in uses {
        let before = before.insert(one.connection, one.request);
        if let Some(other) = before.filter(|before| *before != one.request) {
            all += 1;
            early += usize::from(one.from < requests[other].1);
        }
    }
    [all, early]
}

const MAX_REQUESTS: usize = 200_000;
const MIN_EARLY: usize = 5;
const ONE_EARLY_IN: usize = 4;
const MIN_HANDED_ON: usize = 10;
const MIN_FULL: usize = 10;
