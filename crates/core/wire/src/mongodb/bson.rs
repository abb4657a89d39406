//! Elements of BSON documents (bsonspec.org, version 1.1), read without a copy.

use crate::decoding::reader::Reader;
use memchr::memchr;

/// A field of a document, or an element of an array with its index as the name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Element<'a> {
    pub(super) kind: u8,
    pub(super) name: &'a [u8],
    pub(super) length: u64,
    /// As far as it is there.
    pub(super) value: &'a [u8],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Parsed<'a> {
    /// With the number of bytes before the value.
    Element(Element<'a>, usize),
    End,
    More,
    Wrong,
}

impl<'a> Element<'a> {
    pub(super) fn is_nested(&self) -> bool {
        matches!(self.kind, kind::DOCUMENT | kind::ARRAY)
    }

    pub(super) fn is_whole(&self) -> bool {
        self.value.len() as u64 == self.length
    }

    pub(super) fn integer(&self) -> Option<i64> {
        let mut value = Reader::new(self.value);
        match self.kind {
            kind::INT32 => value.array().map(|bytes| i64::from(i32::from_le_bytes(bytes))),
            kind::INT64 => value.array().map(i64::from_le_bytes),
            kind::BOOLEAN => value.u8().map(i64::from),
            kind::DOUBLE => value.array().map(|bytes| f64::from_le_bytes(bytes) as i64),
            _ => None,
        }
    }

    pub(super) fn text(&self) -> Option<&'a [u8]> {
        let text = self
            .value
            .get(4..)
            .filter(|_| self.kind == kind::STRING && self.is_whole())?;
        text.strip_suffix(b"\0")
    }
}

/// Reads the element that `bytes` begins with.
// A call would pass it through memory.
#[inline(always)]
pub(super) fn parse(bytes: &[u8]) -> Parsed<'_> {
    let Some((&kind, rest)) = bytes.split_first() else {
        return Parsed::More;
    };
    if kind == 0 {
        return Parsed::End;
    }
    let Some(end) = end_of_name(rest) else {
        return too_long_or_cut(rest);
    };
    let (name, behind) = (
        rest.get(..end).unwrap_or_default(),
        rest.get(end + 1..).unwrap_or_default(),
    );
    let length = match value_length(kind, behind) {
        Length::Of(length) => length,
        Length::More => return Parsed::More,
        Length::Wrong => return Parsed::Wrong,
    };
    let there = usize::try_from(length).unwrap_or(usize::MAX).min(behind.len());
    let element = Element {
        kind,
        name,
        length,
        value: behind.get(..there).unwrap_or_default(),
    };
    Parsed::Element(element, end + 2)
}

#[inline]
fn end_of_name(rest: &[u8]) -> Option<usize> {
    const LOWEST: u64 = u64::from_le_bytes([1; 8]);
    const HIGHEST: u64 = LOWEST << 7;
    let word = rest
        .first_chunk()
        .map_or(u64::MAX, |word| u64::from_le_bytes(*word));
    match word.wrapping_sub(LOWEST) & !word & HIGHEST {
        0 => memchr(0, rest.get(..MAX_NAME).unwrap_or(rest)),
        zeros => Some(zeros.trailing_zeros() as usize / 8),
    }
}

fn too_long_or_cut(rest: &[u8]) -> Parsed<'_> {
    match rest.len() < MAX_NAME {
        true => Parsed::More,
        false => Parsed::Wrong,
    }
}

enum Length {
    Of(u64),
    More,
    Wrong,
}

#[inline]
fn value_length(kind: u8, value: &[u8]) -> Length {
    match FIXED[usize::from(kind)] {
        VARIABLE => variable_length(kind, value),
        length => Length::Of(u64::from(length)),
    }
}

#[inline]
fn variable_length(kind: u8, value: &[u8]) -> Length {
    let prefixed = |more: u64, least: i32| match document_length(value) {
        None => Length::More,
        Some(length) if length < least => Length::Wrong,
        Some(length) => Length::Of(u64::from(length.unsigned_abs()) + more),
    };
    match kind {
        kind::STRING | kind::CODE | kind::SYMBOL => prefixed(4, 1),
        kind::DOCUMENT | kind::ARRAY | kind::SCOPED_CODE => prefixed(0, MIN_DOCUMENT),
        kind::BINARY => prefixed(5, 0),
        kind::REGEX => regex(value),
        kind::POINTER => prefixed(16, 1),
        _ => Length::Wrong,
    }
}

/// Two texts without a length.
fn regex(value: &[u8]) -> Length {
    let mut ends = value
        .iter()
        .enumerate()
        .take(MAX_REGEX)
        .filter(|(_, byte)| **byte == 0);
    match ends.nth(1) {
        Some((end, _)) => Length::Of(end as u64 + 1),
        None if value.len() < MAX_REGEX => Length::More,
        None => Length::Wrong,
    }
}

/// The length that a document, array or text begins with.
pub(super) fn document_length(bytes: &[u8]) -> Option<i32> {
    bytes.first_chunk().map(|length| i32::from_le_bytes(*length))
}

/// The elements of a document as far as they are there; ends at the first wrong byte.
pub(super) fn elements(document: &[u8]) -> Elements<'_> {
    let length = document_length(document).unwrap_or(0);
    let there = usize::try_from(length).unwrap_or(0).min(document.len());
    Elements {
        rest: document.get(4..there).unwrap_or_default(),
    }
}

#[derive(Debug, Clone)]
pub(super) struct Elements<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Elements<'a> {
    type Item = Element<'a>;

    #[inline]
    fn next(&mut self) -> Option<Element<'a>> {
        let Parsed::Element(element, before) = parse(self.rest) else {
            return None;
        };
        let behind = self.rest.get(before + element.value.len()..);
        self.rest = behind.filter(|_| element.is_whole()).unwrap_or_default();
        Some(element)
    }
}

pub(super) mod kind {
    pub(in super::super) const DOUBLE: u8 = 0x01;
    pub(in super::super) const STRING: u8 = 0x02;
    pub(in super::super) const DOCUMENT: u8 = 0x03;
    pub(in super::super) const ARRAY: u8 = 0x04;
    pub(super) const BINARY: u8 = 0x05;
    pub(super) const UNDEFINED: u8 = 0x06;
    pub(super) const OBJECT_ID: u8 = 0x07;
    pub(in super::super) const BOOLEAN: u8 = 0x08;
    pub(super) const DATE: u8 = 0x09;
    pub(super) const NULL: u8 = 0x0A;
    pub(super) const REGEX: u8 = 0x0B;
    pub(super) const POINTER: u8 = 0x0C;
    pub(super) const CODE: u8 = 0x0D;
    pub(super) const SYMBOL: u8 = 0x0E;
    pub(super) const SCOPED_CODE: u8 = 0x0F;
    pub(in super::super) const INT32: u8 = 0x10;
    pub(super) const TIMESTAMP: u8 = 0x11;
    pub(in super::super) const INT64: u8 = 0x12;
    pub(super) const DECIMAL: u8 = 0x13;
    pub(super) const MIN_KEY: u8 = 0xFF;
    pub(super) const MAX_KEY: u8 = 0x7F;
}

const FIXED: [u8; 256] = {
    let mut lengths = [VARIABLE; 256];
    let known = [
        (kind::DOUBLE, 8),
        (kind::DATE, 8),
        (kind::TIMESTAMP, 8),
        (kind::INT64, 8),
        (kind::UNDEFINED, 0),
        (kind::NULL, 0),
        (kind::MIN_KEY, 0),
        (kind::MAX_KEY, 0),
        (kind::OBJECT_ID, 12),
        (kind::BOOLEAN, 1),
        (kind::INT32, 4),
        (kind::DECIMAL, 16),
    ];
    let mut place = 0;
    while place < known.len() {
        lengths[known[place].0 as usize] = known[place].1;
        place += 1;
    }
    lengths
};
const VARIABLE: u8 = u8::MAX;

/// An empty document has a length and an end.
pub(super) const MIN_DOCUMENT: i32 = 5;
const MAX_NAME: usize = 256;
const MAX_REGEX: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_end_where_the_document_or_the_bytes_do() {
        let document = b"\x1f\0\0\0\x10a\0\x07\0\0\0\x02b\0\x02\0\0\0x\0\x08c\0\x01\x0ad\0\0\0\0";
        let names: Vec<_> = elements(document)
            .map(|element| (element.name, element.integer()))
            .collect();
        let expected: [(&[u8], _); 4] = [(b"a", Some(7)), (b"b", None), (b"c", Some(1)), (b"d", None)];
        assert_eq!(names, expected);
        assert_eq!(elements(&document[..20]).count(), 2);
        assert_eq!(elements(document).nth(1).and_then(|b| b.text()), Some(&b"x"[..]));
        assert_eq!(parse(b"\x0ba\0^x"), Parsed::More);
        assert_eq!(parse(b"\x20a\0"), Parsed::Wrong);
        assert_eq!(parse(b"\x03a\0\x01\0\0\0"), Parsed::Wrong);
        assert_eq!(parse(b"\0"), Parsed::End);
    }

    #[test]
    fn names_of_any_length_end_with_a_zero() {
        for length in 0..300 {
            let bytes = [&[0x0A][..], &vec![0xFF; length], b"\0\x01\0\0\0\0\0\0\0\0"].concat();
            let found = parse(&bytes);
            match length < MAX_NAME {
                true => assert!(matches!(found, Parsed::Element(_, before) if before == length + 2)),
                false => assert_eq!(found, Parsed::Wrong),
            }
            assert_eq!(
                parse(&bytes[..=length]),
                if length < MAX_NAME {
                    Parsed::More
                } else {
                    Parsed::Wrong
                }
            );
        }
    }
}
