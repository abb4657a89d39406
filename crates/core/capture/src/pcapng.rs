//! The pcapng format (draft-ietf-opsawg-pcapng): blocks of several kinds, in sections, for several
//! interfaces.

mod interface;

use crate::byte_order::{ByteOrder, NETWORK};
use crate::format::{Format, MAX_PACKET, Notes, Record, SEARCH};
use crate::input::Input;
use crate::secrets::{KeyLines, SECRETS_HEAD, SecretsFault, SecretsHead};
use interface::Interface;
use model::Timestamp;

/// The type of a section header block is the same in both byte orders.
pub(crate) const MAGICS: &[[u8; 4]] = &[SECTION_HEADER.to_le_bytes()];

pub(crate) fn open(_magic: [u8; 4]) -> Box<dyn Format> {
    Box::new(Pcapng {
        order: ByteOrder::Little,
        interfaces: Vec::new(),
        last: Timestamp::default(),
    })
}

struct Pcapng {
    order: ByteOrder,
    interfaces: Vec<Interface>,
    last: Timestamp,
}

enum Block {
    Packet(Record),
    Other,
    Damaged,
}

impl Format for Pcapng {
    fn next(&mut self, input: &mut Input<'_>, notes: &mut Notes<'_>) -> Option<Record> {
        loop {
            let place = input.position();
            let head = input.peek(12);
            let Some((kind, length)) = self.head(head) else {
                notes.cut_bytes += head.len() as u64;
                return None;
            };
            if length < 12 || length % 4 != 0 {
                self.search(input, notes)?;
                continue;
            }
            if length > MAX_BLOCK {
                self.pass(kind, length, input, notes)?;
                continue;
            }
            let there = input.peek(length);
            if there.len() < length {
                let there = there.len();
                if self.search_within(input, notes, there) {
                    continue;
                }
                notes.cut_bytes += there as u64;
                if kind == SECRETS {
                    let body = input.peek(there).get(8..).unwrap_or_default();
                    notes.secrets.cut(place, body, self.order, notes.key_lines);
                }
                return None;
            }
            let trailer = self.order_for(kind, there).u32_at(there, length - 4);
            if trailer != Some(length as u32) {
                self.search(input, notes)?;
                continue;
            }
            match self.block(kind, place, &there[8..length - 4], notes) {
                Block::Packet(record) => return Some(record),
                Block::Other => input.consume(length),
                Block::Damaged => {
                    notes.skipped(length as u64);
                    input.consume(length);
                }
            }
        }
    }
}

impl Pcapng {
    #[inline]
    fn head(&self, bytes: &[u8]) -> Option<(u32, usize)> {
        let kind = self.order.u32_at(bytes, 0)?;
        let length = self.order_for(kind, bytes).u32_at(bytes, 4)?;
        Some((kind, length as usize))
    }

    #[inline]
    fn order_for(&self, kind: u32, bytes: &[u8]) -> ByteOrder {
        if kind != SECTION_HEADER {
            return self.order;
        }
        section_order(bytes, 8)
    }

    fn block(&mut self, kind: u32, place: u64, body: &[u8], notes: &mut Notes<'_>) -> Block {
        let length = body.len() + 12;
        match kind {
            ENHANCED_PACKET => self
                .enhanced_packet(length, body)
                .map_or(Block::Damaged, Block::Packet),
            SIMPLE_PACKET => self
                .simple_packet(length, body)
                .map_or(Block::Damaged, Block::Packet),
            OBSOLETE_PACKET => self
                .obsolete_packet(length, body)
                .map_or(Block::Damaged, Block::Packet),
            SECTION_HEADER => {
                self.order = section_order(body, 0);
                self.interfaces.clear();
                Block::Other
            }
            INTERFACE => match Interface::parse(body, self.order, self.interfaces.len()) {
                Some((interface, described)) if self.interfaces.len() < MAX_INTERFACES => {
                    notes.interface(described.link, interface.snap_length);
                    notes.addresses(described.addresses);
                    self.interfaces.push(interface);
                    Block::Other
                }
                _ => Block::Damaged,
            },
            SECRETS => {
                notes.secrets.block(place, body, self.order, notes.key_lines);
                Block::Other
            }
            _ => Block::Other,
        }
    }

    fn enhanced_packet(&mut self, taken: usize, body: &[u8]) -> Option<Record> {
        let interface = self.order.u32_at(body, 0)? as usize;
        let units = self.units(body, 4)?;
        let (captured, wire) = (self.order.u32_at(body, 12)?, self.order.u32_at(body, 16)?);
        self.record(interface, units, captured, wire, 20, body, taken)
    }

    fn obsolete_packet(&mut self, taken: usize, body: &[u8]) -> Option<Record> {
        let interface = usize::from(self.order.u16_at(body, 0)?);
        let units = self.units(body, 4)?;
        let (captured, wire) = (self.order.u32_at(body, 12)?, self.order.u32_at(body, 16)?);
        self.record(interface, units, captured, wire, 20, body, taken)
    }

    /// A simple packet block has no time, so it takes that of the previous packet.
    fn simple_packet(&mut self, taken: usize, body: &[u8]) -> Option<Record> {
        let interface = self.interfaces.first()?;
        let wire = self.order.u32_at(body, 0)?;
        let limit = if interface.snap_length == 0 {
            u32::MAX
        } else {
            interface.snap_length
        };
        let captured = (wire.min(limit) as usize).min(body.len() - 4);
        Some(Record {
            at: self.last,
            link: interface.link,
            interface: 0,
            offset: 12,
            captured,
            wire: wire.max(captured as u32),
            taken,
        })
    }

    fn units(&self, body: &[u8], offset: usize) -> Option<u64> {
        let (high, low) = (
            self.order.u32_at(body, offset)?,
            self.order.u32_at(body, offset + 4)?,
        );
        Some(u64::from(high) << 32 | u64::from(low))
    }

    #[allow(clippy::too_many_arguments, reason = "the fields of one block, in its order")]
    fn record(
        &mut self,
        interface: usize,
        units: u64,
        captured: u32,
        wire: u32,
        header: usize,
        body: &[u8],
        taken: usize,
    ) -> Option<Record> {
        let number = interface as u32;
        let interface = self.interfaces.get(interface)?;
        let captured = captured as usize;
        if captured > MAX_PACKET || captured > body.len().checked_sub(header)? {
            return None;
        }
        self.last = interface.time(units);
        Some(Record {
            at: self.last,
            link: interface.link,
            interface: number,
            offset: 8 + header,
            captured,
            wire: wire.max(captured as u32),
            taken,
        })
    }

    /// Skips a block too large for a packet, if its length at the end matches.
    #[cold]
    fn pass(&mut self, kind: u32, length: usize, input: &mut Input<'_>, notes: &mut Notes<'_>) -> Option<()> {
        if matches!(
            kind,
            ENHANCED_PACKET | SIMPLE_PACKET | OBSOLETE_PACKET | INTERFACE | SECTION_HEADER
        ) {
            return self.search(input, notes);
        }
        if kind == SECRETS {
            return self.large_secrets(length, input, notes);
        }
        let passed = input.skip(length as u64);
        if passed < length as u64 {
            notes.cut_bytes += passed;
            return None;
        }
        Some(())
    }

    /// Streams a large key log. If the block's two lengths differ, searches it for the next block.
    #[cold]
    fn large_secrets(&mut self, length: usize, input: &mut Input<'_>, notes: &mut Notes<'_>) -> Option<()> {
        let place = input.position();
        let body = input.peek(8 + SECRETS_HEAD).get(8..).unwrap_or_default();
        let behind = length - 12 - SECRETS_HEAD;
        let head = SecretsHead::parse(body, self.order).filter(|head| {
            behind
                .checked_sub(head.length)
                .is_some_and(|rest| rest <= MAX_OPTIONS)
        });
        let Some(head) = head else {
            notes.secrets.fault(place, SecretsFault::Length);
            return self.search(input, notes);
        };
        input.consume(8 + SECRETS_HEAD);
        let mut lines = KeyLines::default();
        let mut left = head.length;
        while left > 0 {
            let piece = input.peek(left.min(PIECE));
            let taken = piece.len();
            if head.is_tls {
                lines.feed(piece, notes.key_lines);
            }
            if taken == 0 {
                notes.secrets.cut = Some(place);
                notes.cut_bytes += input.position() - place;
                return None;
            }
            input.consume(taken);
            left -= taken;
        }
        if head.is_tls {
            notes.secrets.ended(place, lines, notes.key_lines);
        } else {
            notes.secrets.foreign += 1;
        }
        let rest = (behind - head.length + 4) as u64;
        if input.skip(rest) < rest {
            notes.cut_bytes += input.position() - place;
            return None;
        }
        Some(())
    }

    /// Advances to the next plausible block. `None` if there is none within [`SEARCH`] bytes.
    #[cold]
    fn search(&mut self, input: &mut Input<'_>, notes: &mut Notes<'_>) -> Option<()> {
        if self.search_within(input, notes, SEARCH) {
            return Some(());
        }
        notes.given_up = true;
        None
    }

    /// Advances, within `limit` bytes, to a known block with equal lengths at both ends.
    #[cold]
    fn search_within(&mut self, input: &mut Input<'_>, notes: &mut Notes<'_>, limit: usize) -> bool {
        let bytes = input.peek(limit.min(SEARCH) + MAX_BLOCK);
        let found = (4..limit.min(bytes.len())).find(|&offset| self.plausible(&bytes[offset..]));
        let Some(offset) = found else { return false };
        notes.skipped(offset as u64);
        input.consume(offset);
        true
    }

    fn plausible(&self, bytes: &[u8]) -> bool {
        let Some((kind, length)) = self.head(bytes) else {
            return false;
        };
        let known = matches!(
            kind,
            ENHANCED_PACKET | SIMPLE_PACKET | OBSOLETE_PACKET | INTERFACE | SECTION_HEADER | SECRETS
        );
        known
            && (12..=MAX_BLOCK).contains(&length)
            && length % 4 == 0
            && self.order_for(kind, bytes).u32_at(bytes, length - 4) == Some(length as u32)
    }
}

fn section_order(bytes: &[u8], offset: usize) -> ByteOrder {
    match NETWORK.u32_at(bytes, offset) {
        Some(BYTE_ORDER) => ByteOrder::Big,
        _ => ByteOrder::Little,
    }
}

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const BYTE_ORDER: u32 = 0x1a2b_3c4d;
const INTERFACE: u32 = 1;
const OBSOLETE_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;
const SECRETS: u32 = 10;
/// Sufficient for a packet with its options. Larger blocks of other kinds are skipped.
const MAX_BLOCK: usize = MAX_PACKET + (64 << 10);
const PIECE: usize = 64 << 10;
/// Bytes of options and padding after the secrets of a large block.
const MAX_OPTIONS: usize = 64 << 10;
/// Interfaces per section; `dumpcap` writes a few.
const MAX_INTERFACES: usize = 65_536;
