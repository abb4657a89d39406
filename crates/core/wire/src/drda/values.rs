//! Texts and outcomes of statements.

use super::ebcdic;
use crate::decoding::reader::Reader;
use std::fmt::Write;

/// Encoding of numbers and texts, announced when the database is accessed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Encoding {
    #[default]
    Unknown,
    /// Most significant byte first, texts in ASCII or a relative of it.
    Big,
    /// Least significant byte first.
    Little,
    /// Most significant byte first, texts in EBCDIC.
    Host,
}

impl Encoding {
    /// Takes the name of a type definition, which is itself in ASCII or EBCDIC.
    pub(super) fn named(name: &[u8]) -> Self {
        let mut text = String::new();
        if name.starts_with(b"QTD") {
            text.push_str(&String::from_utf8_lossy(name));
        } else {
            ebcdic::append(name, &mut text);
        }
        match text.trim_end() {
            "QTDSQLX86" | "QTDSQLVAX" => Self::Little,
            "QTDSQL370" | "QTDSQL400" => Self::Host,
            "" => Self::Unknown,
            _ => Self::Big,
        }
    }

    /// Whether the least significant byte comes first; `None` if unknown.
    pub(super) const fn is_little(self) -> Option<bool> {
        match self {
            Self::Unknown => None,
            Self::Little => Some(true),
            Self::Big | Self::Host => Some(false),
        }
    }
}

/// The text of a statement: two optional groups, each of four bytes of length and the text.
/// Truncated texts are accepted.
pub(super) fn statement(body: &[u8], encoding: Encoding) -> &[u8] {
    let mut fields = Reader::new(body);
    let given = match fields.u8() {
        Some(0) => true,
        Some(_) => fields.u8() == Some(0),
        None => false,
    };
    let Some(length) = fields.array::<4>().filter(|_| given) else {
        return &[];
    };
    let text = fields.rest();
    let is_little = encoding.is_little().unwrap_or(length[0] > length[3]);
    let length = if is_little {
        u32::from_le_bytes(length)
    } else {
        u32::from_be_bytes(length)
    };
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    text.get(..length).unwrap_or(text)
}

/// Decodes a text, through `buffer` if it is in EBCDIC.
pub(super) fn readable<'a>(text: &'a [u8], encoding: Encoding, buffer: &'a mut String) -> &'a [u8] {
    if encoding != Encoding::Host {
        return text;
    }
    buffer.clear();
    ebcdic::append(text, buffer);
    buffer.as_bytes()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Outcome {
    /// Negative for an error, 100 for the end of a query.
    pub(super) code: i32,
    pub(super) state: [u8; 5],
    /// Changed rows, or `None` if not reported.
    pub(super) rows: Option<u64>,
}

/// `None` if the outcome is success in one byte.
pub(super) fn outcome(body: &[u8], encoding: Encoding) -> Option<Outcome> {
    let mut fields = Reader::new(body);
    (fields.u8()? == 0).then_some(())?;
    let code = number(fields.array()?, encoding);
    let state = fields.array()?;
    fields.take_bytes(8)?; // product
    let rows = match fields.u8()? {
        0 => {
            fields.take_bytes(2 * 4)?;
            u64::try_from(number(fields.array()?, encoding)).ok()
        }
        _ => None,
    };
    Some(Outcome { code, state, rows })
}

impl Outcome {
    pub(super) fn write(&self, encoding: Encoding, buffer: &mut String) -> usize {
        buffer.clear();
        let readable = self.state.iter().all(u8::is_ascii_alphanumeric) && encoding != Encoding::Host;
        if readable {
            buffer.push_str(&String::from_utf8_lossy(&self.state));
        } else {
            ebcdic::append(&self.state, buffer);
        }
        let state = buffer.len();
        let _ = write!(buffer, "SQLCODE {}", self.code);
        state
    }
}

/// Returns the smaller value if the byte order is unknown.
fn number(bytes: [u8; 4], encoding: Encoding) -> i32 {
    let (big, little) = (i32::from_be_bytes(bytes), i32::from_le_bytes(bytes));
    match encoding.is_little() {
        Some(true) => little,
        Some(false) => big,
        None if little.unsigned_abs() < big.unsigned_abs() => little,
        None => big,
    }
}

pub(super) struct Parameters<'a> {
    rest: Reader<'a>,
}

impl<'a> Parameters<'a> {
    pub(super) const fn new(body: &'a [u8]) -> Self {
        Self {
            rest: Reader::new(body),
        }
    }

    pub(super) fn find(mut self, code: u16) -> Option<&'a [u8]> {
        self.by_ref()
            .find(|&(found, _)| found == code)
            .map(|(_, value)| value)
    }

    /// A number of one, two or four bytes, most significant first.
    pub(super) fn number(self, code: u16) -> Option<u32> {
        let value = self.find(code).filter(|value| (1..=4).contains(&value.len()))?;
        Some(value.iter().fold(0, |sum, &byte| (sum << 8) | u32::from(byte)))
    }
}

impl<'a> Iterator for Parameters<'a> {
    type Item = (u16, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let length = self.rest.u16_be()?;
        let code = self.rest.u16_be()?;
        let value = self.rest.take_bytes(usize::from(length).checked_sub(4)?)?;
        Some((code, value))
    }
}
