//! Machines with any number of addresses.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// A machine as a set of addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    /// Name for display only.
    pub name: String,
    /// At least one address range.
    pub addresses: Vec<AddressRange>,
}

impl Host {
    /// Whether the host has the address.
    pub fn has(&self, address: IpAddr) -> bool {
        self.addresses.iter().any(|range| range.contains(address))
    }
}

/// An interface of the capturing machine; its addresses certainly belong to one host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InterfaceAddresses {
    /// Name for display only.
    pub name: String,
    /// Addresses as recorded in the capture.
    pub addresses: Vec<IpAddr>,
}

/// A source address in a capture, and facts about its machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapturedAddress {
    /// The source address itself.
    pub address: IpAddr,
    /// Whether its machine made the capture.
    pub origin: Origin,
    /// Lowest and highest hop limit of its packets, if known. SYNs and resets do not count, as
    /// middleboxes send them as well.
    pub hop_limits: Option<(u8, u8)>,
    /// Link-layer addresses of packets that passed no router, with their network segments.
    pub links: Vec<LinkAddress>,
}

/// A link-layer address in a network segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinkAddress {
    /// Number of the interface and VLAN.
    pub segment: u32,
    /// The six address bytes.
    pub bytes: [u8; 6],
}

/// Origin of packets, as marked by the capturing machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Origin {
    /// Sent, not only forwarded, by the capturing machine.
    Here,
    /// Sent by another machine or network namespace.
    Elsewhere,
    /// The link layer has no such mark, or marks contradict each other.
    #[default]
    Unknown,
}

impl CapturedAddress {
    /// Initial hop limit, if its packets agree on a usual one (64, 128, 255).
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

/// Initial hop limits of Linux and BSD, Windows, Solaris and routers.
pub const INITIAL_HOP_LIMITS: [u8; 3] = [64, 128, 255];
/// Maximum plausible number of routers.
const MAX_ROUTERS: u8 = 32;

/// All addresses with a common prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddressRange {
    /// Any of its addresses.
    pub address: IpAddr,
    /// Number of leading bits, at most 32 (IPv4) or 128 (IPv6).
    pub prefix: u8,
}

impl AddressRange {
    /// Whether it contains an address; IPv4-mapped addresses are IPv4.
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

/// The text is not a host.
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
            // Two machines behind one address, an unusual hop limit, and none.
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
