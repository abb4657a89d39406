//! Fields of heads in any case.

use super::lines::Lines;
use crate::decoding::fault::fault;
use crate::decoding::framing::HeaderFault;
use memchr::memchr;
use model::{RequestId, SpanId};

#[derive(Debug, Clone, Copy)]
pub(crate) struct Field<'a> {
    line: &'a [u8],
    pub(super) initials: u32,
}

impl<'a> Field<'a> {
    #[inline]
    pub(crate) fn new(line: &'a [u8]) -> Option<Self> {
        let initials = initials(line.first_chunk()?);
        Some(Self { line, initials })
    }

    /// `name` is in lower case.
    #[inline]
    pub(super) fn value_of<const N: usize>(&self, name: &[u8; N]) -> Option<&'a [u8]> {
        let (start, rest) = self.line.split_first_chunk()?;
        let value = rest.strip_prefix(b":")?;
        is_name(start, name).then(|| value.trim_ascii())
    }

    pub(super) fn split(&self) -> Option<(&'a [u8], &'a [u8])> {
        let colon = memchr(b':', self.line)?;
        Some((&self.line[..colon], self.line[colon + 1..].trim_ascii()))
    }

    #[inline]
    pub(super) fn begins<const N: usize>(&self, beginning: &[u8; N]) -> bool {
        let start = self.line.split_first_chunk();
        start.is_some_and(|(start, rest)| {
            is_name(start, beginning) && memchr(b':', rest).is_some_and(|colon| colon > 0)
        })
    }
}

/// Of letters, which have the bit 0x40, 0x20 may differ.
#[inline]
fn is_name<const N: usize>(found: &[u8; N], name: &[u8; N]) -> bool {
    let pairs = found.iter().zip(name);
    pairs.fold(0, |wrong, (a, b)| wrong | ((a ^ b) & !((b & 0x40) >> 1))) == 0
}

#[derive(Debug, Default)]
pub(super) struct Fields {
    pub(super) length: Option<u64>,
    /// There is a transfer coding, and the last one is `chunked`.
    pub(super) chunked: bool,
    pub(super) encoded: bool,
    pub(super) expects_continue: bool,
    pub(super) persistence: Persistence,
    /// `Upgrade: h2c` (RFC 7540 section 3.2).
    pub(super) upgrades_to_http2: bool,
    pub(super) identifiers: Identifiers,
}

/// RFC 9112 section 9.3.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum Persistence {
    #[default]
    OfVersion,
    KeepAlive,
    Close,
}

impl Persistence {
    fn process_field(&mut self, value: &[u8]) {
        for option in value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii) {
            if option.eq_ignore_ascii_case(b"close") {
                *self = Self::Close;
            } else if *self == Self::OfVersion && option.eq_ignore_ascii_case(b"keep-alive") {
                *self = Self::KeepAlive;
            }
        }
    }

    pub(super) fn closes(self, version: &[u8]) -> bool {
        match self {
            Self::OfVersion => version == b"HTTP/1.0",
            Self::KeepAlive => false,
            Self::Close => true,
        }
    }
}

impl Fields {
    #[inline]
    pub(super) fn parse<'a>(
        lines: &mut Lines<'a>,
        mut other: impl FnMut(Field<'a>),
    ) -> Result<Self, HeaderFault> {
        let mut fields = Self::default();
        for line in lines {
            let Some(field) = Field::new(line) else {
                continue;
            };
            match field.initials {
                CONTENT => fields.process_length(field)?,
                TRANSFER => {
                    if let Some(value) = field.value_of(b"transfer-encoding") {
                        let last = value.rsplit(|&byte| byte == b',').next().unwrap_or_default();
                        fields.chunked = last.trim_ascii().eq_ignore_ascii_case(b"chunked");
                        fields.encoded = true;
                    }
                }
                EXPECT => {
                    if let Some(value) = field.value_of(b"expect") {
                        fields.expects_continue = value.eq_ignore_ascii_case(b"100-continue");
                    }
                }
                CONNECTION => {
                    if let Some(value) = field.value_of(b"connection") {
                        fields.persistence.process_field(value);
                    }
                }
                UPGRADE => {
                    if let Some(value) = field.value_of(b"upgrade") {
                        fields.upgrades_to_http2 = value == b"h2c";
                    }
                }
                TRACEPARENT | X_REQUEST => {
                    if let Some((name, value)) = field.split() {
                        fields.identifiers.process_field(name, value);
                    }
                }
                _ => {}
            }
            other(field);
        }
        Ok(fields)
    }

    #[inline]
    fn process_length(&mut self, field: Field<'_>) -> Result<(), HeaderFault> {
        let Some(value) = field.value_of(b"content-length") else {
            return Ok(());
        };
        let length = content_length(value).ok_or_else(|| fault("a content length", "something else"))?;
        if self.length.is_some_and(|before| before != length) {
            return Err(fault("one content length", "two that differ"));
        }
        self.length = Some(length);
        Ok(())
    }
}

#[derive(Debug, Default)]
pub(crate) struct Identifiers {
    traceparent: Carried,
    span: Option<SpanId>,
    request_id: Carried,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Carried {
    #[default]
    No,
    One(RequestId),
    Useless,
}

impl Identifiers {
    pub(crate) fn process_field(&mut self, name: &[u8], value: &[u8]) {
        if name.eq_ignore_ascii_case(b"traceparent") {
            self.traceparent.add(RequestId::of_traceparent(value));
            self.span = SpanId::of_traceparent(value);
        } else if name.eq_ignore_ascii_case(b"x-request-id") {
            self.request_id.add(RequestId::of_text(value));
        }
    }

    pub(crate) fn id(&self) -> Option<RequestId> {
        match (self.traceparent, self.request_id) {
            (Carried::One(id), _) | (_, Carried::One(id)) => Some(id),
            _ => None,
        }
    }

    pub(crate) fn span(&self) -> Option<SpanId> {
        self.span.filter(|_| matches!(self.traceparent, Carried::One(_)))
    }
}

impl Carried {
    fn add(&mut self, id: Option<RequestId>) {
        *self = match (*self, id) {
            (Self::No, Some(id)) => Self::One(id),
            (Self::One(before), Some(id)) if before == id => Self::One(id),
            _ => Self::Useless,
        };
    }
}

/// A number, or the same number repeated with commas (RFC 9112 section 6.3).
fn content_length(value: &[u8]) -> Option<u64> {
    if (1..=MAX_FAST).contains(&value.len()) && value.iter().all(u8::is_ascii_digit) {
        return Some(
            value
                .iter()
                .fold(0, |number, digit| number * 10 + u64::from(digit - b'0')),
        );
    }
    let mut lengths = value.split(|&byte| byte == b',').map(|number| {
        let number = number.trim_ascii();
        let digits = !number.is_empty() && number.iter().all(u8::is_ascii_digit);
        let text = std::str::from_utf8(number).ok().filter(|_| digits)?;
        text.parse::<u64>().ok()
    });
    let first = lengths.next()??;
    lengths.all(|length| length == Some(first)).then_some(first)
}

const MAX_FAST: usize = 19;

pub(super) const fn initials(name: &[u8; 4]) -> u32 {
    u32::from_le_bytes(*name) | 0x2020_2020
}

pub(super) const CONTENT: u32 = initials(b"cont");
const TRANSFER: u32 = initials(b"tran");
const CONNECTION: u32 = initials(b"conn");
const UPGRADE: u32 = initials(b"upgr");
const EXPECT: u32 = initials(b"expe");
const TRACEPARENT: u32 = initials(b"trac");
const X_REQUEST: u32 = initials(b"x-re");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_equal_in_any_case_and_only_then() {
        let name = b"x-amz-target";
        for place in 0..name.len() {
            for byte in 0..=u8::MAX {
                let mut found = *name;
                found[place] = byte;
                assert_eq!(
                    is_name(&found, name),
                    found.eq_ignore_ascii_case(name),
                    "{place} {byte}"
                );
            }
        }
        let value = |line: &'static [u8]| Field::new(line).and_then(|field| field.value_of(b"expect"));
        assert_eq!(value(b"EXPECT:  a b "), Some(&b"a b"[..]));
        assert_eq!(
            (value(b"expect : a"), value(b"expects: a"), value(b"expect")),
            (None, None, None)
        );
    }
}
