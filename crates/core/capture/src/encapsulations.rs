//! Opens encapsulated packets of tunnels between hosts of a data centre, and copies from a switch.
//! One level is opened. A new encapsulation needs one row in [`OVER_IP`] or [`OVER_UDP`] and a
//! parser.

use crate::byte_order::NETWORK;
use crate::ip::{Datagram, UDP};
use crate::links::{self, Found, IPV4, IPV6, MPLS, network_within, plain};

#[derive(Debug, Clone, Copy)]
pub(crate) struct Inside<'a> {
    pub name: &'static str,
    /// The inner IP packet and its virtual network. `None` if there is none, or it cannot be
    /// determined.
    pub packet: Option<Found<'a>>,
}

struct Encapsulation {
    /// Number of the IP protocol, or destination port of UDP.
    numbers: &'static [u16],
    name: &'static str,
    open: Open,
}

/// Returns the inner IP packet, or a more precise name if there is none for a known reason.
type Open = fn(&[u8]) -> Result<Option<Found<'_>>, &'static str>;

static OVER_IP: &[Encapsulation] = &[
    row(&[47], "GRE", gre),
    row(&[4, 41], "IP in IP", packet),
    row(&[137], "MPLS", labels),
    row(&[97], "EtherIP", ether_ip),
    row(&[50], "IPsec (encrypted)", unopened),
    row(&[51], "IPsec AH", unopened),
    row(&[108], "IPComp (compressed)", unopened),
    row(&[115], "L2TPv3", unopened),
];

static OVER_UDP: &[Encapsulation] = &[
    row(&[4789, 8472], "VXLAN", vxlan),
    row(&[6081], "Geneve", geneve),
    row(&[6635], "MPLS", labels),
    row(&[4500], "IPsec (encrypted)", ipsec_over_udp),
    row(&[37008], "TZSP", tzsp),
    row(&[4790], "VXLAN-GPE", vxlan_gpe),
    row(&[2152], "GTP-U", gtp),
    row(&[4754], "GRE", gre),
    row(&[1701], "L2TP", unopened),
    row(&[3544], "Teredo", unopened),
    row(&[5247], "CAPWAP", unopened),
    row(&[6080], "GUE", unopened),
    row(&[1194], "OpenVPN (encrypted)", unopened),
    row(&[51820], "WireGuard (encrypted)", unopened),
];

const fn row(numbers: &'static [u16], name: &'static str, open: Open) -> Encapsulation {
    Encapsulation { numbers, name, open }
}

pub(crate) fn inside<'a>(datagram: &Datagram<'a>) -> Option<Inside<'a>> {
    let is_udp = datagram.protocol == UDP;
    let (rows, number) = match is_udp {
        true if datagram.fragment.is_some_and(|place| place.offset > 0) => return None,
        true => (OVER_UDP, NETWORK.u16_at(datagram.payload, 2)?),
        false => (OVER_IP, u16::from(datagram.protocol)),
    };
    let found = rows.iter().find(|row| row.numbers.contains(&number))?;
    // Fragments of a tunnel's packet are not reassembled; a tunnel's MTU should avoid them.
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

fn packet(payload: &[u8]) -> Result<Option<Found<'_>>, &'static str> {
    Ok(Some(plain(payload)))
}

fn labels(payload: &[u8]) -> Result<Option<Found<'_>>, &'static str> {
    Ok(mpls(payload))
}

fn unopened(_: &[u8]) -> Result<Option<Found<'_>>, &'static str> {
    Ok(None)
}

/// RFC 3378: a version, then an Ethernet frame.
fn ether_ip(payload: &[u8]) -> Result<Option<Found<'_>>, &'static str> {
    Ok(payload.get(2..).and_then(ethernet))
}

/// TaZmen Sniffer Protocol, used by MikroTik routers and others: version 1, protocol, tagged fields
/// up to an end tag, the frame.
fn tzsp(payload: &[u8]) -> Result<Option<Found<'_>>, &'static str> {
    let [1, 0 | 1, high, low, fields @ ..] = payload else {
        return Ok(None);
    };
    let mut fields = fields;
    let frame = loop {
        fields = match fields {
            [0, rest @ ..] => rest,
            [1, frame @ ..] => break frame,
            [_, length, rest @ ..] => rest.get(usize::from(*length)..).unwrap_or_default(),
            [] | [_] => return Ok(None),
        };
    };
    match u16::from_be_bytes([*high, *low]) {
        1 => Ok(ethernet(frame)),
        18 | 119 | 126 | 127 => Err("TZSP of a wireless network"),
        _ => Ok(None),
    }
}

/// Flags with the P bit, next protocol, network number.
fn vxlan_gpe(payload: &[u8]) -> Result<Option<Found<'_>>, &'static str> {
    let (Some(head), Some(rest)) = (payload.first_chunk::<8>(), payload.get(8..)) else {
        return Ok(None);
    };
    Ok(match head[3] {
        1 | 2 => Some(in_network(numbered(payload), plain(rest))),
        3 => ethernet(rest).map(|found| in_network(numbered(payload), found)),
        _ => None,
    })
}

/// 3GPP TS 29.281: version 1, a G-PDU, four more bytes if one of three flags is set, and
/// extensions.
fn gtp(payload: &[u8]) -> Result<Option<Found<'_>>, &'static str> {
    let [flags, 255, ..] = payload else {
        return Ok(None);
    };
    if flags >> 4 != 3 {
        return Ok(None);
    }
    if flags & 7 == 0 {
        return Ok(payload.get(8..).map(plain));
    }
    let mut next = payload.get(11).copied().unwrap_or_default();
    let mut rest = payload.get(12..).unwrap_or_default();
    while next != 0 && flags & 4 != 0 {
        let length = rest.first().map_or(0, |words| usize::from(*words) * 4);
        let (Some(extension), Some(behind)) = (rest.get(..length), rest.get(length..)) else {
            return Ok(None);
        };
        let Some(last) = extension.last() else {
            return Ok(None);
        };
        (next, rest) = (*last, behind);
    }
    Ok(Some(plain(rest)))
}

/// RFC 7348: flags with the I bit, network number, Ethernet frame.
fn vxlan(payload: &[u8]) -> Result<Option<Found<'_>>, &'static str> {
    let is_valid = payload.first().is_some_and(|flags| flags & 0x08 != 0);
    let frame = payload.get(8..).filter(|_| is_valid).and_then(ethernet);
    Ok(frame.map(|found| in_network(numbered(payload), found)))
}

/// RFC 8926: version 0, options, payload by EtherType.
fn geneve(payload: &[u8]) -> Result<Option<Found<'_>>, &'static str> {
    let Some(first) = payload.first().filter(|first| *first >> 6 == 0) else {
        return Ok(None);
    };
    let rest = payload.get(8 + usize::from(first & 0x3f) * 4..);
    Ok(NETWORK
        .u16_at(payload, 2)
        .zip(rest)
        .and_then(|(kind, rest)| carried(kind, rest))
        .map(|found| in_network(numbered(payload), found)))
}

/// RFC 2784 and 2890: optional checksum, key and sequence number, payload by EtherType. ERSPAN
/// (copies from a switch) is GRE with an additional header.
fn gre(payload: &[u8]) -> Result<Option<Found<'_>>, &'static str> {
    let (Some(flags), Some(kind)) = (NETWORK.u16_at(payload, 0), NETWORK.u16_at(payload, 2)) else {
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
        // Type I has neither number nor header; type II has both.
        ERSPAN if has(0x1000) => 8,
        ERSPAN => 0,
        ERSPAN_3 => 12 + 8 * usize::from(rest.get(11).is_some_and(|last| last & 1 != 0)),
        _ => {
            let key_at = 4 + 4 * usize::from(has(0xc000));
            let key = if has(0x2000) {
                NETWORK.u32_at(payload, key_at)
            } else {
                None
            };
            // NVGRE (RFC 7637): the last byte of the key spreads flows.
            let network = key.map_or(0, |key| if kind == ETHERNET { key >> 8 } else { key });
            return Ok(carried(kind, rest).map(|found| in_network(network, found)));
        }
    };
    match rest.get(own..).and_then(ethernet) {
        Some(packet) => Ok(Some(packet)),
        None => Err("ERSPAN"),
    }
}

fn carried(kind: u16, rest: &[u8]) -> Option<Found<'_>> {
    match kind {
        IPV4 | IPV6 => Some(plain(rest)),
        ETHERNET => ethernet(rest),
        kind if MPLS.contains(&kind) => mpls(rest),
        _ => None,
    }
}

fn ethernet(frame: &[u8]) -> Option<Found<'_>> {
    links::ethernet(frame).ok()
}

fn mpls(labels: &[u8]) -> Option<Found<'_>> {
    links::mpls(labels)
}

/// The network number in the fifth to seventh byte of VXLAN, VXLAN-GPE and Geneve.
fn numbered(payload: &[u8]) -> u32 {
    NETWORK.u32_at(payload, 4).map_or(0, |word| word >> 8)
}

fn in_network(outer: u32, found: Found<'_>) -> Found<'_> {
    Found {
        network: network_within(outer, found.network),
        ..found
    }
}

/// RFC 3948: four zero bytes before IKE, one byte as keep-alive, else ESP.
fn ipsec_over_udp(payload: &[u8]) -> Result<Option<Found<'_>>, &'static str> {
    match payload {
        [0, 0, 0, 0, ..] | [] | [_] => Ok(None),
        _ => Err("IPsec (encrypted)"),
    }
}

const UDP_HEADER: usize = 8;
const ETHERNET: u16 = 0x6558;
const ERSPAN: u16 = 0x88be;
const ERSPAN_3: u16 = 0x22eb;
