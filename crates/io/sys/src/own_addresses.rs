//! Addresses of this machine, in the caller's network namespace, from `/proc/net/fib_trie` and
//! `/proc/net/if_inet6`.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Loopback first, without link-local addresses, which several machines of a network may share.
/// Empty if they cannot be read.
pub fn all() -> Vec<IpAddr> {
    let read = |name: &str| fs::read_to_string(format!("/proc/thread-self/net/{name}")).unwrap_or_default();
    let four = version_4(&read("fib_trie")).into_iter().map(IpAddr::V4);
    let six = version_6(&read("if_inet6")).into_iter().map(IpAddr::V6);
    let mut all: Vec<IpAddr> = four.chain(six).collect();
    all.sort_by_key(|address| !address.is_loopback());
    all.dedup();
    all
}

/// Leaves of a route trie that are local: `|-- 10.0.0.5`, and below it `/32 host LOCAL`.
fn version_4(trie: &str) -> Vec<Ipv4Addr> {
    let mut found = Vec::new();
    let mut leaf: Option<Ipv4Addr> = None;
    for line in trie.lines().map(str::trim) {
        if let Some(address) = line.strip_prefix("|-- ") {
            leaf = address.parse().ok();
        } else if line.starts_with("/32 host LOCAL")
            && let Some(address) = leaf.filter(|address| !address.is_link_local() && !found.contains(address))
        {
            found.push(address);
        }
    }
    found
}

/// From a table of addresses as 32 hexadecimal digits, without link-local ones.
fn version_6(table: &str) -> Vec<Ipv6Addr> {
    let addresses = table.lines().filter_map(|line| {
        let digits = line.split_ascii_whitespace().next()?;
        (digits.len() == 32).then(|| u128::from_str_radix(digits, 16).ok())?
    });
    addresses
        .map(Ipv6Addr::from_bits)
        .filter(|address| !address.is_unicast_link_local())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_those_that_are_delivered_here() {
        let trie = "Main:\n  +-- 0.0.0.0/0 3 0 5\n     |-- 0.0.0.0\n        /0 universe UNICAST\n     |-- 127.0.0.0\n        /8 host LOCAL\n     \
                    |-- 127.0.0.1\n        /32 host LOCAL\n     |-- 192.0.2.0\n        /24 link UNICAST\n     |-- 192.0.2.2\n        \
                    /32 host LOCAL\n     |-- 192.0.2.255\n        /32 link BROADCAST\n     |-- 169.254.1.1\n        /32 host LOCAL\nLocal:\n     \
                    |-- 192.0.2.2\n        /32 host LOCAL\n";
        assert_eq!(
            version_4(trie),
            [Ipv4Addr::LOCALHOST, Ipv4Addr::new(192, 0, 2, 2)]
        );
        let table = "00000000000000000000000000000001 01 80 10 80       lo\nfd000000000000000000000000000002 04 40 00 82     eth0\n\
                     fe8000000000000000fc00fffe000001 04 40 20 80     eth0\n";
        let six: Vec<String> = version_6(table).iter().map(ToString::to_string).collect();
        assert_eq!(six, ["::1", "fd00::2"]);
    }

    #[test]
    fn this_machine_has_a_loopback() {
        assert!(all().first().is_some_and(IpAddr::is_loopback));
    }
}
