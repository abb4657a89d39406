//! Connections that live for one request, opened within it and closed when its program is done, as of a
//! program without persistent connections (PHP).
//!
//! Only the request it was opened for can own the connection's statements. The ended connections
//! between a host and a server decide for all:
//! 1. A connection that began during requests and worked clearly longer than each of them is not of
//!    this kind, unless 3. holds.
//! 2. A connection within a request is, unless many requests came and went meanwhile.
//! 3. A program may work on after its reply, on the same connections. It is known by some that worked while
//!    the host had no request, if nearly every request opens a connection and nearly none is kept for a
//!    later one.

use super::super::member::Sides;
use foldhash::HashMap;
use model::{ConnectionId, ConnectionMap, Endpoint, Timestamp};
use std::collections::VecDeque;
use std::net::IpAddr;
use std::time::Duration;

#[derive(Debug, Default)]
pub(super) struct Lives {
    open: ConnectionMap<Life>,
    ended: HashMap<(IpAddr, Endpoint), Ended>,
    /// Of recently answered requests: host, arrival, end of the reply.
    answered: VecDeque<(IpAddr, Timestamp, Timestamp)>,
    /// Last long time of each host without a request.
    idle: HashMap<IpAddr, (Timestamp, Timestamp)>,
}

#[derive(Debug, Clone, Copy)]
struct Life {
    sides: Sides,
    opened: Timestamp,
    worked: Timestamp,
    /// It said goodbye, but the end of its packets is certain only much later.
    is_over: bool,
    /// It was opened by a program that works for a request.
    in_request: bool,
    /// It worked while the host had no request.
    without_request: bool,
}

/// Connections that ended within a request, and those open for longer than any.
#[derive(Debug, Default)]
struct Ended {
    within_one: u64,
    others: u64,
    over: u64,
    /// Connections opened within a request that worked while there was none.
    after_reply: u64,
    /// Requests during which a connection was opened, and those with work and no such connection.
    opening: u64,
    without_opening: u64,
    opened_at: Timestamp,
    worked_at: Timestamp,
    /// Connections opened within requests.
    opened: u64,
    /// Times that one rested while its host had no request, and then worked for a later one.
    kept: u64,
}

impl Ended {
    fn is_opened_for_each(&self) -> bool {
        self.without_opening * EXCEPTIONS <= self.opening
    }

    fn goes_on_after_reply(&self) -> bool {
        self.after_reply >= ENOUGH_AFTER.max(self.kept.saturating_mul(EXCEPTIONS))
            && self.is_opened_for_each()
    }

    fn is_within_one(&self) -> bool {
        self.within_one >= ENOUGH.max(self.others.saturating_mul(EXCEPTION))
    }

    fn is_undecided(&self) -> bool {
        !self.goes_on_after_reply()
            && (self.after_reply > 0 || !self.is_within_one())
            && self.is_opened_for_each()
            && self.opened >= self.opening + self.without_opening
            && self.within_one + self.others < MAX_UNDECIDED
            && self.over < MAX_OVER
    }
}

impl Lives {
    /// `is_serving`: whether the client's host works for a request.
    pub(super) fn opened(&mut self, connection: ConnectionId, sides: Sides, at: Timestamp, is_serving: bool) {
        let pair = (sides.client_host, sides.server);
        let opens_within = self.ended.get(&pair).is_some_and(|ended| ended.opened > 0);
        let goes_on = |life: &Life| !life.is_over && life.in_request && life.pair() == pair;
        let life = Life {
            sides,
            opened: at,
            worked: at,
            is_over: false,
            in_request: is_serving || (opens_within && self.open.values().any(goes_on)),
            without_request: false,
        };
        self.open.insert(connection, life);
        if let Some(ended) = self.of_pair(pair) {
            ended.opened_at = ended.opened_at.max(at);
            ended.opened += u64::from(life.in_request);
        }
    }

    fn of_pair(&mut self, pair: (IpAddr, Endpoint)) -> Option<&mut Ended> {
        let is_known = self.ended.len() < MAX_PAIRS || self.ended.contains_key(&pair);
        is_known.then(|| self.ended.entry(pair).or_default())
    }

    pub(super) fn opening(&self, connection: ConnectionId) -> Option<Timestamp> {
        self.open.get(&connection).map(|life| life.opened)
    }

    /// `is_serving`: whether its host had an open request.
    pub(super) fn worked(
        &mut self,
        connection: ConnectionId,
        sides: Sides,
        (from, until): (Timestamp, Timestamp),
        is_serving: bool,
    ) {
        let host = sides.client_host;
        let held = |(of, arrived, ended): &(IpAddr, Timestamp, Timestamp)| {
            *of == host && *arrived <= from && from <= *ended
        };
        let mut is_kept = false;
        if let Some(life) = self.open.get_mut(&connection) {
            let idle = self.idle.get(&host);
            let rested = |(since, until): &(Timestamp, Timestamp)| {
                life.opened < *since
                    && life.worked < since.after(until.since(*since) / LATE)
                    && from >= *until
            };
            is_kept = life.in_request && idle.is_some_and(rested);
            life.worked = life.worked.max(until);
            life.without_request |= !is_serving && !self.answered.iter().any(held);
        }
        if let Some(ended) = self.of_pair((host, sides.server)) {
            ended.worked_at = ended.worked_at.max(from);
            ended.kept += u64::from(is_kept);
        }
    }

    /// A request arrives at a host that has no other.
    pub(super) fn arrived_alone(&mut self, host: IpAddr, at: Timestamp) {
        let of_host = self.answered.iter().filter(|(of, ..)| *of == host);
        let since = of_host.map(|(.., ended)| *ended).max();
        if let Some(since) = since.filter(|since| at.since(*since) >= LONG_IDLE)
            && (self.idle.len() < MAX_PAIRS || self.idle.contains_key(&host))
        {
            self.idle.insert(host, (since, at));
        }
    }

    pub(super) fn answered(&mut self, host: IpAddr, arrived: Timestamp, ended: Timestamp) {
        for ((_, _), pair) in self.ended.iter_mut().filter(|((of, _), _)| *of == host) {
            if pair.opened_at >= arrived {
                pair.opening += 1;
            } else if pair.worked_at >= arrived {
                pair.without_opening += 1;
            }
        }
        if self.answered.len() >= MAX_ANSWERED {
            self.answered.pop_front();
        }
        self.answered.push_back((host, arrived, ended));
    }

    pub(super) fn closed(
        &mut self,
        connection: ConnectionId,
        under_way: impl Iterator<Item = (IpAddr, Timestamp)>,
    ) {
        self.over(connection, under_way);
        self.open.remove(&connection);
    }

    /// The connection is idle for good; `under_way`: host and arrival of requests with unfinished
    /// replies.
    pub(super) fn over(
        &mut self,
        connection: ConnectionId,
        under_way: impl Iterator<Item = (IpAddr, Timestamp)>,
    ) {
        let Some(life) = self.open.get_mut(&connection).filter(|life| !life.is_over) else {
            return;
        };
        life.is_over = true;
        let Life {
            opened,
            worked,
            in_request,
            without_request,
            ..
        } = *life;
        let pair = life.pair();
        let host = pair.0;
        let of_host = |request: &&(IpAddr, Timestamp, Timestamp)| request.0 == host;
        let answered = self.answered.iter().filter(of_host);
        let holding = answered
            .clone()
            .filter(|(_, arrived, ended)| *arrived <= opened && opened <= *ended)
            .map(|(_, _, ended)| *ended);
        let goes_on = under_way.filter(|(of, arrived)| *of == host && *arrived <= opened);
        let held = holding.chain(goes_on.map(|_| FOREVER)).max();
        let between = answered.filter(|(_, arrived, ended)| *arrived > opened && *ended < worked);
        let between = between.count();
        let Some(ended) = self.of_pair(pair) else { return };
        ended.over += 1;
        ended.after_reply += u64::from(in_request && without_request);
        if let Some(held) = held.filter(|_| worked > opened) {
            if held.after(held.since(opened) / LATE) < worked {
                ended.others += 1;
            } else if between <= MAX_BETWEEN {
                ended.within_one += 1;
            }
        }
    }

    pub(super) fn are_of_one_request(&self, sides: &Sides) -> bool {
        let ended = self.ended.get(&(sides.client_host, sides.server));
        ended.is_some_and(|ended| ended.is_within_one() && !ended.goes_on_after_reply())
    }

    /// Whether programs of the client's host work on after their replies, on connections that each
    /// request opens.
    pub(super) fn go_on_after_reply(&self, sides: &Sides) -> bool {
        let ended = self.ended.get(&(sides.client_host, sides.server));
        ended.is_some_and(Ended::goes_on_after_reply)
    }

    pub(super) fn are_undecided(&self, sides: &Sides) -> bool {
        let ended = self.ended.get(&(sides.client_host, sides.server));
        ended.map_or(self.ended.len() < MAX_PAIRS, Ended::is_undecided)
    }

    /// Whether the connection's program may work on it after its reply.
    pub(super) fn may_go_on(&self, connection: ConnectionId) -> bool {
        let life = self.open.get(&connection).filter(|life| life.in_request);
        life.is_some_and(|life| self.go_on_after_reply(&life.sides) || self.are_undecided(&life.sides))
    }

    pub(super) fn may_be_for(&self, connection: ConnectionId, sides: &Sides, arrived: Timestamp) -> bool {
        let is_later = self.opening(connection).is_some_and(|opening| opening < arrived);
        !is_later || !(self.are_of_one_request(sides) || self.go_on_after_reply(sides))
    }
}

impl Life {
    const fn pair(&self) -> (IpAddr, Endpoint) {
        (self.sides.client_host, self.sides.server)
    }
}

/// Minimum connections within a request, per one that is not.
const ENOUGH: u64 = 4;
const EXCEPTION: u64 = 20;
/// Minimum connections that go on after a reply; those, and requests that open one, per exception.
const ENOUGH_AFTER: u64 = 3;
const EXCEPTIONS: u64 = 5;
/// Ended connections that decide nothing.
const MAX_UNDECIDED: u64 = 64;
const MAX_OVER: u64 = 256;
const LONG_IDLE: Duration = Duration::from_millis(20);
/// Divisor of a request's time: its connection may work so long after the response, as programs end
/// transactions then.
const LATE: u32 = 8;
/// Requests that may come and go during a connection's life.
const MAX_BETWEEN: usize = 8;
const MAX_ANSWERED: usize = 512;
const MAX_PAIRS: usize = 1_000;
pub(super) const FOREVER: Timestamp = Timestamp::from_nanos(u64::MAX);

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    fn at(microseconds: u64) -> Timestamp {
        Timestamp::from_nanos(microseconds * 1_000)
    }

    fn sides() -> Sides {
        let address = |last| IpAddr::V4(Ipv4Addr::new(10, 0, 0, last));
        let end = |last| Endpoint {
            address: address(last),
            port: 1,
        };
        Sides {
            client: end(2),
            server: end(3),
            client_host: address(2),
            server_host: address(3),
        }
    }

    fn after(connection: impl Fn(&mut Lives, u64, ConnectionId)) -> bool {
        let mut lives = Lives::default();
        for number in 0..10 {
            let from = 10_000 * number;
            let id = ConnectionId(number as u32);
            lives.opened(id, sides(), at(from + 100), true);
            connection(&mut lives, from, id);
        }
        lives.are_of_one_request(&sides())
    }

    #[test]
    fn connections_within_a_request_each_are_of_one() {
        let host = sides().client_host;
        assert!(after(|lives, from, id| {
            lives.worked(id, sides(), (at(from + 100), at(from + 900)), true);
            lives.answered(host, at(from), at(from + 1_000));
            lives.over(id, std::iter::empty());
        }));
    }

    #[test]
    fn connections_that_work_for_longer_than_a_request_are_not() {
        let host = sides().client_host;
        assert!(!after(|lives, from, id| {
            lives.answered(host, at(from), at(from + 1_000));
            lives.worked(id, sides(), (at(from + 100), at(from + 1_900)), true);
            lives.answered(host, at(from + 1_200), at(from + 2_000));
            lives.over(id, std::iter::empty());
        }));
    }

    #[test]
    fn a_request_that_is_never_answered_shows_nothing() {
        let host = sides().client_host;
        assert!(!after(|lives, from, id| {
            for other in 0..20 {
                let arrived = from + 200 + 100 * other;
                lives.answered(host, at(arrived), at(arrived + 90));
            }
            lives.worked(id, sides(), (at(from + 100), at(from + 2_200)), true);
            lives.over(id, std::iter::once((host, at(0))));
        }));
    }
}
