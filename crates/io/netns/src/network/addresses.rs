//! Addresses of links and routes between hosts, by a tree walk without system calls.

use std::collections::{BTreeSet, VecDeque};
use std::net::Ipv4Addr;
use sys::LiveError;

#[derive(Debug, Clone)]
pub(super) struct Wire {
    pub(super) hosts: [usize; 2],
    pub(super) addresses: [Ipv4Addr; 2],
    pub(super) device: String,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Route {
    pub(super) to: Ipv4Addr,
    pub(super) device: String,
}

#[derive(Debug)]
pub(super) struct Topology {
    block: u32,
    hosts: usize,
    wires: Vec<Wire>,
    routed: BTreeSet<(usize, Ipv4Addr)>,
}

impl Topology {
    pub(super) const fn new(block: u32) -> Self {
        Self {
            block,
            hosts: 0,
            wires: Vec::new(),
            routed: BTreeSet::new(),
        }
    }

    pub(super) const fn add_host(&mut self) {
        self.hosts += 1;
    }

    pub(super) fn wires(&self) -> &[Wire] {
        &self.wires
    }

    /// Of four addresses, the middle two are those of the hosts.
    pub(super) fn add_wire(&mut self, a: usize, b: usize) -> Result<Wire, LiveError> {
        let number = u32::try_from(self.wires.len()).unwrap_or(u32::MAX);
        if number >= BLOCK_ADDRESSES / 4 {
            return Err(LiveError::NoAddressesLeft);
        }
        let base = self.block + number * 4;
        let wire = Wire {
            hosts: [a, b],
            addresses: [Ipv4Addr::from(base + 1), Ipv4Addr::from(base + 2)],
            device: format!("lw{number}"),
        };
        // The device includes the route to its peer.
        self.routed.insert((a, wire.addresses[1]));
        self.routed.insert((b, wire.addresses[0]));
        self.wires.push(wire.clone());
        Ok(wire)
    }

    pub(super) fn hosts_between(&self) -> Vec<usize> {
        let links = |host| {
            self.wires
                .iter()
                .filter(|wire| wire.hosts.contains(&host))
                .count()
        };
        (0..self.hosts).filter(|host| links(*host) > 1).collect()
    }

    /// Returns routes needed since the last link was added, along the fewest links, and marks them
    /// as made.
    pub(super) fn missing_routes(&mut self) -> Vec<(usize, Route)> {
        let mut missing = Vec::new();
        for from in 0..self.hosts {
            for (host, device) in self.first_links(from) {
                for wire in &self.wires {
                    let Some(side) = wire.hosts.iter().position(|end| *end == host) else {
                        continue;
                    };
                    let to = wire.addresses[side];
                    if self.routed.insert((from, to)) {
                        let device = device.clone();
                        missing.push((from, Route { to, device }));
                    }
                }
            }
        }
        missing
    }

    /// The device towards each host reachable from `from`.
    fn first_links(&self, from: usize) -> Vec<(usize, String)> {
        let mut seen = BTreeSet::from([from]);
        let mut found: Vec<(usize, String)> = Vec::new();
        let mut queue: VecDeque<(usize, Option<String>)> = VecDeque::from([(from, None)]);
        while let Some((host, via)) = queue.pop_front() {
            for wire in &self.wires {
                let next = match wire.hosts {
                    [a, b] if a == host => b,
                    [a, b] if b == host => a,
                    _ => continue,
                };
                if seen.insert(next) {
                    let device = via.clone().unwrap_or_else(|| wire.device.clone());
                    found.push((next, device.clone()));
                    queue.push_back((next, Some(device)));
                }
            }
        }
        found
    }
}

/// The first block of 198.18.0.0/15 without a route on this system; RFC 2544 reserves it for
/// measurements. A nested run begins one block further, so that addresses of the outer one stay
/// distinct.
pub(super) fn free_block() -> u32 {
    let taken = std::fs::read_to_string("/proc/thread-self/net/route").unwrap_or_default();
    first_free(&taken, depth())
}

fn depth() -> u32 {
    let text = std::env::var(DEPTH).ok();
    text.and_then(|text| text.parse().ok()).unwrap_or(0)
}

pub fn depth_inside() -> String {
    depth().saturating_add(1).to_string()
}

/// Nesting depth of runs, which have separate addresses.
pub const DEPTH: &str = "LONGWIRE_DEPTH";

fn first_free(routes: &str, depth: u32) -> u32 {
    let taken: Vec<(u32, u32)> = routes.lines().filter_map(prefix).collect();
    let block = |number: u32| RANGE + (number % BLOCKS) * BLOCK_ADDRESSES;
    let overlaps = |start: u32| {
        taken.iter().any(|(address, mask)| {
            let widest = mask & BLOCK_MASK;
            address & widest == start & widest
        })
    };
    (depth..depth.saturating_add(BLOCKS))
        .map(block)
        .find(|start| !overlaps(*start))
        .unwrap_or_else(|| block(depth))
}

/// Parses a line of `/proc/net/route`, in machine byte order. Skips the default route.
fn prefix(line: &str) -> Option<(u32, u32)> {
    let mut fields = line.split_whitespace();
    let number = |text: &str| u32::from_str_radix(text, 16).ok().map(u32::from_be);
    let destination = number(fields.nth(1)?)?;
    let mask = number(fields.nth(5)?)?;
    (mask != 0).then_some((destination, mask))
}

/// The address 198.18.0.0 as a number.
const RANGE: u32 = 0xC612_0000;
const BLOCKS: u32 = 128;
/// Enough for 256 links.
const BLOCK_ADDRESSES: u32 = 1024;
const BLOCK_MASK: u32 = !(BLOCK_ADDRESSES - 1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_hosts_in_a_row_reach_each_other_through_the_middle() {
        let mut topology = Topology::new(RANGE);
        for _ in 0..3 {
            topology.add_host();
        }
        let first = topology.add_wire(0, 1).unwrap();
        assert!(topology.missing_routes().is_empty());
        let second = topology.add_wire(1, 2).unwrap();
        let mut routes = topology.missing_routes();
        routes.sort();
        let route = |host, to, device: &str| {
            (
                host,
                Route {
                    to,
                    device: device.to_owned(),
                },
            )
        };
        let expected = [
            route(0, second.addresses[0], "lw0"),
            route(0, second.addresses[1], "lw0"),
            route(2, first.addresses[0], "lw1"),
            route(2, first.addresses[1], "lw1"),
        ];
        assert_eq!(routes, expected);
        assert!(topology.missing_routes().is_empty());
        assert_eq!(topology.hosts_between(), [1]);
    }

    #[test]
    fn blocks_avoid_what_the_system_routes_and_nested_runs_avoid_outer_ones() {
        let header = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\n";
        let line = |address: [u8; 4], mask: [u8; 4]| {
            let text = |bytes| format!("{:08X}", u32::from_ne_bytes(bytes));
            format!(
                "x\t{}\t00000000\t0001\t0\t0\t0\t{}\t0\t0\t0\n",
                text(address),
                text(mask)
            )
        };
        assert_eq!(first_free(header, 0), RANGE);
        assert_eq!(first_free(header, 3), RANGE + 3 * BLOCK_ADDRESSES);
        let default = line([0; 4], [0; 4]);
        assert_eq!(first_free(&default, 0), RANGE);
        let one = line([198, 18, 0, 2], [255; 4]);
        assert_eq!(first_free(&one, 0), RANGE + BLOCK_ADDRESSES);
        let wide = line([198, 18, 0, 0], [255, 255, 0, 0]);
        assert_eq!(first_free(&wide, 0), RANGE + 0x1_0000);
    }
}
