//! The list of link layers. A new one needs one row in [`LINKS`] and a function that finds its IP
//! packet.
//!
//! Their numbers are from <https://www.tcpdump.org/linktypes.html>.

use crate::byte_order::{ByteOrder, NETWORK};
use std::fmt;

#[derive(Debug)]
pub(crate) struct Link {
    pub numbers: &'static [u16],
    pub name: &'static str,
    pub network: fn(&[u8]) -> Result<Found<'_>, NoPacket>,
    pub sender: fn(&[u8]) -> Sender,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Sender {
    /// An address of exactly one interface. `None` if the link layer has none, several machines may
    /// use it (VRRP), or it is blank.
    pub address: Option<[u8; 6]>,
    pub passage: Passage,
    /// Whether the frame may belong to any interface, without saying which.
    pub is_of_any_interface: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Passage {
    Received,
    /// Sent by the machine itself, or forwarded.
    Sent,
    Loopback,
    #[default]
    Unknown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoPacket {
    /// Not an IP packet (ARP, LLDP), or truncated before it.
    Other,
    Unopened(Carrier),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Carrier {
    Named(&'static str),
    EtherType(u16),
}

impl fmt::Display for Carrier {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named(name) => formatter.write_str(name),
            Self::EtherType(number) => {
                write!(
                    formatter,
                    "frames of EtherType {number:#06x}, which longwire does not know,"
                )
            }
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Found<'a> {
    pub packet: &'a [u8],
    /// The interface number; 0 if the link layer does not contain it.
    pub interface: u32,
    /// The virtual network of the tags, 0 if there are none. The same addresses in two networks are
    /// different hosts.
    pub network: u32,
}

/// The network `inner` within the network `outer`, each 0 if there is none.
#[inline]
pub(crate) fn network_within(outer: u32, inner: u32) -> u32 {
    match outer {
        0 => inner,
        _ => outer.wrapping_mul(NETWORK_MIX) ^ inner,
    }
}

pub(crate) static LINKS: &[Link] = &[
    Link {
        numbers: &[1],
        name: "Ethernet",
        network: ethernet,
        sender: ethernet_sender,
    },
    Link {
        numbers: &[113],
        name: "Linux cooked",
        network: linux_cooked,
        sender: cooked_sender,
    },
    Link {
        numbers: &[276],
        name: "Linux cooked v2",
        network: linux_cooked_2,
        sender: cooked_2_sender,
    },
    Link {
        numbers: &[101, 12, 14],
        name: "raw IP",
        network: raw,
        sender: |_| Sender::default(),
    },
    Link {
        numbers: &[228],
        name: "raw IPv4",
        network: raw,
        sender: |_| Sender::default(),
    },
    Link {
        numbers: &[229],
        name: "raw IPv6",
        network: raw,
        sender: |_| Sender::default(),
    },
    Link {
        numbers: &[0],
        name: "BSD null",
        network: loopback,
        sender: |_| Sender::default(),
    },
    Link {
        numbers: &[108],
        name: "BSD loopback",
        network: loopback,
        sender: |_| Sender::default(),
    },
];

pub(crate) fn find(number: u16) -> Option<&'static Link> {
    LINKS.iter().find(|link| link.numbers.contains(&number))
}

pub(crate) fn ethernet(frame: &[u8]) -> Result<Found<'_>, NoPacket> {
    behind_type(frame, 12)
}

fn linux_cooked(frame: &[u8]) -> Result<Found<'_>, NoPacket> {
    behind_type(frame, 14)
}

fn linux_cooked_2(frame: &[u8]) -> Result<Found<'_>, NoPacket> {
    let kind = NETWORK.u16_at(frame, 0).ok_or(NoPacket::Other)?;
    let found = network(kind, frame.get(20..).ok_or(NoPacket::Other)?)?;
    Ok(Found {
        interface: NETWORK.u32_at(frame, 4).ok_or(NoPacket::Other)?,
        ..found
    })
}

fn ethernet_sender(frame: &[u8]) -> Sender {
    Sender {
        address: link_address(frame.get(6..)),
        ..Sender::default()
    }
}

/// Packet type, device type, address length, address.
fn cooked_sender(frame: &[u8]) -> Sender {
    let field = |at| NETWORK.u16_at(frame, at);
    Sender {
        is_of_any_interface: true,
        ..cooked(field(0), field(2), field(4), frame.get(6..))
    }
}

/// EtherType, interface number, device type, packet type, address length, address.
fn cooked_2_sender(frame: &[u8]) -> Sender {
    let byte = |at: usize| frame.get(at).copied().map(u16::from);
    cooked(byte(10), NETWORK.u16_at(frame, 8), byte(11), frame.get(12..))
}

fn cooked(kind: Option<u16>, device: Option<u16>, length: Option<u16>, address: Option<&[u8]>) -> Sender {
    let passage = match (device, kind) {
        (Some(LOOPBACK_DEVICE), Some(_)) => Passage::Loopback,
        (_, Some(OUTGOING)) => Passage::Sent,
        (_, Some(..OUTGOING)) => Passage::Received,
        _ => Passage::Unknown,
    };
    Sender {
        // Tunnels have IP addresses there.
        address: link_address(address.filter(|_| length == Some(6))),
        passage,
        is_of_any_interface: false,
    }
}

/// An address of one interface: not a group's, not shared by routers (VRRP, HSRP, GLBP), and not
/// blank, as on loopback and in anonymised captures.
fn link_address(bytes: Option<&[u8]>) -> Option<[u8; 6]> {
    let address = *bytes?.first_chunk::<6>()?;
    let is_shared = SHARED_ADDRESSES.iter().any(|shared| address.starts_with(shared));
    (address != [0; 6] && address[0] & 1 == 0 && !is_shared).then_some(address)
}

fn behind_type(frame: &[u8], place: usize) -> Result<Found<'_>, NoPacket> {
    let (kind, rest) = NETWORK
        .u16_at(frame, place)
        .zip(frame.get(place + 2..))
        .ok_or(NoPacket::Other)?;
    network(kind, rest)
}

fn raw(frame: &[u8]) -> Result<Found<'_>, NoPacket> {
    Ok(plain(frame))
}

/// The address family is in the capturing host's byte order for BSD null, and big endian for BSD
/// loopback. IPv6 has a different number on every BSD. Both orders are tried.
fn loopback(frame: &[u8]) -> Result<Found<'_>, NoPacket> {
    let known = |order: ByteOrder| matches!(order.u32_at(frame, 0), Some(2 | 10 | 24 | 28 | 30));
    let packet = frame
        .get(4..)
        .filter(|_| known(ByteOrder::Little) || known(ByteOrder::Big));
    packet.map(plain).ok_or(NoPacket::Other)
}

pub(crate) fn plain(packet: &[u8]) -> Found<'_> {
    Found {
        packet,
        interface: 0,
        network: 0,
    }
}

/// The payload of a stack of MPLS labels (RFC 3032). The labels do not name it, so the first four
/// bits decide. A pseudowire carries Ethernet frames, with or without a control word that begins
/// with 0 (RFC 4448).
pub(crate) fn mpls(mut labels: &[u8]) -> Option<Found<'_>> {
    for _ in 0..MAX_TAGS {
        let is_last = labels.get(2)? & 1 != 0;
        labels = labels.get(4..)?;
        if !is_last {
            continue;
        }
        let is_ethernet =
            |frame: &'_ [u8]| matches!(NETWORK.u16_at(frame, 12), Some(IPV4 | IPV6 | 0x8100 | 0x88a8));
        let frame = match labels.first()? >> 4 {
            4 | 6 => return Some(plain(labels)),
            0 => labels.get(4..)?,
            _ => labels,
        };
        return is_ethernet(frame).then(|| ethernet(frame).ok()).flatten();
    }
    None
}

/// The payload of an EtherType, through any tags: VLANs, VN-Tag (802.1BR), Cisco MetaData, HSR, PBB
/// (802.1ah) and LLC/SNAP; MPLS labels and PPPoE (RFC 2516).
#[inline]
fn network(mut ether_type: u16, mut rest: &[u8]) -> Result<Found<'_>, NoPacket> {
    let mut network = 0;
    for _ in 0..MAX_TAGS {
        let tag = match ether_type {
            IPV4 | IPV6 => {
                return Ok(Found {
                    network,
                    ..plain(rest)
                });
            }
            0x8100 | 0x88a8 | 0x9100 | 0x9200 => {
                let vlan = u32::from(NETWORK.u16_at(rest, 0).ok_or(NoPacket::Other)? & 0x0fff);
                network = network_within(network, vlan);
                2
            }
            VN_TAG | HSR => 4,
            CISCO_METADATA => 6,
            PBB => 16,
            0x8847 | 0x8848 => return mpls(rest).ok_or(NoPacket::Unopened(Carrier::Named("MPLS"))),
            PPPOE if matches!(NETWORK.u16_at(rest, 6), Some(0x0021 | 0x0057)) => {
                return rest.get(8..).map(plain).ok_or(NoPacket::Other);
            }
            ..=MAX_FRAME_LEN => match rest {
                // RFC 1042; after OUI 00-00-f8 comes a frame that a bridge forwarded (802.1H).
                [0xaa, 0xaa, 3, 0, 0, 0 | 0xf8, ..] => 6,
                [6, 6, 3, packet @ ..] => return Ok(plain(packet)),
                _ => return Err(NoPacket::Other),
            },
            other => return Err(no_packet(other)),
        };
        let next = NETWORK.u16_at(rest, tag).zip(rest.get(tag + 2..));
        (ether_type, rest) = next.ok_or(NoPacket::Other)?;
    }
    Err(NoPacket::Unopened(Carrier::Named("more than 8 tags")))
}

#[cold]
fn no_packet(ether_type: u16) -> NoPacket {
    let named = CARRIERS.iter().find(|(number, _)| *number == ether_type);
    match named {
        Some((_, name)) => NoPacket::Unopened(Carrier::Named(name)),
        None if WITHOUT_IP.contains(&ether_type) => NoPacket::Other,
        None => NoPacket::Unopened(Carrier::EtherType(ether_type)),
    }
}

pub(crate) const IPV4: u16 = 0x0800;
pub(crate) const IPV6: u16 = 0x86dd;
pub(crate) const MPLS: [u16; 2] = [0x8847, 0x8848];
const VN_TAG: u16 = 0x8926;
const HSR: u16 = 0x892f;
const CISCO_METADATA: u16 = 0x8909;
const PBB: u16 = 0x88e7;
const PPPOE: u16 = 0x8864;
/// Up to this value an EtherType is the length of an 802.3 frame, followed by LLC (802.2).
const MAX_FRAME_LEN: u16 = 1500;
static CARRIERS: &[(u16, &str)] = &[
    (0x88e5, "MACsec (encrypted)"),
    (0x8903, "Cisco FabricPath"),
    (0x22f3, "TRILL"),
    (0x894f, "NSH"),
    (0x876b, "PPP with compressed headers"),
    (0x880b, "PPP"),
    (0x4305, "B.A.T.M.A.N."),
];
/// EtherTypes that never carry IP packets: of switches, storage, industrial networks, and other
/// network layers.
static WITHOUT_IP: &[u16] = &[
    0x0806, 0x0842, 0x22ea, 0x22f0, 0x2fe5, 0x6001, 0x6002, 0x6003, 0x6004, 0x6007, 0x8035, 0x809b, 0x80f3,
    0x8137, 0x8204, 0x8808, 0x8809, 0x8819, 0x8863, 0x8864, 0x8874, 0x887b, 0x888e, 0x8892, 0x8899, 0x889a,
    0x88a2, 0x88a4, 0x88ab, 0x88b5, 0x88b6, 0x88b7, 0x88b8, 0x88b9, 0x88ba, 0x88bf, 0x88c7, 0x88cc, 0x88cd,
    0x88d9, 0x88dc, 0x88e1, 0x88e3, 0x88f5, 0x88f6, 0x88f7, 0x88fb, 0x8902, 0x8906, 0x890d, 0x8914, 0x8915,
    0x891d, 0x893a, 0x8940, 0x9000, 0x9003, 0xcafe,
];
/// Linux's device type of loopback (ARPHRD_LOOPBACK), and its packet type of leaving packets
/// (PACKET_OUTGOING); lower types arrive.
const LOOPBACK_DEVICE: u16 = 772;
const OUTGOING: u16 = 4;
/// Prefixes of addresses shared by routers: VRRP and CARP for IPv4 and IPv6, HSRP, HSRP version 2,
/// GLBP.
static SHARED_ADDRESSES: &[&[u8]] = &[
    &[0, 0, 0x5e, 0, 1],
    &[0, 0, 0x5e, 0, 2],
    &[0, 0, 0x0c, 0x07, 0xac],
    &[0, 0, 0x0c, 0x9f],
    &[0, 0x07, 0xb4],
];
/// An odd number without pattern (2^32 divided by the golden ratio).
const NETWORK_MIX: u32 = 0x9e37_79b9;
/// Tags skipped at most. QinQ usually has two.
const MAX_TAGS: usize = 8;
