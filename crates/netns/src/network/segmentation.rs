//! TCP packets that a host hands over as one, cut into the packets of the link, and joined again for the host
//! that receives them.
//!
//! A system call for each packet, and the receiving host's TCP within it, is more than a core does at 1
//! Gbit/s. The kernel's TCP prepares up to 64 kB at once and leaves it to the device to cut them
//! (segmentation offload). Here that is done as soon as they are read, so that the link's model, its counts
//! and captures know only packets as they are on a wire. Those that are due at the same moment are joined on
//! their way out. Packets that the sender handed over one by one are received one by one.

use super::device::Device;
use super::packets::{Buffers, Packet};
use std::io::IoSlice;
use std::ops::Range;
use sys::checksum::{checksum, sum};

/// What precedes a packet that is read from a device or written to it: `struct virtio_net_hdr` of
/// `linux/virtio_net.h`.
pub(super) const PREFIX_BYTES: usize = 10;

/// What one read gave: one packet, or several as one.
#[derive(Debug)]
pub(super) struct Frame<'a> {
    bytes: &'a mut [u8],
    /// `None` if it is one packet.
    cut: Option<Cut>,
    /// Where that begins which has not been given yet, headers not counted.
    next: usize,
}

/// How to cut a frame.
#[derive(Debug)]
struct Cut {
    headers: Headers,
    /// Payload of every packet but the last.
    payload: usize,
}

/// A packet of the link.
#[derive(Debug, Clone, Copy)]
pub(super) struct Segment<'a> {
    pub(super) bytes: &'a [u8],
    /// It was cut from a frame: it may be joined with its neighbours.
    pub(super) is_part: bool,
}

impl<'a> Segment<'a> {
    /// A packet that was one from the beginning.
    pub(super) const fn whole(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            is_part: false,
        }
    }
}

impl<'a> Frame<'a> {
    /// `bytes` as they were read. `None` if they are no packet.
    pub(super) fn new(bytes: &'a mut [u8]) -> Option<Self> {
        let (prefix, bytes) = bytes.split_at_mut_checked(PREFIX_BYTES)?;
        let field = |at: usize| usize::from(u16::from_ne_bytes([prefix[at], prefix[at + 1]]));
        let (payload, sum_from, sum_at) = (field(4), field(6), field(8));
        let headers = Headers::parse(bytes).filter(|_| prefix[1] & !SAYS_ECN == IS_TCP4 && payload > 0);
        let cut = headers.map(|headers| Cut { headers, payload });
        if cut.is_none() && prefix[0] & LACKS_CHECKSUM != 0 {
            complete(bytes.get_mut(sum_from..)?, sum_at, 0);
        }
        let next = cut.as_ref().map_or(0, |cut| cut.headers.length);
        (!bytes.is_empty()).then_some(Self { bytes, cut, next })
    }

    /// The next packet of it; `None` if all were given.
    pub(super) fn next_segment(&mut self) -> Option<Segment<'_>> {
        let (begin, all) = (self.next, self.bytes.len());
        if begin >= all {
            return None;
        }
        let Some(cut) = &self.cut else {
            self.next = all;
            return Some(Segment::whole(self.bytes));
        };
        self.next = all.min(begin + cut.payload);
        // Its headers go where the payload before it was, which nobody needs any more.
        let length = cut.headers.length;
        let packet = &mut self.bytes[begin - length..self.next];
        let position = Position {
            offset: begin - length,
            number: (begin - length) / cut.payload,
            is_last: self.next == all,
        };
        cut.headers.write_to(packet, &position);
        Some(Segment {
            bytes: packet,
            is_part: true,
        })
    }
}

/// The headers of IPv4 and TCP that the packets of a frame have in common.
#[derive(Debug, Clone)]
struct Headers {
    bytes: [u8; MAX_HEADER_BYTES],
    /// Where those of TCP begin.
    tcp: usize,
    length: usize,
}

/// Where in its frame a packet is.
struct Position {
    offset: usize,
    number: usize,
    is_last: bool,
}

impl Headers {
    /// Those that `packet` begins with; `None` if it is no TCP packet with payload.
    fn parse(packet: &[u8]) -> Option<Self> {
        let tcp = usize::from(packet.first()? & 0x0f) * 4;
        let length = tcp + usize::from(packet.get(tcp + 12)? >> 4) * 4;
        let is_whole = tcp >= 20 && length >= tcp + 20 && packet.len() > length;
        let mut bytes = [0; MAX_HEADER_BYTES];
        bytes
            .get_mut(..length)
            .filter(|_| is_whole && packet[0] >> 4 == 4 && packet[PROTOCOL] == TCP)?
            .copy_from_slice(&packet[..length]);
        Some(Self { bytes, tcp, length })
    }

    /// Makes them those of `packet`, whose payload is there. What belongs to the whole frame goes to its
    /// first packet (CWR) or its last (FIN, PSH), as the kernel does it.
    fn write_to(&self, packet: &mut [u8], position: &Position) {
        packet[..self.length].copy_from_slice(&self.bytes[..self.length]);
        let number = self.number(4, 2).wrapping_add(position.number as u32);
        packet[4..6].copy_from_slice(&(number as u16).to_be_bytes());
        let sequence = self.sequence().wrapping_add(position.offset as u32);
        packet[self.tcp + 4..self.tcp + 8].copy_from_slice(&sequence.to_be_bytes());
        if !position.is_last {
            packet[self.tcp + FLAGS] &= !(FIN | PSH);
        }
        if position.offset > 0 {
            packet[self.tcp + FLAGS] &= !CWR;
        }
        set_lengths(packet, packet.len(), self.tcp);
        let addresses = addresses_sum(packet, packet.len() - self.tcp);
        packet[self.tcp + TCP_CHECKSUM..][..2].fill(0);
        complete(&mut packet[self.tcp..], TCP_CHECKSUM, addresses);
    }

    fn number(&self, at: usize, bytes: usize) -> u32 {
        let bytes = &self.bytes[at..at + bytes];
        bytes
            .iter()
            .fold(0, |number, byte| number << 8 | u32::from(*byte))
    }

    fn sequence(&self) -> u32 {
        self.number(self.tcp + 4, 4)
    }

    fn flags(&self) -> u8 {
        self.bytes[self.tcp + FLAGS]
    }

    /// Whether a packet with these headers may follow one with `other` in a frame: all but lengths, numbers,
    /// sums and what the last packet of a frame may have is the same.
    fn go_with(&self, other: &Self) -> bool {
        let tcp = self.tcp;
        let same = |range: Range<usize>| self.bytes[range.clone()] == other.bytes[range];
        (tcp, self.length) == (other.tcp, other.length)
            && (self.flags() ^ other.flags()) & !(FIN | PSH) == 0
            && [
                0..2,
                6..10,
                12..tcp + 4,
                tcp + 8..tcp + FLAGS,
                tcp + 14..tcp + 16,
                tcp + 18..self.length,
            ]
            .into_iter()
            .all(same)
    }
}

/// Packets that are handed to a host as one.
#[derive(Debug, Default)]
pub(super) struct Joined {
    packets: Vec<Packet>,
    /// Of the first and of the last one; `None` if there is one that takes no other.
    ends: Option<[Headers; 2]>,
    length: usize,
}

impl Joined {
    pub(super) const fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Whether `packet` continues what is here, so that it may be added; any packet does when nothing is.
    pub(super) fn takes(&self, packet: &Packet) -> bool {
        let [Some(begin), Some(end)] = [self.packets.first(), self.packets.last()] else {
            return true;
        };
        let (Some([first, last]), Some(own)) = (&self.ends, part_headers(packet)) else {
            return false;
        };
        let [payload, before, more] = [begin, end, packet].map(|packet| packet.bytes.len() - first.length);
        own.go_with(first)
            && own.sequence() == last.sequence().wrapping_add(before as u32)
            && last.flags() & (FIN | PSH) == 0
            && before == payload
            && more <= payload
            && self.packets.len() < MAX_JOINED_SEGMENTS
            && self.length + more <= MAX_BYTES
    }

    /// Adds a packet that continues what is here.
    pub(super) fn add(&mut self, packet: Packet) {
        let headers = part_headers(&packet);
        if self.is_empty() {
            self.length = packet.bytes.len();
            self.ends = headers.clone().zip(headers).map(<[Headers; 2]>::from);
        } else if let (Some([_, last]), Some(headers)) = (&mut self.ends, headers) {
            self.length += packet.bytes.len() - headers.length;
            *last = headers;
        }
        self.packets.push(packet);
    }

    /// Hands them over; says how many the host did not take.
    pub(super) fn hand_over(&mut self, device: &Device, buffers: &mut Buffers) -> u64 {
        let handed = match (self.packets.as_slice(), &self.ends) {
            ([_, _, ..], Some([first, last])) => {
                let (begin, length) = self.begin(first, last);
                let mut parts = [IoSlice::new(&[]); 1 + MAX_JOINED_SEGMENTS];
                parts[0] = IoSlice::new(&begin[..length]);
                for (part, packet) in parts[1..].iter_mut().zip(&self.packets) {
                    *part = IoSlice::new(&packet.bytes[first.length..]);
                }
                device.write_parts(&parts[..1 + self.packets.len()])
            }
            ([packet, ..], _) => device.write(&packet.bytes),
            ([], _) => Ok(()),
        };
        let refused = handed.err().map_or(0, |_| self.packets.len() as u64);
        self.packets
            .drain(..)
            .for_each(|packet| buffers.give_back(packet));
        refused
    }

    /// What comes before the payloads of all packets, and how long it is: a `virtio_net_hdr` and the headers
    /// of the frame.
    fn begin(&self, first: &Headers, last: &Headers) -> ([u8; PREFIX_BYTES + MAX_HEADER_BYTES], usize) {
        let mut begin = [0; PREFIX_BYTES + MAX_HEADER_BYTES];
        let (prefix, headers) = begin.split_at_mut(PREFIX_BYTES);
        headers.copy_from_slice(&first.bytes);
        headers[first.tcp + FLAGS] |= last.flags();
        set_lengths(headers, self.length, first.tcp);
        // The receiving host takes the sum for right; one that forwards the frame cuts it and completes the
        // sums.
        let addresses = sum(&[], addresses_sum(headers, self.length - first.tcp));
        headers[first.tcp + TCP_CHECKSUM..][..2].copy_from_slice(&addresses.to_be_bytes());
        (prefix[0], prefix[1]) = (LACKS_CHECKSUM, IS_TCP4);
        let payload = self
            .packets
            .first()
            .map_or(0, |packet| packet.bytes.len() - first.length);
        let fields = [first.length, payload, first.tcp, TCP_CHECKSUM];
        for (field, value) in prefix[2..].chunks_exact_mut(2).zip(fields) {
            field.copy_from_slice(&(value as u16).to_ne_bytes());
        }
        (begin, PREFIX_BYTES + first.length)
    }
}

/// The headers of a packet that may be joined with others.
fn part_headers(packet: &Packet) -> Option<Headers> {
    packet.is_part.then(|| Headers::parse(&packet.bytes))?
}

/// Makes the headers of IP say that the packet has `length` bytes.
fn set_lengths(packet: &mut [u8], length: usize, ip_bytes: usize) {
    packet[2..4].copy_from_slice(&(length as u16).to_be_bytes());
    packet[IP_CHECKSUM..][..2].fill(0);
    let own = checksum(&packet[..ip_bytes]);
    packet[IP_CHECKSUM..][..2].copy_from_slice(&own.to_be_bytes());
}

/// What the checksum of TCP covers besides the segment of `length` bytes (RFC 9293, 3.1).
fn addresses_sum(packet: &[u8], length: usize) -> u64 {
    u64::from(sum(&packet[12..20], u64::from(TCP) + length as u64))
}

/// Puts the checksum over `content` and what `before` sums up at `at` in it.
fn complete(content: &mut [u8], at: usize, before: u64) {
    let own = match !sum(content, before) {
        // In UDP, zero is none (RFC 768); in TCP both are the same.
        0 => 0xffff,
        own => own,
    };
    if let Some(field) = content.get_mut(at..at + 2) {
        field.copy_from_slice(&own.to_be_bytes());
    }
}

/// Flags and kinds of a `virtio_net_hdr`.
const LACKS_CHECKSUM: u8 = 1;
const IS_TCP4: u8 = 1;
const SAYS_ECN: u8 = 0x80;

const PROTOCOL: usize = 9;
const TCP: u8 = 6;
const IP_CHECKSUM: usize = 10;
/// In the headers of TCP.
const FLAGS: usize = 13;
const TCP_CHECKSUM: usize = 16;
const FIN: u8 = 0x01;
const PSH: u8 = 0x08;
const CWR: u8 = 0x80;

/// 60 bytes each of IPv4 and TCP.
const MAX_HEADER_BYTES: usize = 120;
/// What the length of an IPv4 packet can say.
const MAX_BYTES: usize = 65_535;
/// As many as fit with Ethernet's mtu.
const MAX_JOINED_SEGMENTS: usize = 44;

#[cfg(test)]
mod tests;
