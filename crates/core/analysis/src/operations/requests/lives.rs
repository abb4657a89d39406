//! Connections that live for one request, opened and closed within it, as of a program without
//! persistent connections (PHP).
//!
//! Only the request it was opened for can own the connection's statements. The ended connections
//! between a host and a server decide for all:
//! 1. A connection that began during requests and worked clearly longer than each of them is not of
//!    this kind.
//! 2. A connection within a request is, unless many requests came and went meanwhile: then the enclosing
//!    request is just long.

use super::super::member::Sides;
use model::{ConnectionId, ConnectionMap, Endpoint, Timestamp};
use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;

#[derive(Debug, Default)]
pub(super) struct Lives {
    open: ConnectionMap<Life>,
    ended: HashMap<(IpAddr, Endpoint), Ended>,
    /// Of recently answered requests: host, arrival, end of the reply.
    answered: VecDeque<(IpAddr, Timestamp, Timestamp)>,
}

#[derive(Debug, Clone, Copy)]
struct Life {
    sides: Sides,
    opened: Timestamp,
    worked: Timestamp,
    /// It said goodbye, but the end of its packets is certain only much later.
    is_over: bool,
}

/// Connections that ended within a request, and those open for longer than any.
#[derive(Debug, Default)]
struct Ended {
    within_one: u64,
    others: u64,
}

impl Lives {
    pub(super) fn opened(&mut self, connection: ConnectionId, sides: Sides, at: Timestamp) {
        let life = Life {
            sides,
            opened: at,
            worked: at,
            is_over: false,
        };
        self.open.insert(connection, life);
    }

    pub(super) fn opening(&self, connection: ConnectionId) -> Option<Timestamp> {
        self.open.get(&connection).map(|life| life.opened)
    }

    pub(super) fn worked(&mut self, connection: ConnectionId, until: Timestamp) {
        if let Some(life) = self.open.get_mut(&connection) {
            life.worked = life.worked.max(until);
        }
    }

    pub(super) fn answered(&mut self, host: IpAddr, arrived: Timestamp, ended: Timestamp) {
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
            sides,
            opened,
            worked,
            ..
        } = *life;
        let host = sides.client_host;
        let of_host = |request: &&(IpAddr, Timestamp, Timestamp)| request.0 == host;
        let answered = self.answered.iter().filter(of_host);
        let holding = answered
            .clone()
            .filter(|(_, arrived, ended)| *arrived <= opened && opened <= *ended)
            .map(|(_, _, ended)| *ended);
        let goes_on = under_way.filter(|(of, arrived)| *of == host && *arrived <= opened);
        let held = holding.chain(goes_on.map(|_| FOREVER)).max();
        let between = answered.filter(|(_, arrived, ended)| *arrived > opened && *ended < worked);
        let is_known = self.ended.len() < MAX_PAIRS || self.ended.contains_key(&(host, sides.server));
        if let Some(held) = held.filter(|_| is_known && worked > opened) {
            let ended = self.ended.entry((host, sides.server)).or_default();
            if held.after(held.since(opened) / LATE) < worked {
                ended.others += 1;
            } else if between.count() <= MAX_BETWEEN {
                ended.within_one += 1;
            }
        }
    }

    pub(super) fn are_of_one_request(&self, sides: &Sides) -> bool {
        let ended = self.ended.get(&(sides.client_host, sides.server));
        ended.is_some_and(|ended| ended.within_one >= ENOUGH.max(ended.others.saturating_mul(EXCEPTION)))
    }

    pub(super) fn may_be_for(&self, connection: ConnectionId, sides: &Sides, arrived: Timestamp) -> bool {
        let is_later = self.opening(connection).is_some_and(|opening| opening < arrived);
        !is_later || !self.are_of_one_request(sides)
    }
}

/// Minimum connections within a request, per one that is not.
const ENOUGH: u64 = 4;
const EXCEPTION: u64 = 20;
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
            lives.opened(id, sides(), at(from + 100));
            connection(&mut lives, from, id);
        }
        lives.are_of_one_request(&sides())
    }

    #[test]
    fn connections_within_a_request_each_are_of_one() {
        let host = sides().client_host;
        assert!(after(|lives, from, id| {
            lives.worked(id, at(from + 900));
            lives.answered(host, at(from), at(from + 1_000));
            lives.over(id, std::iter::empty());
        }));
    }

    #[test]
    fn connections_that_work_for_longer_than_a_request_are_not() {
        let host = sides().client_host;
        assert!(!after(|lives, from, id| {
            lives.answered(host, at(from), at(from + 1_000));
            lives.worked(id, at(from + 1_900));
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
            lives.worked(id, at(from + 2_200));
            lives.over(id, std::iter::once((host, at(0))));
        }));
    }
}
