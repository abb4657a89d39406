//! TCP headers (RFC 9293).

use crate::byte_order::NETWORK;
use crate::format::Record;
use crate::ip::{Address, Datagram};
use model::Timestamp;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Packet<'a> {
    pub head: Head,
    pub payload: &'a [u8],
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Head {
    pub at: Timestamp,
    pub source: Address,
    pub destination: Address,
    pub source_port: u16,
    pub destination_port: u16,
    pub sequence: u32,
    pub acknowledgement: u32,
    pub flags: u8,
    /// As sent, not scaled.
    pub window: u16,
    /// Payload bytes on the wire.
    pub length: u32,
    /// IP identification, or 0 if there is none.
    pub identification: u32,
    /// Distinguishes a packet captured twice from a retransmission.
    pub checksum: u16,
    /// TSval and TSecr (RFC 7323) of a packet with at most one byte of payload.
    pub timestamps: Option<(u32, u32)>,
    pub interface: u32,
    /// The virtual network (VLAN, VXLAN); 0 if there is none.
    pub network: u32,
    /// Number of wire packets: above one if the IP packet was fragmented.
    pub packets: u64,
    /// Bytes on the wire, link layer included.
    pub wire_bytes: u64,
}

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SynOptions {
    pub mss: Option<u16>,
    /// Shift of the sender's later windows.
    pub window_shift: Option<u8>,
    /// Whether it offers timestamps, which take 12 bytes of every later packet.
    pub timestamps: bool,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Envelope {
    pub at: Timestamp,
    pub source: Address,
    pub destination: Address,
    pub identification: u32,
    pub interface: u32,
    pub network: u32,
    pub packets: u64,
    pub wire_bytes: u64,
}

impl Envelope {
    /// Metadata of a packet captured as `record`; `interface` comes from its link layer.
    #[inline]
    pub fn new(record: &Record, interface: u32, datagram: &Datagram<'_>) -> Self {
        Self {
            at: record.at,
            source: datagram.source,
            destination: datagram.destination,
            identification: datagram.identification,
            interface: interface ^ record.interface << 16,
            network: 0,
            packets: 1,
            wire_bytes: u64::from(record.wire),
        }
    }
}

/// Parses a TCP packet. `bytes` is the captured part, `length` the number of bytes on the wire.
/// Returns the options of a SYN. `None` if the header is truncated or invalid.
#[inline]
pub(crate) fn parse_segment<'a>(
    bytes: &'a [u8],
    length: usize,
    envelope: &Envelope,
) -> Option<(Packet<'a>, SynOptions)> {
    let header = bytes.first_chunk::<20>()?;
    let header_length = usize::from(header[12] >> 4) * 4;
    if header_length < 20 {
        return None;
    }
    let payload_length = u32::try_from(length.checked_sub(header_length)?).ok()?;
    let flags = header[13];
    let options = bytes.get(20..header_length.min(bytes.len())).unwrap_or_default();
    let four = |at: usize| u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    let two = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
    let head = Head {
        at: envelope.at,
        source: envelope.source,
        destination: envelope.destination,
        source_port: two(0),
        destination_port: two(2),
        sequence: four(4),
        acknowledgement: four(8),
        flags,
        window: two(14),
        length: payload_length,
        identification: envelope.identification,
        checksum: two(16),
        timestamps: if payload_length <= 1 {
            timestamps(options)
        } else {
            None
        },
        interface: envelope.interface,
        network: envelope.network,
        packets: envelope.packets,
        wire_bytes: envelope.wire_bytes,
    };
    let payload = bytes.get(header_length..).unwrap_or_default();
    let options = if flags & SYN != 0 {
        SynOptions::parse(options)
    } else {
        SynOptions::default()
    };
    Some((Packet { head, payload }, options))
}

impl Head {
    #[inline]
    pub fn has(&self, flags: u8) -> bool {
        self.flags & flags != 0
    }

    /// Whether it may be a keep-alive probe: at most one byte, without PSH (RFC 9293 section
    /// 3.8.4).
    #[inline]
    pub fn may_be_probe(&self) -> bool {
        self.length <= 1 && self.flags == ACK
    }

    #[inline]
    pub fn payload_sequence(&self) -> u32 {
        self.sequence.wrapping_add(u32::from(self.has(SYN)))
    }
}

impl SynOptions {
    fn parse(options: &[u8]) -> Self {
        let mut found = Self::default();
        each_option(options, |kind, option| match kind {
            2 => found.mss = NETWORK.u16_at(option, 2),
            3 => found.window_shift = option.get(2).map(|shift| (*shift).min(MAX_SHIFT)),
            TIMESTAMPS => found.timestamps = true,
            _ => {}
        });
        found
    }
}

fn timestamps(options: &[u8]) -> Option<(u32, u32)> {
    let mut found = None;
    each_option(options, |kind, option| {
        if kind == TIMESTAMPS {
            found = NETWORK.u32_at(option, 2).zip(NETWORK.u32_at(option, 6));
        }
    });
    found
}

/// Emits the kind and the bytes of each option, starting at its kind.
fn each_option(mut options: &[u8], mut take: impl FnMut(u8, &[u8])) {
    while let [kind, rest @ ..] = options {
        if *kind == 0 {
            break;
        }
        if *kind == 1 {
            options = rest;
            continue;
        }
        let Some(size) = rest
            .first()
            .map(|size| usize::from(*size))
            .filter(|size| *size >= 2)
        else {
            break;
        };
        take(*kind, options);
        options = options.get(size..).unwrap_or_default();
    }
}

pub(crate) const FIN: u8 = 0x01;
pub(crate) const SYN: u8 = 0x02;
pub(crate) const RST: u8 = 0x04;
pub(crate) const ACK: u8 = 0x10;
/// Kind of the timestamps option (RFC 7323 section 3.2).
const TIMESTAMPS: u8 = 8;
/// Maximum window shift (RFC 7323 section 2.3).
const MAX_SHIFT: u8 = 14;
