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
