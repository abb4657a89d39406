//! Packets within packets: tunnels between the hosts of a data centre, and copies that a switch sends to an observer. One
//! level is opened; a new one is one row in [`OVER_IP`] or [`OVER_UDP`] and the function that finds what it carries.

use crate::formats::u16_at;
use crate::ip::Datagram;
use crate::links::{self, IPV4, IPV6, MPLS};

/// What a packet that is not TCP carries.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Inside<'a> {
    /// What it is carried in.
    pub name: &'static str,
    /// The IP packet inside; absent where there is none, or it cannot be determined.
    pub packet: Option<&'a [u8]>,
}

/// A way of carrying packets.
struct Encapsulation {
    /// Number of the IP protocol, or destination port of UDP.
    numbers: &'static [u16],
    name: &'static str,
    open: Open,
}

/// The IP packet in a payload, or a better name where it is known why there is none to be found.
type Open = fn(&[u8]) -> Result<Option<&[u8]>, &'static str>;

static OVER_IP: &[Encapsulation] = &[
    row(&[47], "GRE", gre),
    row(&[4, 41], "IP in IP", packet),
    row(&[137], "MPLS", labels),
    row(&[50], "IPsec (encrypted)", encrypted),
];

static OVER_UDP: &[Encapsulation] = &[
    row(&[4789, 8472], "VXLAN", vxlan),
    row(&[6081], "Geneve", geneve),
    row(&[6635], "MPLS", labels),
    row(&[4500], "IPsec (encrypted)", ipsec_over_udp),
];

const fn row(numbers: &'static [u16], name: &'static str, open: Open) -> Encapsulation {
    Encapsulation { numbers, name, open }
}

/// What an IP packet carries, when that is one of these encapsulations.
pub(crate) fn inside<'a>(datagram: &Datagram<'a>) -> Option<Inside<'a>> {
    let is_udp = datagram.protocol == UDP;
    let (rows, number) = match is_udp {
        true if datagram.fragment.is_some_and(|place| place.offset > 0) => return None,
        true => (OVER_UDP, u16_at(datagram.payload, 2, true)?),
        false => (OVER_IP, u16::from(datagram.protocol)),
    };
    let found = rows.iter().find(|row| row.numbers.contains(&number))?;
    // Fragments of a tunnel's packet are not put together: the tunnel's MTU is to be such that there are none.
    let payload = match datagram.fragment {
        Some(_) => None,
        None => datagram.payload.get(if is_udp { UDP_HEADER } else { 0 }..),
    };
    let opened = payload.map_or(Ok(None), found.open);
    Some(Inside {
        name: opened.err().unwrap_or(found.name),
        packet: opened.ok().flatten(),
    })
}

fn packet(payload: &[u8]) -> Result<Option<&[u8]>, &'static str> {
    Ok(Some(payload))
}

fn labels(payload: &[u8]) -> Result<Option<&[u8]>, &'static str> {
    Ok(mpls(payload))
}

fn encrypted(_: &[u8]) -> Result<Option<&[u8]>, &'static str> {
    Err("IPsec (encrypted)")
}

/// RFC 7348: flags with the I bit, a network's number, an Ethernet frame.
fn vxlan(payload: &[u8]) -> Result<Option<&[u8]>, &'static str> {
    let is_valid = payload.first().is_some_and(|flags| flags & 0x08 != 0);
    Ok(payload.get(8..).filter(|_| is_valid).and_then(ethernet))
}

/// RFC 8926: version 0, options, what is carried by its EtherType.
fn geneve(payload: &[u8]) -> Result<Option<&[u8]>, &'static str> {
    let Some(first) = payload.first().filter(|first| *first >> 6 == 0) else {
        return Ok(None);
    };
    let rest = payload.get(8 + usize::from(first & 0x3f) * 4..);
    Ok(u16_at(payload, 2, true)
        .zip(rest)
        .and_then(|(kind, rest)| carried(kind, rest)))
}

/// RFC 2784 and 2890: a checksum, a key and a number that may be present, what is carried by its EtherType. ERSPAN (a switch's
/// copies) is GRE with a header of its own.
fn gre(payload: &[u8]) -> Result<Option<&[u8]>, &'static str> {
    let (Some(flags), Some(kind)) = (u16_at(payload, 0, true), u16_at(payload, 2, true)) else {
        return Ok(None);
    };
    match flags & 0x0007 {
        0 => {}
        1 => return Err("GRE of PPTP"),
        _ => return Ok(None),
    }
    let has = |bit: u16| flags & bit != 0;
    let length = 4 * (1 + usize::from(has(0xc000)) + usize::from(has(0x2000)) + usize::from(has(0x1000)));
    let Some(rest) = payload.get(length..) else {
        return Ok(None);
    };
    let own = match kind {
        // Type I has no number and no header; type II has both.
        ERSPAN if has(0x1000) => 8,
        ERSPAN => 0,
        ERSPAN_3 => 12 + 8 * usize::from(rest.get(11).is_some_and(|last| last & 1 != 0)),
        _ => return Ok(carried(kind, rest)),
    };
    match rest.get(own..).and_then(ethernet) {
        Some(packet) => Ok(Some(packet)),
        None => Err("ERSPAN"),
    }
}

/// The payload of an EtherType.
fn carried(kind: u16, rest: &[u8]) -> Option<&[u8]> {
    match kind {
        IPV4 | IPV6 => Some(rest),
        ETHERNET => ethernet(rest),
        kind if MPLS.contains(&kind) => mpls(rest),
        _ => None,
    }
}

fn ethernet(frame: &[u8]) -> Option<&[u8]> {
    links::ethernet(frame).map(|found| found.packet)
}

fn mpls(labels: &[u8]) -> Option<&[u8]> {
    links::mpls(labels).map(|found| found.packet)
}

/// RFC 3948: four zero bytes before IKE, one byte to keep the path open, else ESP.
fn ipsec_over_udp(payload: &[u8]) -> Result<Option<&[u8]>, &'static str> {
    match payload {
        [0, 0, 0, 0, ..] | [] | [_] => Ok(None),
        _ => Err("IPsec (encrypted)"),
    }
}

/// Protocol number of UDP.
const UDP: u8 = 17;
const UDP_HEADER: usize = 8;
/// EtherTypes that only encapsulations have.
const ETHERNET: u16 = 0x6558;
const ERSPAN: u16 = 0x88be;
const ERSPAN_3: u16 = 0x22eb;
