//! The pcap format (draft-ietf-opsawg-pcap): a file header, then records of 16 bytes and the packet.

use crate::byte_order::ByteOrder;
use crate::format::{Format, MAX_PACKET, Notes, Record, SEARCH};
use crate::input::Input;
use crate::links::{self, Link};
use model::Timestamp;

/// Microseconds, nanoseconds, and Kuznetzov's modified format, each in both byte orders.
pub(crate) const MAGICS: &[[u8; 4]] = &[
    MICROSECONDS.to_le_bytes(),
    MICROSECONDS.to_be_bytes(),
    NANOSECONDS.to_le_bytes(),
    NANOSECONDS.to_be_bytes(),
    MODIFIED.to_le_bytes(),
    MODIFIED.to_be_bytes(),
];

pub(crate) fn open(magic: [u8; 4]) -> Box<dyn Format> {
    let little = u32::from_le_bytes(magic);
    let (order, kind) = match little {
        MICROSECONDS | NANOSECONDS | MODIFIED => (ByteOrder::Little, little),
        _ => (ByteOrder::Big, u32::from_be_bytes(magic)),
    };
    Box::new(Pcap {
        order,
        unit: if kind == NANOSECONDS { 1 } else { 1000 },
        header: if kind == MODIFIED {
            RECORD_HEADER + 8
        } else {
            RECORD_HEADER
        },
        link: None,
        begun: false,
        seconds: None,
    })
}

struct Pcap {
    order: ByteOrder,
    /// Nanoseconds per unit of a record's fraction.
    unit: u64,
    header: usize,
    link: Option<&'static Link>,
    begun: bool,
    seconds: Option<u32>,
}

impl Format for Pcap {
    fn next(&mut self, input: &mut Input<'_>, notes: &mut Notes<'_>) -> Option<Record> {
        if !self.begun {
            self.begin(input, notes)?;
        }
        loop {
            let there = input.peek(self.header);
            if there.len() < self.header {
                notes.cut_bytes += there.len() as u64;
                return None;
            }
            let head = Head::parse(there, self.order)?;
            if !head.is_sane(self.unit) {
                self.search(input, notes)?;
                continue;
            }
            let taken = self.header + head.captured;
            let there = input.peek(taken).len();
            if there < taken {
                if self.search_within(input, notes, there) {
                    continue;
                }
                notes.cut_bytes += there as u64;
                return None;
            }
            self.seconds = Some(head.seconds);
            let nanoseconds = u64::from(head.seconds) * 1_000_000_000 + u64::from(head.fraction) * self.unit;
            return Some(Record {
                at: Timestamp::from_nanos(nanoseconds),
                link: self.link,
                interface: 0,
                offset: self.header,
                captured: head.captured,
                wire: head.wire.max(head.captured as u32),
                taken,
            });
        }
    }
}

impl Pcap {
    fn begin(&mut self, input: &mut Input<'_>, notes: &mut Notes<'_>) -> Option<()> {
        self.begun = true;
        let header = input.peek(FILE_HEADER);
        if header.len() < FILE_HEADER {
            notes.cut_bytes += header.len() as u64;
            return None;
        }
        let link_at = match self.order {
            ByteOrder::Big => 22,
            ByteOrder::Little => 20,
        };
        let snap_length = self.order.u32_at(header, 16);
        let link = self.order.u16_at(header, link_at);
        let (snap_length, link) = (snap_length?, link?);
        self.link = links::find(link);
        notes.interface(link, snap_length);
        input.consume(FILE_HEADER);
        Some(())
    }

    /// Advances to the next plausible record. `None` if there is none within [`SEARCH`] bytes.
    #[cold]
    fn search(&mut self, input: &mut Input<'_>, notes: &mut Notes<'_>) -> Option<()> {
        if self.search_within(input, notes, SEARCH) {
            return Some(());
        }
        notes.given_up = true;
        None
    }

    /// Advances to two consecutive records within `limit` bytes, or to one before the end. Prefers
    /// one close in time to the last record.
    #[cold]
    fn search_within(&mut self, input: &mut Input<'_>, notes: &mut Notes<'_>, limit: usize) -> bool {
        let bytes = input.peek(limit.min(SEARCH) + 2 * (self.header + MAX_PACKET));
        let places = 1..limit.min(bytes.len());
        let found = (places
            .clone()
            .find(|&offset| self.begins_at(bytes, offset, self.seconds)))
        .or_else(|| places.clone().find(|&offset| self.begins_at(bytes, offset, None)));
        let Some(offset) = found else { return false };
        notes.skipped(offset as u64);
        input.consume(offset);
        true
    }

    /// Whether a plausible record begins at `offset`, followed by another one or the end.
    fn begins_at(&self, bytes: &[u8], offset: usize, near: Option<u32>) -> bool {
        let Some(next) = self.end_of(bytes, offset, near) else {
            return false;
        };
        next == bytes.len() || self.end_of(bytes, next, near).is_some()
    }

    /// End of the record at `offset`. `None` if it is implausible or over a day away from `near`.
    fn end_of(&self, bytes: &[u8], offset: usize, near: Option<u32>) -> Option<usize> {
        let head = Head::parse(bytes.get(offset..)?, self.order)?;
        let is_near = near.is_none_or(|seconds| head.seconds.abs_diff(seconds) < 86_400);
        let next = offset + self.header + head.captured;
        let fits = head.captured <= head.wire as usize && next <= bytes.len();
        (is_near && fits && head.is_sane(self.unit)).then_some(next)
    }
}

struct Head {
    seconds: u32,
    fraction: u32,
    captured: usize,
    wire: u32,
}

impl Head {
    #[inline]
    fn parse(bytes: &[u8], order: ByteOrder) -> Option<Self> {
        Some(Self {
            seconds: order.u32_at(bytes, 0)?,
            fraction: order.u32_at(bytes, 4)?,
            captured: order.u32_at(bytes, 8)? as usize,
            wire: order.u32_at(bytes, 12)?,
        })
    }

    /// Whether it is a plausible record header: not empty, lengths in range, the fraction below a
    /// second (twice that, for writers that carry late).
    #[inline]
    fn is_sane(&self, unit: u64) -> bool {
        (1..=MAX_PACKET).contains(&self.captured)
            && self.wire as usize <= MAX_PACKET
            && u64::from(self.fraction) * unit < 2_000_000_000
    }
}

const MICROSECONDS: u32 = 0xa1b2_c3d4;
const NANOSECONDS: u32 = 0xa1b2_3c4d;
const MODIFIED: u32 = 0xa1b2_cd34;
const FILE_HEADER: usize = 24;
const RECORD_HEADER: usize = 16;
