//! Recognises background work: statements that a host sends without any request, too.
//!
//! Each statement text of a host is counted with and without open requests. A text seen at least
//! [`MIN_OUTSIDE`] times without one is background, unless it is more than twice as frequent during
//! requests, per time. A host that is never idle shows nothing. A text ever seen without a request
//! does not prove that the only request in flight caused it: the ratio of frequencies yields the
//! probability ([`Cause::Doubtful`]).

use super::member::Member;
use crate::verb::Verb;
use foldhash::HashMap;
use model::{ConnectionId, ConnectionMap, Fingerprint, Share, Timestamp};
use std::net::IpAddr;
use std::time::Duration;

#[derive(Debug, Default)]
pub(super) struct Background {
    hosts: HashMap<IpAddr, Host>,
    requests: ConnectionMap<IpAddr>,
}

#[derive(Debug, Default)]
struct Host {
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

#[derive(Debug, Clone, Copy)]
pub(super) enum Cause {
    Request,
    /// A request or the host itself, with the probability of a request.
    Doubtful(Share),
    Host,
}

impl Background {
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

    pub(super) fn cause_of(&mut self, member: &Member) -> Cause {
        let exchange = &member.exchange;
        let is_tagged = exchange.tags.as_ref().is_some_and(|tags| tags.request.is_some());
        let Some(fingerprint) = exchange
            .fingerprint
            .as_ref()
            .filter(|_| !is_tagged && member.protocol.is_database())
        else {
            return Cause::Request;
        };
        let Some(host) = self.hosts.get_mut(&member.sides.client_host) else {
            return Cause::Request;
        };
        let now = exchange.ended();
        let is_during = match host.open.is_empty() {
            true => host.idle_since > exchange.at,
            false => host.open.values().any(|&started| started <= exchange.at),
        };
        let (busy, idle) = host.times(now);
        if !host.statements.contains_key(fingerprint) {
            if host.statements.len() >= MAX_STATEMENTS {
                return Cause::Request;
            }
            host.statements.insert(fingerprint.clone(), Seen::default());
        }
        let Some(seen) = host.statements.get_mut(fingerprint) else {
            return Cause::Request;
        };
        match is_during {
            true => seen.during += 1,
            false => seen.without += 1,
        }
        let cause = seen.cause(busy, idle);
        // Transaction control and pings have the same text for all senders.
        let is_control =
            matches!(cause, Cause::Doubtful(_)) && Verb::from_fingerprint(fingerprint) == Verb::Control;
        match is_during && !is_control {
            true => cause,
            false => Cause::Request,
        }
    }
}

impl Seen {
    /// Cause of a statement during requests, by its counts and the seconds with and without
    /// requests.
    fn cause(self, busy: f64, idle: f64) -> Cause {
        if self.without == 0 || idle <= 0.0 {
            return Cause::Request;
        }
        let (during, expected) = (self.during as f64, self.without as f64 * busy / idle);
        if self.without >= MIN_OUTSIDE && during <= 2.0 * expected + SLACK {
            return Cause::Host;
        }
        let likely = 1.0 - (expected + 1.0) / (during + 2.0);
        match Share::of_fraction(likely.max(MIN_LIKELIHOOD)) {
            Some(share) if likely < SURE => Cause::Doubtful(share),
            _ => Cause::Request,
        }
    }
}

impl Host {
    fn times(&self, now: Timestamp) -> (f64, f64) {
        let (busy, idle) = match self.open.is_empty() {
            true => (Duration::ZERO, now.since(self.idle_since)),
            false => (now.since(self.busy_since), Duration::ZERO),
        };
        ((self.busy + busy).as_secs_f64(), (self.idle + idle).as_secs_f64())
    }
}

const MIN_OUTSIDE: u64 = 5;
/// Statements during requests that may be chance, however short the requests.
const SLACK: f64 = 2.0;
/// Bounds of a request's probability; above the upper one it is certain.
const SURE: f64 = 0.99;
const MIN_LIKELIHOOD: f64 = 0.1;
const MAX_HOSTS: usize = 1_000;
/// Some 100 kB for each host.
const MAX_STATEMENTS: usize = 1_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_host_also_does_by_itself_is_no_request_s_for_certain() {
        let cause = |during, without| Seen { during, without }.cause(8.0, 2.0);
        assert!(
            matches!(cause(1, 0), Cause::Request),
            "never seen without a request"
        );
        // Expected are twenty during requests if five were seen in a fifth of the time.
        assert!(matches!(cause(20, 5), Cause::Host));
        let Cause::Doubtful(likely) = cause(100, 5) else {
            panic!("a fifth of them is the host's own");
        };
        assert!((likely.as_fraction() - 0.8).abs() < 0.02, "{likely}");
        assert!(
            matches!(cause(5_000, 5), Cause::Request),
            "next to none is the host's own"
        );
        assert!(matches!(cause(1, 1), Cause::Doubtful(_)));
    }
}
