//! The link layers. A new one is one row in [`LINKS`] and the function that finds its IP packet.
//!
//! Numbers: <https://www.tcpdump.org/linktypes.html>.

use crate::formats::{u16_at, u32_at};

/// One link layer.
#[derive(Debug)]
pub(crate) struct Link {
    /// Numbers it goes by in capture files.
    pub numbers: &'static [u16],
    /// The words for it in reports.
    pub name: &'static str,
    /// Finds the IP packet in a frame; absent when there is none (ARP, LLDP) or the frame is cut before it.
    pub network: fn(&[u8]) -> Option<Found<'_>>,
}

/// What a link layer carries.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Found<'a> {
    /// From the first byte of the IP header to the end of what was captured.
    pub packet: &'a [u8],
    /// Number of the interface where the link layer tells it; 0 elsewhere.
    pub interface: u32,
}

/// All link layers longwire reads.
pub(crate) static LINKS: &[Link] = &[
    Link {
        numbers: &[1],
        name: "Ethernet",
        network: ethernet,
    },
    Link {
        numbers: &[113],
        name: "Linux cooked",
        network: linux_cooked,
    },
    Link {
        numbers: &[276],
        name: "Linux cooked v2",
        network: linux_cooked_2,
    },
    Link {
        numbers: &[101, 12, 14],
        name: "raw IP",
        network: raw,
    },
    Link {
        numbers: &[228],
        name: "raw IPv4",
        network: raw,
    },
    Link {
        numbers: &[229],
        name: "raw IPv6",
        network: raw,
    },
    Link {
        numbers: &[0],
        name: "BSD null",
        network: loopback,
    },
    Link {
        numbers: &[108],
        name: "BSD loopback",
        network: loopback,
    },
];

/// The link layer of that number.
pub(crate) fn find(number: u16) -> Option<&'static Link> {
    LINKS.iter().find(|link| link.numbers.contains(&number))
}

fn ethernet(frame: &[u8]) -> Option<Found<'_>> {
    network(u16_at(frame, 12, true)?, frame.get(14..)?)
}

fn linux_cooked(frame: &[u8]) -> Option<Found<'_>> {
    network(u16_at(frame, 14, true)?, frame.get(16..)?)
}

fn linux_cooked_2(frame: &[u8]) -> Option<Found<'_>> {
    let found = network(u16_at(frame, 0, true)?, frame.get(20..)?)?;
    Some(Found {
        interface: u32_at(frame, 4, true)?,
        ..found
    })
}

fn raw(frame: &[u8]) -> Option<Found<'_>> {
    Some(Found {
        packet: frame,
        interface: 0,
    })
}

/// The address family is in the byte order of the capturing host for BSD null, big endian for BSD loopback, and
/// IPv6 has another number on every BSD: whichever order gives a known one.
fn loopback(frame: &[u8]) -> Option<Found<'_>> {
    let known = |big| matches!(u32_at(frame, 0, big), Some(2 | 10 | 24 | 28 | 30));
    let packet = frame.get(4..)?;
    (known(false) || known(true)).then_some(Found { packet, interface: 0 })
}

/// What follows an EtherType, through any VLAN tags.
#[inline]
fn network(mut ether_type: u16, mut rest: &[u8]) -> Option<Found<'_>> {
    for _ in 0..MAX_TAGS {
        match ether_type {
            IPV4 | IPV6 => {
                return Some(Found {
                    packet: rest,
                    interface: 0,
                });
            }
            0x8100 | 0x88a8 | 0x9100 | 0x9200 => {
                ether_type = u16_at(rest, 2, true)?;
                rest = rest.get(4..)?;
            }
            _ => return None,
        }
    }
    None
}

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
/// VLAN tags passed at most; two are usual for QinQ.
const MAX_TAGS: usize = 8;
