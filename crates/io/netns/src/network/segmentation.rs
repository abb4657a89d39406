//! Segmentation and receive offload: splits a host's large TCP frames into packets, and joins them
//! again for the receiving host.
//!
//! One system call per packet, with the receiving host's TCP in it, is too much for a core at 1
//! Gbit/s. Frames are split as soon as they are read, so that the link's model, counts and captures
//! see packets as on a wire. Packets due at the same moment are joined on their way out, except
//! those sent singly.

use super::device::{Device, PREFIX_BYTES};
use super::packets::{Buffers, Packet, Segment};
use std::io::IoSlice;
use std::ops::Range;
use sys::checksum::{checksum, sum};

#[derive(Debug)]
pub(super) struct Frame<'a> {
    bytes: &'a mut [u8],
    /// `None` for a single packet.
    cut: Option<Cut>,
    /// Payload offset of the next segment.
    next: usize,
}

#[derive(Debug)]
struct Cut {
    headers: Headers,
    payload: usize,
}

impl<'a> Frame<'a> {
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
        // Its headers overwrite the payload before it, which is no longer needed.
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

#[derive(Debug, Clone)]
struct Headers {
    bytes: [u8; MAX_HEADER_BYTES],
    tcp: usize,
    length: usize,
}

struct Position {
    offset: usize,
    number: usize,
    is_last: bool,
}

impl Headers {
    /// `None` for anything but TCP with payload.
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

    /// Writes headers before the payload of `packet`. As in the kernel, CWR goes to the frame's
    /// first packet, FIN and PSH to its last.
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

    /// Whether two packets may follow each other in a frame: equal except for lengths, numbers,
    /// sums and flags of the last packet.
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

#[derive(Debug, Default)]
pub(super) struct Joined {
    packets: Vec<Packet>,
    /// Headers of the first and last packet; `None` with a packet that cannot be joined.
    ends: Option<[Headers; 2]>,
    length: usize,
}

impl Joined {
    pub(super) const fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

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

    /// Returns how many the host refused.
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

    /// Also returns the length.
    fn begin(&self, first: &Headers, last: &Headers) -> ([u8; PREFIX_BYTES + MAX_HEADER_BYTES], usize) {
        let mut begin = [0; PREFIX_BYTES + MAX_HEADER_BYTES];
        let (prefix, headers) = begin.split_at_mut(PREFIX_BYTES);
        headers.copy_from_slice(&first.bytes);
        headers[first.tcp + FLAGS] |= last.flags();
        set_lengths(headers, self.length, first.tcp);
        // The receiving host accepts this partial sum; a forwarding host splits the frame and
        // completes the sums.
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

fn part_headers(packet: &Packet) -> Option<Headers> {
    packet.is_part.then(|| Headers::parse(&packet.bytes))?
}

fn set_lengths(packet: &mut [u8], length: usize, ip_bytes: usize) {
    packet[2..4].copy_from_slice(&(length as u16).to_be_bytes());
    packet[IP_CHECKSUM..][..2].fill(0);
    let own = checksum(&packet[..ip_bytes]);
    packet[IP_CHECKSUM..][..2].copy_from_slice(&own.to_be_bytes());
}

/// The TCP pseudo-header's sum (RFC 9293, 3.1).
fn addresses_sum(packet: &[u8], length: usize) -> u64 {
    u64::from(sum(&packet[12..20], u64::from(TCP) + length as u64))
}

fn complete(content: &mut [u8], at: usize, before: u64) {
    let own = match !sum(content, before) {
        // Zero means none in UDP (RFC 768); in TCP both are equal.
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
/// Offsets in the TCP header.
const FLAGS: usize = 13;
const TCP_CHECKSUM: usize = 16;
const FIN: u8 = 0x01;
const PSH: u8 = 0x08;
const CWR: u8 = 0x80;

/// 60 bytes each of IPv4 and TCP.
const MAX_HEADER_BYTES: usize = 120;
/// Maximum of IPv4's length field.
const MAX_BYTES: usize = 65_535;
/// As many as fit with Ethernet's mtu.
const MAX_JOINED_SEGMENTS: usize = 44;

#[cfg(test)]
mod tests;
