//! Hosts: machines, whichever addresses they have.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// A machine: a set of addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    /// Its name, for people.
    pub name: String,
    /// Its addresses; at least one.
    pub addresses: Vec<AddressRange>,
}

impl Host {
    /// Whether an address is one of its.
    pub fn has(&self, address: IpAddr) -> bool {
        self.addresses.iter().any(|range| range.contains(address))
    }
}

/// A network interface of the machine that captured, with addresses that are certainly one host's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InterfaceAddresses {
    /// Its name, for people.
    pub name: String,
    /// Its addresses, as the capture states them.
    pub addresses: Vec<IpAddr>,
}

/// An address that packets of a capture come from, and what they say about its machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapturedAddress {
    /// The address.
    pub address: IpAddr,
    /// Whether its machine is the one that captured.
    pub origin: Origin,
    /// The lowest and the highest hop limit (IPv4: time to live) of its packets, as they passed. `None` if
    /// none of them shows it: a middlebox may answer SYNs and send resets with a hop limit of its own.
    pub hop_limits: Option<(u8, u8)>,
    /// The link-layer addresses of packets that no router passed on, each with the network segment it was
    /// seen in.
    pub links: Vec<LinkAddress>,
}

/// A link-layer address in a network segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinkAddress {
    /// A number that stands for the interface, and the VLAN, in which it was seen.
    pub segment: u32,
    /// The six bytes.
    pub bytes: [u8; 6],
}

/// Where packets come from, as the capturing machine marked them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Origin {
    /// The machine that captured sent them, and did not only pass them on.
    Here,
    /// Another machine, or another network namespace of this one.
    Elsewhere,
    /// The link layer has no such mark, or the marks contradict each other.
    #[default]
    Unknown,
}

impl CapturedAddress {
    /// The hop limit that its packets began with; `None` if they do not agree on one of the usual ones (64,
    /// 128, 255).
    pub fn initial_hop_limit(&self) -> Option<u8> {
        let of = |seen: u8| {
            let initial = INITIAL_HOP_LIMITS.iter().find(|initial| **initial >= seen)?;
            (initial - seen < MAX_ROUTERS).then_some(*initial)
        };
        let (low, high) = self.hop_limits?;
        of(low).filter(|initial| of(high) == Some(*initial))
    }
}

impl fmt::Display for LinkAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [first, rest @ ..] = self.bytes;
        write!(formatter, "{first:02x}")?;
        rest.iter().try_for_each(|byte| write!(formatter, ":{byte:02x}"))
    }
}

/// Hop limits that packets begin with: Linux and BSD, Windows, Solaris and routers.
pub const INITIAL_HOP_LIMITS: [u8; 3] = [64, 128, 255];
/// More routers than this are between no two hosts.
const MAX_ROUTERS: u8 = 32;

/// A network: all addresses that begin as one does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddressRange {
    /// One of them.
    pub address: IpAddr,
    /// How many of its leading bits count: at most 32 for IPv4, 128 for IPv6; then it is the only one.
    pub prefix: u8,
}

impl AddressRange {
    /// Whether an address is in it. IPv4 addresses written as IPv6 are IPv4's.
    pub fn contains(self, address: IpAddr) -> bool {
        let (mine, other) = (self.address.to_canonical(), address.to_canonical());
        match (mine, other) {
            (IpAddr::V4(mine), IpAddr::V4(other)) => {
                let differ = u32::from(mine) ^ u32::from(other);
                differ.leading_zeros() >= u32::from(self.prefix)
            }
            (IpAddr::V6(mine), IpAddr::V6(other)) => {
                let differ = u128::from(mine) ^ u128::from(other);
                differ.leading_zeros() >= u32::from(self.prefix)
            }
            _ => false,
        }
    }
}

/// A text that is no host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseHostError(String);

impl fmt::Display for ParseHostError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "'{}' is no host: write NAME=ADDRESS,ADDRESS/PREFIX, such as web=10.0.0.5,172.17.0.0/16",
            self.0
        )
    }
}

impl std::error::Error for ParseHostError {}

impl FromStr for Host {
    type Err = ParseHostError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let fault = || ParseHostError(text.to_owned());
        let (name, addresses) = text.split_once('=').ok_or_else(fault)?;
        let addresses: Option<Vec<AddressRange>> = addresses.split(',').map(range).collect();
        match addresses {
            Some(addresses) if !name.trim().is_empty() => Ok(Self {
                name: name.trim().to_owned(),
                addresses,
            }),
            _ => Err(fault()),
        }
    }
}

fn range(text: &str) -> Option<AddressRange> {
    let (address, prefix) = match text.trim().split_once('/') {
        Some((address, prefix)) => (address, Some(prefix.parse::<u8>().ok()?)),
        None => (text.trim(), None),
    };
    let address: IpAddr = address.parse().ok()?;
    let most = if address.is_ipv4() { 32 } else { 128 };
    let prefix = prefix.unwrap_or(most);
    (prefix <= most).then_some(AddressRange { address, prefix })
}

impl fmt::Display for Host {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}=", self.name)?;
        for (index, range) in self.addresses.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            write!(formatter, "{comma}{}/{}", range.address, range.prefix)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_has_its_addresses_and_networks() {
        let host: Host = "web=10.0.0.5, 172.17.0.0/16,fd00::/8".parse().expect("a host");
        for (address, is_of_it) in [
            ("10.0.0.5", true),
            ("10.0.0.6", false),
            ("172.17.255.1", true),
            ("172.18.0.1", false),
            ("::ffff:172.17.0.9", true),
            ("fd12::1", true),
            ("fe80::1", false),
        ] {
            assert_eq!(
                host.has(address.parse().expect("an address")),
                is_of_it,
                "{address}"
            );
        }
        assert_eq!(host.to_string().parse(), Ok(host));
    }

    #[test]
    fn an_initial_hop_limit_is_the_next_usual_one_that_all_packets_agree_on() {
        for (seen, initial) in [
            (Some((64, 64)), Some(64)),
            (Some((61, 63)), Some(64)),
            (Some((128, 128)), Some(128)),
            (Some((120, 120)), Some(128)),
            (Some((254, 255)), Some(255)),
            // Two machines behind one address, a hop limit that nothing begins with, and none.
            (Some((63, 127)), None),
            (Some((200, 200)), None),
            (Some((30, 30)), None),
            (None, None),
        ] {
            let captured = CapturedAddress {
                address: "10.0.0.1".parse().expect("an address"),
                origin: Origin::Unknown,
                hop_limits: seen,
                links: Vec::new(),
            };
            assert_eq!(captured.initial_hop_limit(), initial, "{seen:?}");
        }
    }

    #[test]
    fn what_is_no_host_is_refused() {
        for bad in [
            "",
            "web",
            "=10.0.0.1",
            "web=",
            "web=10.0.0.1/33",
            "web=10.0.0",
            "web=10.0.0.1,,",
        ] {
            assert!(bad.parse::<Host>().is_err(), "{bad}");
        }
    }
}
