//! Decides which side of a connection is the server if there is no handshake.

use crate::ip::Address;
use model::Protocol;
use std::collections::HashSet;

#[derive(Default)]
pub(crate) struct Servers {
    known: HashSet<(Address, u16)>,
}

impl Servers {
    pub fn add(&mut self, address: Address, port: u16) {
        if self.known.len() < MAX_KNOWN {
            self.known.insert((address, port));
        }
    }

    /// Whether the first endpoint is more likely the server than the second. The first condition
    /// that distinguishes them decides:
    ///
    /// 1. an endpoint that was the server of another connection, seen from its handshake on;
    /// 2. a port of a database, a proxy or HTTP ([`is_well_known`]);
    /// 3. a port below 1024 (IANA's system ports);
    /// 4. a port below 32768 (below Linux's ephemeral range);
    /// 5. a port that ends with a well-known port's four digits, as containers and test servers have (55432);
    /// 6. the lower port.
    pub fn first_is_server(&self, first: (Address, u16), second: (Address, u16)) -> bool {
        let rank =
            |endpoint: (Address, u16)| (!self.known.contains(&endpoint), class(endpoint.1), endpoint.1);
        rank(first) < rank(second)
    }
}

fn class(port: u16) -> u8 {
    match port {
        _ if is_well_known(port) => 0,
        0..1024 => 1,
        1024..32_768 => 2,
        _ if is_well_known(port % 10_000) => 3,
        _ => 4,
    }
}

/// More than captures have, and a limit for scans.
const MAX_KNOWN: usize = 4096;

fn is_well_known(port: u16) -> bool {
    let is_of = |protocol: &Protocol| protocol.facts().ports.contains(&port);
    NOT_DECODED.contains(&port) || Protocol::ALL.iter().any(is_of)
}

/// Ports of databases that are not decoded, and of proxies.
static NOT_DECODED: &[u16] = &[
    2484, 3050, 4333, 5000, 5236, 6446, 6447, 8888, 9042, 11211, 15432, 27017, 30015, 33060,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_condition_in_its_turn() {
        let address = Address { bits: 1, six: false };
        let mut servers = Servers::default();
        let server = |servers: &Servers, first: u16, second: u16| {
            assert_ne!(
                servers.first_is_server((address, first), (address, second)),
                servers.first_is_server((address, second), (address, first))
            );
            if servers.first_is_server((address, first), (address, second)) {
                first
            } else {
                second
            }
        };
        assert_eq!(server(&servers, 5432, 22), 5432);
        assert_eq!(server(&servers, 2000, 22), 22);
        assert_eq!(server(&servers, 40_000, 20_000), 20_000);
        assert_eq!(server(&servers, 49_034, 55_432), 55_432);
        assert_eq!(server(&servers, 49_034, 49_035), 49_034);
        servers.add(address, 49_035);
        assert_eq!(server(&servers, 5432, 49_035), 49_035);
    }
}
