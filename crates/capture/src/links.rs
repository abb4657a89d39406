//! The link layers. A new one is one row in [`LINKS`] and the function that finds its IP packet.
//!
//! Numbers: <https://www.tcpdump.org/linktypes.html>.

use crate::formats::{u16_at, u32_at};

/// One link layer.
#[derive(Debug)]
pub(crate) struct Link {
    /// Its numbers in capture files.
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
    /// Number of the interface where the link layer contains it; 0 elsewhere.
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

/// An Ethernet frame, by itself or carried in another packet.
pub(crate) fn ethernet(frame: &[u8]) -> Option<Found<'_>> {
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

/// What follows a stack of MPLS labels (RFC 3032): the labels do not say, so the first four bits have to decide. A pseudowire
/// carries Ethernet frames behind a control word that begins with 0 (RFC 4448), or without one.
pub(crate) fn mpls(mut labels: &[u8]) -> Option<Found<'_>> {
    for _ in 0..MAX_TAGS {
        let is_last = labels.get(2)? & 1 != 0;
        labels = labels.get(4..)?;
        if !is_last {
            continue;
        }
        let plain = |frame: &'_ [u8]| matches!(u16_at(frame, 12, true), Some(IPV4 | IPV6 | 0x8100 | 0x88a8));
        return match labels.first()? >> 4 {
            4 | 6 => Some(Found {
                packet: labels,
                interface: 0,
            }),
            0 => labels.get(4..).filter(|frame| plain(frame)).and_then(ethernet),
            _ => Some(labels).filter(|frame| plain(frame)).and_then(ethernet),
        };
    }
    None
}

/// What follows an EtherType, through any VLAN tags, MPLS labels and PPPoE (RFC 2516).
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
            0x8847 | 0x8848 => return mpls(rest),
            0x8864 if matches!(u16_at(rest, 6, true), Some(0x0021 | 0x0057)) => {
                return Some(Found {
                    packet: rest.get(8..)?,
                    interface: 0,
                });
            }
            _ => return None,
        }
    }
    None
}

pub(crate) const IPV4: u16 = 0x0800;
pub(crate) const IPV6: u16 = 0x86dd;
/// EtherTypes of MPLS: for one receiver, for several.
pub(crate) const MPLS: [u16; 2] = [0x8847, 0x8848];
/// VLAN tags skipped at most; two are usual for QinQ.
const MAX_TAGS: usize = 8;
