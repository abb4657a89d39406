//! Splits one direction into structures and their objects.

use super::MAXIMUM_TEXT;
use super::codepoint::{ACCSEC, EXTDTA, QRYDSC, QRYDTA, SECCHK, SQLDTA, SQLDTARD, SQLSTT};
use crate::decoding::decoder::DecodeError;
use crate::decoding::framing::Input;
use crate::decoding::resume::MessageShape;
use model::{Direction, Timestamp};

#[derive(Debug)]
pub(super) struct HalfConnection {
    pub(super) direction: Direction,
    pub(super) started: Timestamp,
    pub(super) last: Timestamp,
    pub(super) taken: u64,
    offset: u64,
    head: Head,
    segment: Head,
    structure: Option<Structure>,
    object: Option<Object>,
    pub(super) kept: Vec<u8>,
    holed: bool,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Structure {
    format: u8,
    pub(super) correlation: u16,
    left: u16,
    continued: bool,
}

#[derive(Debug, Clone, Copy, Default)]
struct Head {
    bytes: [u8; 12],
    filled: usize,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Object {
    pub(super) code: u16,
    pub(super) correlation: u16,
    /// Bytes left of it; `None` if it lasts as long as its structure.
    left: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Which {
    Segment,
    Other,
}

/// Receives the bytes of rows as they pass, `None` for unseen ones.
pub(super) type Rows<'r> = dyn FnMut(&Object, Option<&[u8]>) + 'r;

impl Structure {
    pub(super) const fn is_chained(self) -> bool {
        self.format & CHAINED != 0
    }

    pub(super) const fn is_one_way(self) -> bool {
        self.format & KIND == ONE_WAY
    }

    pub(super) const fn is_data(self) -> bool {
        self.format & KIND == DATA
    }

    pub(super) const fn has_more_of_command(self) -> bool {
        self.format & SAME_CORRELATION != 0
    }

    const fn is_over(self) -> bool {
        self.left == 0 && !self.continued
    }
}

impl HalfConnection {
    pub(super) fn new(direction: Direction) -> Self {
        Self {
            direction,
            started: Timestamp::default(),
            last: Timestamp::default(),
            taken: 0,
            offset: 0,
            head: Head::default(),
            segment: Head::default(),
            structure: None,
            object: None,
            kept: Vec::new(),
            holed: false,
        }
    }

    /// Code point of the object; `None` for a structure without one.
    pub(super) fn code(&self) -> Option<u16> {
        self.object.map(|object| object.code)
    }

    pub(super) fn structure(&self) -> Option<Structure> {
        self.structure
    }

    /// Whether the completed object ends its structure, and that structure its side's turn.
    pub(super) fn ends_chain(&self) -> bool {
        self.structure
            .is_none_or(|structure| structure.is_over() && !structure.is_chained())
    }

    /// Kept bytes of the object, up to the first hole.
    pub(super) fn body(&self) -> &[u8] {
        &self.kept
    }

    /// Whether all of the object was kept.
    pub(super) fn is_whole(&self) -> bool {
        !self.holed && self.kept.len() < limit(self.code().unwrap_or_default())
    }

    pub(super) const fn pending(&self) -> u64 {
        self.taken
    }

    pub(super) fn restart(&mut self) {
        let offset = self.offset + self.taken;
        *self = Self {
            offset,
            ..Self::new(self.direction)
        };
    }

    pub(super) fn advance(
        &mut self,
        input: &mut Input<'_>,
        rows: &mut Rows<'_>,
    ) -> Result<bool, DecodeError> {
        while !input.is_empty() {
            if self.taken == 0 {
                self.started = input.at();
            }
            self.last = input.at();
            let Some(structure) = self.structure else {
                if self.fill(Which::Other, input, HEADER.into())? {
                    self.begin_structure()?;
                }
                if self.structure.is_some_and(Structure::is_over) {
                    return Ok(true);
                }
                continue;
            };
            if structure.left == 0 {
                if self.fill(Which::Segment, input, 2)? {
                    self.go_on()?;
                }
                continue;
            }
            match self.object {
                None => self.begin_object(input)?,
                Some(_) => self.pass(input, rows),
            }
            if self.object_is_over()? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    pub(super) fn ended(&mut self) {
        self.offset += std::mem::take(&mut self.taken);
        self.object = None;
        self.kept.clear();
        self.kept.shrink_to(KEPT_BETWEEN_MESSAGES);
        self.holed = false;
        self.structure = self.structure.filter(|structure| !structure.is_over());
    }

    fn fill(&mut self, which: Which, input: &mut Input<'_>, length: usize) -> Result<bool, DecodeError> {
        let head = match which {
            Which::Segment => &mut self.segment,
            Which::Other => &mut self.head,
        };
        for &byte in input.take_bytes(length.saturating_sub(head.filled)) {
            if let Some(place) = head.bytes.get_mut(head.filled) {
                *place = byte;
            }
            head.filled += 1;
            self.taken += 1;
        }
        match input.unseen_count() {
            _ if head.filled >= length => Ok(true),
            0 => Ok(false),
            unseen => {
                let found = format!("{unseen} bytes that were not captured");
                Err(self.error("the header of a structure", found))
            }
        }
    }

    fn begin_structure(&mut self) -> Result<(), DecodeError> {
        let [high, low, magic, format, first, second, ..] = std::mem::take(&mut self.head).bytes;
        let length = u16::from_be_bytes([high, low]);
        let plain = length & !CONTINUED;
        if magic != MAGIC || !is_format(format) || plain < HEADER {
            let found = format!("length {length}, bytes {magic:#04x} and {format:#04x}");
            return Err(self.error("a structure", found));
        }
        self.structure = Some(Structure {
            format,
            correlation: u16::from_be_bytes([first, second]),
            left: plain - HEADER,
            continued: length & CONTINUED != 0,
        });
        Ok(())
    }

    fn go_on(&mut self) -> Result<(), DecodeError> {
        let [high, low, ..] = std::mem::take(&mut self.segment).bytes;
        let length = u16::from_be_bytes([high, low]);
        let Some(left) = (length & !CONTINUED).checked_sub(2).filter(|&left| left > 0) else {
            return Err(self.error("the length of a segment", length.to_string()));
        };
        if let Some(structure) = &mut self.structure {
            structure.left = left;
            structure.continued = length & CONTINUED != 0;
        }
        Ok(())
    }

    fn begin_object(&mut self, input: &mut Input<'_>) -> Result<(), DecodeError> {
        let before = self.head.filled;
        let wanted = match self.head.bytes {
            [0x80, low, ..] if before >= 4 => usize::from(low),
            _ => 4,
        };
        let room = self.structure.map_or(0, |structure| usize::from(structure.left));
        self.fill(Which::Other, input, wanted.min(before + room))?;
        let taken = self.head.filled - before;
        if let Some(structure) = &mut self.structure {
            structure.left -= u16::try_from(taken).unwrap_or(structure.left);
        }
        if self.head.filled < wanted {
            return Ok(());
        }
        let [high, low, code @ ..] = self.head.bytes;
        let length = u16::from_be_bytes([high, low]);
        let left = match (length, wanted) {
            (4..CONTINUED, _) => Some(u64::from(length) - 4),
            (UNTIL_THE_END, _) => None,
            (EXTENDED_4 | EXTENDED_6 | EXTENDED_8, 4) => return Ok(()),
            (EXTENDED_4 | EXTENDED_6 | EXTENDED_8, wanted) => {
                let digits = self.head.bytes.get(4..wanted).unwrap_or_default();
                Some(digits.iter().fold(0, |sum, &byte| (sum << 8) | u64::from(byte)))
            }
            (length, _) => return Err(self.error("the length of an object", length.to_string())),
        };
        self.head = Head::default();
        self.object = Some(Object {
            code: u16::from_be_bytes([code[0], code[1]]),
            correlation: self.structure.map_or(0, |structure| structure.correlation),
            left,
        });
        Ok(())
    }

    fn pass(&mut self, input: &mut Input<'_>, rows: &mut Rows<'_>) {
        let (Some(structure), Some(object)) = (&mut self.structure, &mut self.object) else {
            return;
        };
        let most = u64::from(structure.left).min(object.left.unwrap_or(u64::MAX));
        let (before, length) = (input.bytes(), input.length());
        input.pass(most);
        let part = before
            .get(..before.len() - input.bytes().len())
            .unwrap_or_default();
        let passed = length - input.length();
        let unseen = passed > part.len() as u64;
        structure.left -= u16::try_from(passed).unwrap_or(structure.left);
        object.left = object.left.map(|left| left - passed);
        self.taken += passed;
        if object.code == QRYDTA {
            rows(object, Some(part));
            if unseen {
                rows(object, None);
            }
        }
        if !self.holed {
            let room = limit(object.code).saturating_sub(self.kept.len());
            self.kept.extend_from_slice(part.get(..room).unwrap_or(part));
        }
        self.holed |= unseen;
    }

    fn object_is_over(&self) -> Result<bool, DecodeError> {
        let Some(structure) = self.structure else {
            return Ok(false);
        };
        match self.object.map(|object| object.left) {
            Some(Some(0)) => Ok(true),
            Some(None) if structure.is_over() => Ok(true),
            Some(Some(left)) if structure.is_over() => {
                let found = format!("{left} bytes more than its structure");
                Err(self.error("an object within its structure", found))
            }
            None if structure.is_over() => {
                let found = format!("{} bytes", self.head.filled);
                Err(self.error("the header of an object", found))
            }
            Some(_) | None => Ok(false),
        }
    }

    pub(super) fn error(&self, expected: &'static str, found: String) -> DecodeError {
        DecodeError {
            protocol: "drda",
            direction: match self.direction {
                Direction::ClientToServer => "client-to-server",
                Direction::ServerToClient => "server-to-client",
            },
            offset: self.offset,
            expected,
            found,
        }
    }
}

/// Possible header of a structure and of its first object at the beginning of `bytes`.
pub(super) fn shape(bytes: &[u8]) -> MessageShape {
    let &[high, low, magic, format, ..] = bytes else {
        return MessageShape::Cut;
    };
    let length = u16::from_be_bytes([high, low]);
    if magic != MAGIC || !is_format(format) || length & CONTINUED != 0 || length < HEADER + 4 {
        return MessageShape::Wrong;
    }
    MessageShape::Sure(usize::from(length))
}

/// Inspected bytes of an object: none of secrets and rows; enough of parameters to recognise
/// repeated calls.
const fn limit(code: u16) -> usize {
    match code {
        ACCSEC | SECCHK | SQLDTARD | EXTDTA | QRYDTA => 0,
        SQLDTA => MAXIMUM_VALUES,
        SQLSTT => MAXIMUM_TEXT,
        QRYDSC => MAXIMUM_DESCRIPTION,
        _ => 1024,
    }
}

/// Whether a structure can have this format, which holds its kind and chaining.
pub(super) const fn is_format(format: u8) -> bool {
    matches!(format & KIND, REQUEST..=ONE_WAY) && matches!(format >> 4, 0 | 1 | 4 | 5 | 6 | 7)
}

pub(super) const MAGIC: u8 = 0xD0;
/// Kinds of structures: request, reply, data, encrypted data, request without a reply.
const KIND: u8 = 0x0F;
const REQUEST: u8 = 1;
const DATA: u8 = 3;
const ONE_WAY: u8 = 5;
const CHAINED: u8 = 0x40;
const SAME_CORRELATION: u8 = 0x10;
pub(super) const HEADER: u16 = 6;
/// In a length: another segment follows, or the length is longer than this.
pub(super) const CONTINUED: u16 = 0x8000;
/// Values of a length: the object lasts as long as its structure, or a longer length follows.
const UNTIL_THE_END: u16 = 0x8004;
const EXTENDED_4: u16 = 0x8008;
const EXTENDED_6: u16 = 0x800A;
const EXTENDED_8: u16 = 0x800C;
/// Enough for a thousand columns.
const MAXIMUM_DESCRIPTION: usize = 8192;
const MAXIMUM_VALUES: usize = 4096;
const KEPT_BETWEEN_MESSAGES: usize = 4096;
