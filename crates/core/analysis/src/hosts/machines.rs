//! Evidence in packets, beyond addresses, that addresses do or do not belong to one machine.
//!
//! 1. The capturing machine marks packets that it sent (Linux cooked captures): proof that it has
//!    their source addresses.
//! 2. Hop limits and link-layer addresses only exclude: if they differ, the machines differ. Agreement proves
//!    no identity.
//!
//! Captures are inspected separately: several files may come from several machines.

use model::{CapturedAddress, LinkAddress, Origin};
use std::collections::BTreeMap;
use std::net::IpAddr;

/// Maps each address of a capturing machine to one that stands for all. Addresses on which captures
/// disagree (loopback, a container bridge) are left out.
pub(super) fn own(captures: &[Vec<CapturedAddress>]) -> BTreeMap<IpAddr, IpAddr> {
    let sets: Vec<Vec<IpAddr>> = captures.iter().map(|capture| here(capture)).collect();
    let mut own = BTreeMap::new();
    for set in sets.iter().filter(|set| set.len() > 1) {
        let is_everywhere =
            |address: &IpAddr| sets.iter().all(|other| other == set || !other.contains(address));
        let mut agreed = set.iter().filter(|address| is_everywhere(address));
        if let Some(first) = agreed.next() {
            own.extend(agreed.chain([first]).map(|address| (*address, *first)));
        }
    }
    own
}

fn here(capture: &[CapturedAddress]) -> Vec<IpAddr> {
    let here = capture.iter().filter(|one| one.origin == Origin::Here);
    let mut addresses: Vec<IpAddr> = here.map(|one| one.address.to_canonical()).collect();
    addresses.sort_unstable();
    addresses
}

/// Why two addresses are on different machines; `None` if that is not certain.
pub(super) fn excluded(captures: &[Vec<CapturedAddress>], one: IpAddr, other: IpAddr) -> Option<String> {
    captures.iter().find_map(|capture| {
        let of = |address: IpAddr| capture.iter().find(|seen| seen.address.to_canonical() == address);
        differ(of(one)?, of(other)?)
    })
}

/// Returns the first reason that holds:
///
/// 1. The capturing machine sent the packets of one and received those of the other.
/// 2. Their packets begin with different hop limits: other operating systems.
/// 3. They have always passed different numbers of routers.
/// 4. No router has forwarded either's packets, and their link-layer addresses differ in one network segment.
///    A machine with two cards has them in different segments.
///
/// Hop limits of IPv4 and IPv6 are not compared.
fn differ(one: &CapturedAddress, other: &CapturedAddress) -> Option<String> {
    let (first, second) = (one.address, other.address);
    for (mine, foreign) in [(one, other), (other, one)] {
        if mine.origin == Origin::Here && foreign.origin == Origin::Elsewhere {
            let (mine, foreign) = (mine.address, foreign.address);
            return Some(format!(
                "the machine that captured sent the packets of {mine} and received those of {foreign}"
            ));
        }
    }
    if first.is_ipv4() == second.is_ipv4()
        && let (Some(initial), Some(other_initial)) = (one.initial_hop_limit(), other.initial_hop_limit())
        && let (Some((low, high)), Some((other_low, other_high))) = (one.hop_limits, other.hop_limits)
    {
        if initial != other_initial {
            return Some(format!(
                "packets of {first} begin with a hop limit (TTL) of {initial}, those of {second} with {other_initial}"
            ));
        }
        if high < other_low || other_high < low {
            let passed = |hop_limit: u8| model::counted(u64::from(initial - hop_limit), "router", "routers");
            return Some(format!(
                "packets of {first} have passed {}, those of {second} {}, by their hop limits (TTL)",
                passed(high),
                passed(other_high)
            ));
        }
    }
    let (link, other_link) = neighbours(&one.links, &other.links)?;
    Some(format!(
        "in the same network segment packets of {first} come from link-layer address {link}, those of {second} from {other_link}"
    ))
}

/// Two different link-layer addresses in a segment in which each sender has exactly one.
fn neighbours<'a>(
    one: &'a [LinkAddress],
    other: &'a [LinkAddress],
) -> Option<(&'a LinkAddress, &'a LinkAddress)> {
    let alone = |links: &'a [LinkAddress], segment| {
        let mut there = links.iter().filter(move |link| link.segment == segment);
        there.next().filter(|_| there.next().is_none())
    };
    let pairs = one
        .iter()
        .filter_map(|link| Some((alone(one, link.segment)?, alone(other, link.segment)?)));
    pairs.into_iter().find(|(link, other)| link.bytes != other.bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(address: &str, origin: Origin, hop_limits: (u8, u8), links: &[(u32, u8)]) -> CapturedAddress {
        let link = |&(segment, last): &(u32, u8)| LinkAddress {
            segment,
            bytes: [2, 0, 0, 0, 0, last],
        };
        CapturedAddress {
            address: address.parse().expect("an address"),
            origin,
            hop_limits: Some(hop_limits),
            links: links.iter().map(link).collect(),
        }
    }

    #[test]
    fn addresses_that_the_capturing_machine_sends_from_are_one_machine_s() {
        let address = |text: &str| -> IpAddr { text.parse().expect("an address") };
        let here = |addresses: &[&str]| -> Vec<CapturedAddress> {
            let all = addresses.iter().map(|one| seen(one, Origin::Here, (64, 64), &[]));
            all.chain([seen("10.0.9.9", Origin::Elsewhere, (64, 64), &[])])
                .collect()
        };
        let web = here(&["10.0.0.2", "10.0.1.2", "127.0.0.1"]);
        let found = own(std::slice::from_ref(&web));
        assert_eq!(found.len(), 3);
        assert_eq!(found[&address("10.0.1.2")], found[&address("127.0.0.1")]);
        // Two files of one capture agree; those of two machines share loopback.
        assert_eq!(own(&[web.clone(), web.clone()]), found);
        let found = own(&[web, here(&["10.0.0.3", "10.0.1.3", "127.0.0.1"])]);
        assert_eq!(found.len(), 4);
        assert_ne!(found[&address("10.0.0.2")], found[&address("10.0.0.3")]);
        assert!(own(&[here(&["10.0.0.2"])]).is_empty());
    }

    #[test]
    fn hop_limits_and_link_layer_addresses_exclude_where_they_differ_and_never_prove() {
        use Origin::{Elsewhere, Here, Unknown};
        let plain = |hop_limits, links| seen("10.0.0.2", Unknown, hop_limits, links);
        let other = |hop_limits, links| seen("10.0.1.2", Unknown, hop_limits, links);
        for (one, other, reason) in [
            // The same machine, two cards in two segments, one card.
            (plain((64, 64), &[(2, 1)]), other((64, 64), &[(3, 2)]), None),
            (plain((64, 64), &[(2, 1)]), other((64, 64), &[(2, 1)]), None),
            // At a router, which sees packets before and after forwarding.
            (plain((63, 64), &[(2, 1)]), other((63, 64), &[(3, 2)]), None),
            (plain((63, 64), &[]), other((63, 63), &[]), None),
            (
                plain((64, 64), &[]),
                other((128, 128), &[]),
                Some("begin with a hop limit (TTL) of 64, those of 10.0.1.2 with 128"),
            ),
            (
                plain((64, 64), &[]),
                other((62, 62), &[]),
                Some("have passed 0 routers, those of 10.0.1.2 2 routers"),
            ),
            (
                plain((64, 64), &[(2, 1)]),
                other((64, 64), &[(2, 2)]),
                Some("come from link-layer address 02:00:00:00:00:01, those of"),
            ),
            // Several addresses in a segment: a bond, or an address that moved.
            (
                plain((64, 64), &[(2, 1), (2, 3)]),
                other((64, 64), &[(2, 2)]),
                None,
            ),
            (
                seen("10.0.0.2", Here, (64, 64), &[]),
                seen("10.0.1.2", Elsewhere, (64, 64), &[]),
                Some("sent the packets of 10.0.0.2 and received"),
            ),
            (
                seen("10.0.0.2", Elsewhere, (64, 64), &[]),
                seen("10.0.1.2", Elsewhere, (64, 64), &[]),
                None,
            ),
            (
                seen("fd00::2", Unknown, (255, 255), &[]),
                other((64, 64), &[]),
                None,
            ),
        ] {
            let (first, second) = (one.address, other.address);
            let found = excluded(&[vec![one, other]], first, second);
            match reason {
                Some(reason) => assert!(
                    found.as_deref().is_some_and(|found| found.contains(reason)),
                    "{found:?} {reason}"
                ),
                None => assert_eq!(found, None),
            }
        }
    }

    #[test]
    fn what_two_captures_say_is_not_compared() {
        let one = seen("10.0.0.2", Origin::Here, (64, 64), &[]);
        let other = seen("10.0.1.2", Origin::Elsewhere, (128, 128), &[]);
        let (first, second) = (one.address, other.address);
        assert_eq!(excluded(&[vec![one], vec![other]], first, second), None);
    }
}
