//! IPv4 (RFC 791) and IPv6 (RFC 8200) headers, as far as TCP needs them.

use crate::byte_order::NETWORK;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// An IPv4 or IPv6 address, compared in one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Address {
    /// IPv4 in the low 32 bits.
    pub bits: u128,
    pub six: bool,
}

impl From<Address> for IpAddr {
    fn from(address: Address) -> Self {
        if address.six {
            IpAddr::V6(Ipv6Addr::from_bits(address.bits))
        } else {
            IpAddr::V4(Ipv4Addr::from_bits(address.bits as u32))
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Datagram<'a> {
    pub source: Address,
    pub destination: Address,
    pub hop_limit: u8,
    pub protocol: u8,
    /// Identification of a fragment, or of any IPv4 packet; 0 for complete IPv6 packets.
    pub identification: u32,
    pub payload: &'a [u8],
    /// Payload bytes on the wire.
    pub length: usize,
    pub fragment: Option<Fragment>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Fragment {
    /// In bytes, while the header counts in units of eight.
    pub offset: usize,
    pub more: bool,
}

/// The carried protocol, for warnings. UDP has its destination port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    Number(u8),
    UdpPort(u16),
}

impl Protocol {
    pub fn from_datagram(datagram: &Datagram<'_>) -> Self {
        match (datagram.protocol, datagram.fragment) {
            (UDP, None) => NETWORK
                .u16_at(datagram.payload, 2)
                .map_or(Self::Number(UDP), Self::UdpPort),
            (number, _) => Self::Number(number),
        }
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(formatter, "of IP protocol {number}"),
            Self::UdpPort(port) => write!(formatter, "UDP to port {port}"),
        }
    }
}

/// Parses an IP packet. `packet` is the captured part, `wire` the number of bytes on the wire.
/// `None` if it is not IP or the headers are truncated.
#[inline]
pub(crate) fn parse_datagram(packet: &[u8], wire: usize) -> Option<Datagram<'_>> {
    match packet.first()? >> 4 {
        4 => version_4(packet, wire),
        6 => version_6(packet, wire),
        _ => None,
    }
}

#[inline]
fn version_4(packet: &[u8], wire: usize) -> Option<Datagram<'_>> {
    let header = packet.first_chunk::<20>()?;
    let header_length = usize::from(header[0] & 0x0f) * 4;
    let stated = usize::from(u16::from_be_bytes([header[2], header[3]]));
    // Segmentation offload leaves the total length 0 when it exceeds 16 bits.
    let total = if stated == 0 { wire } else { stated };
    let length = total.checked_sub(header_length)?;
    let payload = packet.get(header_length..)?;
    let placing = u16::from_be_bytes([header[6], header[7]]);
    let place = Fragment {
        offset: usize::from(placing & 0x1fff) * 8,
        more: placing & 0x2000 != 0,
    };
    let address = |at| {
        Some(Address {
            bits: u128::from(NETWORK.u32_at(header, at)?),
            six: false,
        })
    };
    Some(Datagram {
        source: address(12)?,
        destination: address(16)?,
        hop_limit: header[8],
        protocol: header[9],
        identification: u32::from(u16::from_be_bytes([header[4], header[5]])),
        payload: &payload[..payload.len().min(length)],
        length,
        fragment: (place.more || place.offset > 0).then_some(place),
    })
}

fn version_6(packet: &[u8], wire: usize) -> Option<Datagram<'_>> {
    let header = packet.first_chunk::<40>()?;
    let stated = usize::from(u16::from_be_bytes([header[4], header[5]]));
    // 0 marks a jumbogram (RFC 2675), which segmentation offload makes of large bursts.
    let mut length = if stated == 0 {
        wire.checked_sub(40)?
    } else {
        stated
    };
    let mut payload = &packet[40..];
    payload = &payload[..payload.len().min(length)];
    let mut protocol = header[6];
    let (mut fragment, mut identification) = (None, 0);
    for _ in 0..MAX_EXTENSIONS {
        let size = match protocol {
            HOP_BY_HOP | ROUTING | DESTINATION | MOBILITY => usize::from(*payload.get(1)?) * 8 + 8,
            AUTHENTICATION => usize::from(*payload.get(1)?) * 4 + 8,
            FRAGMENT => {
                let placing = NETWORK.u16_at(payload, 2)?;
                identification = NETWORK.u32_at(payload, 4)?;
                let place = Fragment {
                    offset: usize::from(placing & 0xfff8),
                    more: placing & 1 != 0,
                };
                fragment = (place.more || place.offset > 0).then_some(place);
                8
            }
            _ => break,
        };
        protocol = *payload.first()?;
        payload = payload.get(size..)?;
        length = length.checked_sub(size)?;
        if fragment.is_some_and(|place| place.offset > 0) {
            break;
        }
    }
    let address = |at: usize| {
        let bits = packet.get(at..)?.first_chunk::<16>()?;
        Some(Address {
            bits: u128::from_be_bytes(*bits),
            six: true,
        })
    };
    Some(Datagram {
        source: address(8)?,
        destination: address(24)?,
        hop_limit: header[7],
        protocol,
        identification,
        payload,
        length,
        fragment,
    })
}

pub(crate) const TCP: u8 = 6;
pub(crate) const UDP: u8 = 17;
const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const AUTHENTICATION: u8 = 51;
const DESTINATION: u8 = 60;
const MOBILITY: u8 = 135;
/// RFC 8200 defines seven.
const MAX_EXTENSIONS: usize = 12;
