//! Connections that live for one request: opened while it is in progress and closed with it, as those of a
//! program that keeps none (PHP).
//!
//! Only the request that such a connection was opened for can own any of its statements. Whether a host's
//! connections to a server are of this kind shows in those that have ended:
//! 1. One that began while requests were in flight, and worked clearly longer than each of them, is not.
//! 2. One that lay within a request is, unless many requests came and went meanwhile: then the request that
//!    it lay within is only a long one.

use super::Sides;
use model::{ConnectionId, ConnectionMap, Endpoint, Timestamp};
use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;

/// How long connections to databases live.
#[derive(Debug, Default)]
pub(super) struct Lives {
    /// Open connections whose opening was seen.
    open: ConnectionMap<Life>,
    /// By the host that opens them and the server.
    ended: HashMap<(IpAddr, Endpoint), Ended>,
    /// The host of each of the requests that were answered last, when it arrived and when its reply ended.
    answered: VecDeque<(IpAddr, Timestamp, Timestamp)>,
}

#[derive(Debug, Clone, Copy)]
struct Life {
    sides: Sides,
    opened: Timestamp,
    /// When its last exchange ended.
    worked: Timestamp,
    /// It has said goodbye; the end of its packets is certain only much later.
    is_over: bool,
}

/// Connections that have ended: which lay within a request, and which were open for longer than any.
#[derive(Debug, Default)]
struct Ended {
    within_one: u64,
    others: u64,
}

impl Lives {
    /// A connection was opened.
    pub(super) fn opened(&mut self, connection: ConnectionId, sides: Sides, at: Timestamp) {
        let life = Life {
            sides,
            opened: at,
            worked: at,
            is_over: false,
        };
        self.open.insert(connection, life);
    }

    /// When an open connection was opened, if that was seen.
    pub(super) fn opening(&self, connection: ConnectionId) -> Option<Timestamp> {
        self.open.get(&connection).map(|life| life.opened)
    }

    /// An exchange of a connection ended.
    pub(super) fn worked(&mut self, connection: ConnectionId, until: Timestamp) {
        if let Some(life) = self.open.get_mut(&connection) {
            life.worked = life.worked.max(until);
        }
    }

    /// The reply to a request is over.
    pub(super) fn answered(&mut self, host: IpAddr, arrived: Timestamp, ended: Timestamp) {
        if self.answered.len() >= MAX_ANSWERED {
            self.answered.pop_front();
        }
        self.answered.push_back((host, arrived, ended));
    }

    /// A connection has ended.
    pub(super) fn closed(
        &mut self,
        connection: ConnectionId,
        under_way: impl Iterator<Item = (IpAddr, Timestamp)>,
    ) {
        self.over(connection, under_way);
        self.open.remove(&connection);
    }

    /// A connection does no more; `under_way` are the hosts and arrivals of requests whose replies have not
    /// ended.
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

    /// Whether connections between these sides live for one request each.
    pub(super) fn are_of_one_request(&self, sides: &Sides) -> bool {
        let ended = self.ended.get(&(sides.client_host, sides.server));
        ended.is_some_and(|ended| ended.within_one >= ENOUGH.max(ended.others.saturating_mul(EXCEPTION)))
    }

    /// Whether a statement on a connection may be for a request that arrived at `arrived`.
    pub(super) fn may_be_for(&self, connection: ConnectionId, sides: &Sides, arrived: Timestamp) -> bool {
        let is_later = self.opening(connection).is_some_and(|opening| opening < arrived);
        !is_later || !self.are_of_one_request(sides)
    }
}

/// Connections that have to lie within a request, and for each that does not, before it is said of all.
const ENOUGH: u64 = 4;
const EXCEPTION: u64 = 20;
/// A connection may work for this part of its request's time after the response: programs end their
/// transactions then.
const LATE: u32 = 8;
/// Requests that may come and go while a connection that is one request's is open.
const MAX_BETWEEN: usize = 8;
const MAX_ANSWERED: usize = 512;
const MAX_PAIRS: usize = 1_000;
/// The end of a request that is in flight.
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

    /// Whether connections live for one request each, after ten with a request each.
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
