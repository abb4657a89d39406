//! Work that a host does without any request, too: what it does of it during requests is not theirs.
//!
//! Of each statement text that a host sends it is counted how often it is seen while requests to the host are open and while none is. Seen
//! without a request at least [`MIN_OUTSIDE`] times, it counts as background as long as it is not seen during requests more than twice as
//! often for the time that they take. A host that is never idle shows nothing.

use super::Member;
use foldhash::HashMap;
use model::{ConnectionId, ConnectionMap, Fingerprint, Timestamp};
use std::net::IpAddr;
use std::time::Duration;

/// The background work of all hosts.
#[derive(Debug, Default)]
pub(super) struct Background {
    hosts: HashMap<IpAddr, Host>,
    /// The host of each connection with an open request.
    requests: ConnectionMap<IpAddr>,
}

#[derive(Debug, Default)]
struct Host {
    /// When each open request began.
    open: ConnectionMap<Timestamp>,
    busy_since: Timestamp,
    idle_since: Timestamp,
    busy: Duration,
    idle: Duration,
    statements: HashMap<Fingerprint, Seen>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    during: u64,
    without: u64,
}

impl Background {
    /// A request has reached a host.
    pub(super) fn started(&mut self, host: IpAddr, connection: ConnectionId, at: Timestamp) {
        if self.hosts.len() >= MAX_HOSTS && !self.hosts.contains_key(&host) {
            return;
        }
        let known = self.hosts.entry(host).or_default();
        if known.open.is_empty() {
            if known.idle_since > Timestamp::default() {
                known.idle += at.since(known.idle_since);
            }
            known.busy_since = at;
        }
        known.open.insert(connection, at);
        self.requests.insert(connection, host);
    }

    /// The request of a connection is answered, or the connection has ended.
    pub(super) fn ended(&mut self, connection: ConnectionId, at: Timestamp) {
        let Some(host) = self.requests.remove(&connection) else {
            return;
        };
        let Some(known) = self.hosts.get_mut(&host) else {
            return;
        };
        if known.open.remove(&connection).is_some() && known.open.is_empty() {
            known.busy += at.since(known.busy_since);
            known.idle_since = at;
        }
    }

    /// Whether a statement is background work of its host.
    pub(super) fn has(&mut self, member: &Member) -> bool {
        let exchange = &member.exchange;
        let is_tagged = exchange.tags.as_ref().is_some_and(|tags| tags.request.is_some());
        let Some(fingerprint) = exchange
            .fingerprint
            .as_ref()
            .filter(|_| !is_tagged && member.protocol.is_database())
        else {
            return false;
        };
        let Some(host) = self.hosts.get_mut(&member.sides.client_host) else {
            return false;
        };
        let now = exchange.ended();
        let is_during = match host.open.is_empty() {
            true => host.idle_since > exchange.at,
            false => host.open.values().any(|&started| started <= exchange.at),
        };
        let (busy, idle) = host.times(now);
        if !host.statements.contains_key(fingerprint) {
            if host.statements.len() >= MAX_STATEMENTS {
                return false;
            }
            host.statements.insert(fingerprint.clone(), Seen::default());
        }
        let Some(seen) = host.statements.get_mut(fingerprint) else {
            return false;
        };
        match is_during {
            true => seen.during += 1,
            false => seen.without += 1,
        }
        is_during && seen.without >= MIN_OUTSIDE && idle > 0.0 && {
            let expected = seen.without as f64 * busy / idle;
            seen.during as f64 <= 2.0 * expected + SLACK
        }
    }
}

impl Host {
    /// Seconds with and without a request until now.
    fn times(&self, now: Timestamp) -> (f64, f64) {
        let (busy, idle) = match self.open.is_empty() {
            true => (Duration::ZERO, now.since(self.idle_since)),
            false => (now.since(self.busy_since), Duration::ZERO),
        };
        ((self.busy + busy).as_secs_f64(), (self.idle + idle).as_secs_f64())
    }
}

const MIN_OUTSIDE: u64 = 5;
/// Statements during requests that are no more than chance, however short the requests are.
const SLACK: f64 = 2.0;
const MAX_HOSTS: usize = 1_000;
/// Texts counted for each host: some 100 kB.
const MAX_STATEMENTS: usize = 1_000;
