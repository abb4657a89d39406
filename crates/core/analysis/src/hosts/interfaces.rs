//! Finds hosts by the interfaces that captures describe: all addresses of an interface belong to
//! one host.
//!
//! Interfaces of one capture are kept separate: merged files describe several machines.

use model::InterfaceAddresses;
use std::net::IpAddr;

/// The interface that has both addresses; `None` if there is none, or if either address is no
/// evidence:
///
/// 1. Its meaning is local: loopback, link-local, multicast, unspecified.
/// 2. Interfaces with different address lists share it: a container bridge has the same address on many
///    machines.
pub(super) fn with_both(interfaces: &[InterfaceAddresses], one: IpAddr, other: IpAddr) -> Option<&str> {
    let has = |interface: &&InterfaceAddresses, address: IpAddr| {
        interface
            .addresses
            .iter()
            .any(|own| own.to_canonical() == address)
    };
    let found = interfaces
        .iter()
        .find(|interface| has(interface, one) && has(interface, other))?;
    let is_evidence = |address: IpAddr| {
        let mut having = interfaces.iter().filter(|interface| has(interface, address));
        is_of_one_host(address) && having.all(|interface| interface.addresses == found.addresses)
    };
    (is_evidence(one) && is_evidence(other)).then_some(found.name.as_str())
}

fn is_of_one_host(address: IpAddr) -> bool {
    let is_local = match address {
        IpAddr::V4(address) => address.is_link_local() || address.is_broadcast(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    };
    !(is_local || address.is_loopback() || address.is_multicast() || address.is_unspecified())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interface(name: &str, addresses: &[&str]) -> InterfaceAddresses {
        InterfaceAddresses {
            name: name.to_owned(),
            addresses: addresses
                .iter()
                .map(|text| text.parse().expect("an address"))
                .collect(),
        }
    }

    #[test]
    fn only_addresses_of_one_interface_that_no_other_has_are_evidence() {
        let interfaces = [
            interface(
                "eth0",
                &["10.0.0.2", "10.0.0.3", "fd00::2", "169.254.0.1", "127.0.0.1"],
            ),
            interface("eth1", &["10.0.1.2", "172.17.0.1"]),
            interface("ens3", &["10.0.2.2", "172.17.0.1"]),
            interface("ens3", &["10.0.2.2", "172.17.0.1"]),
            interface("wan", &["192.0.2.1", "192.0.2.2"]),
            interface("wan", &["192.0.2.1", "192.0.2.2"]),
        ];
        for (one, other, found) in [
            ("10.0.0.2", "10.0.0.3", Some("eth0")),
            ("fd00::2", "10.0.0.3", Some("eth0")),
            ("10.0.0.2", "169.254.0.1", None),
            ("10.0.0.2", "127.0.0.1", None),
            // Two interfaces, maybe of two machines.
            ("10.0.0.2", "10.0.1.2", None),
            // The same address on two machines.
            ("10.0.1.2", "172.17.0.1", None),
            ("10.0.2.2", "172.17.0.1", None),
            // The same interface, described in two files.
            ("192.0.2.1", "192.0.2.2", Some("wan")),
            ("10.0.0.2", "10.0.0.9", None),
        ] {
            let addresses = [one, other].map(|text| text.parse().expect("an address"));
            assert_eq!(
                with_both(&interfaces, addresses[0], addresses[1]),
                found,
                "{one} {other}"
            );
        }
    }
}
