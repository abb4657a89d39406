//! Selects the connection to evict at a limit.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};

/// The oldest guest of the network with the most. Guests are numbered by arrival.
pub fn oldest_of_most(guests: impl Iterator<Item = (u64, IpAddr)>) -> Option<u64> {
    let mut crowds = BTreeMap::<IpAddr, (usize, Reverse<u64>)>::new();
    for (number, address) in guests {
        let crowd = crowds.entry(network_of(address)).or_insert((0, Reverse(number)));
        crowd.0 += 1;
        crowd.1 = crowd.1.max(Reverse(number));
    }
    crowds.into_values().max().map(|(_, Reverse(number))| number)
}

/// An IPv4 address, or the /64 network of an IPv6 address. A host gets at least a /64 (RFC 6177,
/// RFC 7084), and may use a new address for each connection.
fn network_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & NETWORK)),
    }
}

const NETWORK: u128 = !0 << 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_of_ipv6_is_one_place() {
        let crowd = (0..10_u64).map(|number| (number, format!("2001:db8::{number:x}")));
        let others = (10..14).map(|number| (number, "192.0.2.1".to_owned()));
        let another = [(14, "2001:db8:0:1::1".to_owned())];
        let guests: Vec<(u64, IpAddr)> = another
            .into_iter()
            .chain(others)
            .chain(crowd)
            .map(|(number, address)| (number, address.parse().expect("an address")))
            .collect();
        assert_eq!(oldest_of_most(guests.iter().copied()), Some(0));
        assert_eq!(
            oldest_of_most(guests.into_iter().filter(|(number, _)| *number > 7)),
            Some(10)
        );
        assert_eq!(oldest_of_most(std::iter::empty()), None);
    }

    #[test]
    fn an_address_of_ipv4_is_the_same_in_ipv6() {
        let mapped = "::ffff:192.0.2.1".parse().expect("an address");
        assert_eq!(
            network_of(mapped),
            "192.0.2.1".parse::<IpAddr>().expect("an address")
        );
    }
}
