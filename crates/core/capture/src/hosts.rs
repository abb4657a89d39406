//! Round trips to hosts, collected over all their connections, for connections without samples.
//!
//! A connection that was open before the capture has no handshake. While its acknowledgements
//! travel with replies, it has no round trip of its own; its hosts still do.

use crate::ip::Address;
use crate::key::KeyHasher;
use model::{ConnectionEvent, RttSource, Side, Timestamp};
use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::net::IpAddr;
use std::time::Duration;

#[derive(Default)]
pub(crate) struct Hosts {
    /// Numbers of pairs, by the lower and the higher address.
    numbers: HashMap<(Address, Address), u32, BuildHasherDefault<KeyHasher>>,
    pairs: Vec<Pair>,
}

struct Pair {
    loopback: bool,
    awaited: bool,
    known: [Known; 2],
}

#[derive(Debug, Clone, Copy, Default)]
struct Known {
    sampled: Option<Duration>,
    /// From payload to any acknowledgement of it.
    fastest: Option<Duration>,
    answers: u32,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct HostPair {
    pair: u32,
    client_is_high: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Estimate {
    pub rtt: Duration,
    pub source: RttSource,
}

impl Hosts {
    /// `None` if there are too many pairs.
    pub fn pair_hosts(&mut self, client: Address, server: Address) -> Option<HostPair> {
        let client_is_high = client.bits > server.bits;
        let (low, high) = if client_is_high {
            (server, client)
        } else {
            (client, server)
        };
        let pair = match self.numbers.get(&(low, high)) {
            Some(number) => *number,
            None if self.pairs.len() >= MAX_PAIRS => return None,
            None => {
                let number = self.pairs.len() as u32;
                self.numbers.insert((low, high), number);
                self.pairs.push(Pair {
                    loopback: is_loopback(low, high),
                    awaited: false,
                    known: [Known::default(); 2],
                });
                number
            }
        };
        Some(HostPair { pair, client_is_high })
    }

    pub fn sampled(&mut self, host_pair: HostPair, side: Side, rtt: Duration) {
        let known = self.known_mut(host_pair, side);
        known.sampled = shorter(known.sampled, rtt);
    }

    /// Payload to one side was acknowledged by any packet after `span`.
    pub fn answered(&mut self, host_pair: HostPair, side: Side, span: Duration) {
        let known = self.known_mut(host_pair, side);
        known.fastest = shorter(known.fastest, span);
        known.answers = known.answers.saturating_add(1);
    }

    /// Estimates the round trip to one side of a connection. The first condition that applies
    /// decides:
    ///
    /// 1. Another connection between the hosts had a sample: that, or a faster reply.
    /// 2. Both hosts are this machine: zero.
    /// 3. At most the fastest reply. It is reported for both sides, because the server's side may only become
    ///    known later.
    pub fn estimate(&self, host_pair: HostPair, side: Side) -> Option<Estimate> {
        let pair = &self.pairs[host_pair.pair as usize];
        let known = pair.known[host_pair.index(side)];
        let (rtt, source) = match (known.sampled, known.fastest) {
            (Some(sampled), fastest) => (
                fastest.map_or(sampled, |fastest| fastest.min(sampled)),
                RttSource::SameHosts,
            ),
            (None, _) if pair.loopback => (Duration::ZERO, RttSource::Loopback),
            (None, Some(fastest)) => (fastest, RttSource::FastestReply),
            (None, None) => return None,
        };
        Some(Estimate { rtt, source })
    }

    /// Whether further waiting would hardly change the estimate of the server's side.
    pub fn is_settled(&self, host_pair: HostPair) -> bool {
        let pair = &self.pairs[host_pair.pair as usize];
        let known = pair.known[host_pair.index(Side::Server)];
        pair.loopback || known.sampled.is_some() || known.answers >= ENOUGH_ANSWERS
    }

    /// Whether to wait for the hosts of a connection: they are unknown, and no connection waited
    /// before.
    pub fn wait_once(&mut self, host_pair: HostPair) -> bool {
        let wait = !self.is_settled(host_pair);
        !std::mem::replace(&mut self.pairs[host_pair.pair as usize].awaited, true) && wait
    }

    fn known_mut(&mut self, host_pair: HostPair, side: Side) -> &mut Known {
        &mut self.pairs[host_pair.pair as usize].known[host_pair.index(side)]
    }
}

impl HostPair {
    fn index(self, side: Side) -> usize {
        usize::from((side == Side::Client) == self.client_is_high)
    }
}

impl Estimate {
    pub fn event(self, side: Side, at: Timestamp) -> ConnectionEvent<'static> {
        ConnectionEvent::AssumedRoundTrip {
            at,
            side,
            rtt: self.rtt,
            source: self.source,
        }
    }

    pub fn all(
        hosts: &Hosts,
        host_pair: HostPair,
        at: Timestamp,
    ) -> impl Iterator<Item = ConnectionEvent<'static>> {
        Side::ALL
            .into_iter()
            .filter_map(move |side| Some(hosts.estimate(host_pair, side)?.event(side, at)))
    }
}

fn shorter(known: Option<Duration>, span: Duration) -> Option<Duration> {
    Some(known.map_or(span, |known| known.min(span)))
}

fn is_loopback(low: Address, high: Address) -> bool {
    low == high || (IpAddr::from(low).is_loopback() && IpAddr::from(high).is_loopback())
}

/// They take about 6 MB.
const MAX_PAIRS: usize = 65_536;
/// Minimum number of replies whose fastest stands for the round trip.
const ENOUGH_ANSWERS: u32 = 100;

#[cfg(test)]
mod tests {
    use super::*;

    fn address(bits: u128) -> Address {
        Address { bits, six: false }
    }

    fn us(count: u64) -> Duration {
        Duration::from_micros(count)
    }

    #[test]
    fn each_side_has_its_own_round_trip_whichever_address_is_the_lower() {
        for (client, server) in [(10, 20), (20, 10)] {
            let mut hosts = Hosts::default();
            let host_pair = hosts.pair_hosts(address(client), address(server)).expect("room");
            hosts.sampled(host_pair, Side::Client, us(5));
            hosts.sampled(host_pair, Side::Server, us(900));
            let reverse = hosts.pair_hosts(address(server), address(client)).expect("room");
            let rtt = |host_pair, side| hosts.estimate(host_pair, side).map(|estimate| estimate.rtt);
            assert_eq!(rtt(host_pair, Side::Client), Some(us(5)));
            assert_eq!(rtt(host_pair, Side::Server), Some(us(900)));
            assert_eq!(rtt(reverse, Side::Client), Some(us(900)));
        }
    }

    #[test]
    fn a_fastest_answer_bounds_until_a_sample_is_there() {
        let mut hosts = Hosts::default();
        let host_pair = hosts.pair_hosts(address(1), address(2)).expect("room");
        hosts.answered(host_pair, Side::Server, us(400));
        hosts.answered(host_pair, Side::Server, us(300));
        assert!(!hosts.is_settled(host_pair));
        assert_eq!(
            hosts.estimate(host_pair, Side::Server),
            Some(Estimate {
                rtt: us(300),
                source: RttSource::FastestReply
            })
        );
        hosts.sampled(host_pair, Side::Server, us(350));
        assert!(hosts.is_settled(host_pair));
        assert_eq!(
            hosts.estimate(host_pair, Side::Server),
            Some(Estimate {
                rtt: us(300),
                source: RttSource::SameHosts
            })
        );
    }

    #[test]
    fn loopback_has_no_distance_but_what_was_seen() {
        let mut hosts = Hosts::default();
        let home = address(u128::from(u32::from_be_bytes([127, 0, 0, 1])));
        let host_pair = hosts.pair_hosts(home, home).expect("room");
        hosts.answered(host_pair, Side::Server, us(60));
        let estimate = hosts.estimate(host_pair, Side::Server).expect("known");
        assert_eq!((estimate.rtt, estimate.source), (us(0), RttSource::Loopback));
        let away = hosts.pair_hosts(address(9), home).expect("room");
        assert_eq!(hosts.estimate(away, Side::Server), None);
    }
}
