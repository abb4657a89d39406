//! Types of columns and parameters, which determine the length of values.
//!
//! Source: MS-TDS 2.2.5.4 (data types) and 2.2.5.5 (their values).

use crate::decoding::reader::Reader;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ColumnShape {
    Fixed(u8),
    /// One byte of length, 0 for NULL.
    Byte,
    /// Two bytes of length, 0xFFFF for NULL.
    Short,
    /// Four bytes of length, 0 for NULL.
    Long,
    /// Chunks, each after its length, if the total is unknown.
    Chunks,
    /// Text and image, with a pointer, a time, four bytes of length.
    Pointed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Of {
    Result,
    Parameter,
}

/// Returns a type's code and the shape of its values. `None` if it is truncated or unsupported:
/// [`is_known`] distinguishes these.
pub(super) fn shape(reader: &mut Reader<'_>, of: Of) -> Option<(u8, ColumnShape)> {
    let code = reader.u8()?;
    let shape = match code {
        0x1f => ColumnShape::Fixed(0),
        0x30 | 0x32 => ColumnShape::Fixed(1),
        0x34 => ColumnShape::Fixed(2),
        0x38 | 0x3a | 0x3b | 0x7a => ColumnShape::Fixed(4),
        0x3c | 0x3d | 0x3e | 0x7f => ColumnShape::Fixed(8),
        DATE => ColumnShape::Byte,
        GUID | INTEGER | BIT | FLOAT | MONEY | DATE_TIME | 0x29..=0x2b | 0x25 | 0x27 | 0x2d | 0x2f => {
            reader.u8()?;
            ColumnShape::Byte
        }
        0x37 | 0x3f | 0x6a | 0x6c => {
            reader.take_bytes(3)?;
            ColumnShape::Byte
        }
        BINARY | FIXED_BINARY => sized(reader.u16_le()?),
        TEXT_8 | FIXED_TEXT_8 | TEXT_16 | FIXED_TEXT_16 => {
            let size = reader.u16_le()?;
            reader.take_bytes(COLLATION)?;
            sized(size)
        }
        LONG_TEXT_8 | LONG_TEXT_16 => {
            reader.take_bytes(4 + COLLATION)?;
            ColumnShape::Pointed
        }
        IMAGE => {
            reader.take_bytes(4)?;
            ColumnShape::Pointed
        }
        VARIANT => {
            reader.take_bytes(4)?;
            ColumnShape::Long
        }
        XML => {
            if reader.u8()? != 0 {
                short_name(reader)?;
                short_name(reader)?;
                long_name(reader)?;
            }
            ColumnShape::Chunks
        }
        USER_DEFINED => user_defined(reader, of)?,
        JSON => ColumnShape::Chunks,
        _ => return None,
    };
    Some((code, shape))
}

fn user_defined(reader: &mut Reader<'_>, of: Of) -> Option<ColumnShape> {
    if of == Of::Result {
        reader.u16_le()?;
    }
    for _ in 0..3 {
        short_name(reader)?;
    }
    if of == Of::Result {
        long_name(reader)?;
    }
    Some(ColumnShape::Chunks)
}

pub(super) const fn is_known(code: u8) -> bool {
    matches!(
        code,
        0x1f | 0x22..=0x2b
            | 0x2d
            | 0x2f
            | 0x30
            | 0x32
            | 0x34
            | 0x37
            | 0x38
            | 0x3a..=0x3f
            | 0x62
            | 0x63
            | 0x68
            | 0x6a
            | 0x6c..=0x6f
            | 0x7a
            | 0x7f
            | 0xa5
            | 0xa7
            | 0xad
            | 0xaf
            | 0xe7
            | 0xef
            | 0xf0
            | 0xf1
            | 0xf4
    )
}

pub(super) const fn names_table(code: u8) -> bool {
    matches!(code, LONG_TEXT_8 | LONG_TEXT_16 | IMAGE)
}

pub(super) const fn is_text_16(code: u8) -> bool {
    matches!(code, TEXT_16 | FIXED_TEXT_16 | LONG_TEXT_16)
}

pub(super) const fn is_text_8(code: u8) -> bool {
    matches!(code, TEXT_8 | FIXED_TEXT_8 | LONG_TEXT_8)
}

const fn sized(size: u16) -> ColumnShape {
    if size == NO_LIMIT {
        ColumnShape::Chunks
    } else {
        ColumnShape::Short
    }
}

pub(super) fn short_name<'a>(reader: &mut Reader<'a>) -> Option<&'a [u8]> {
    let mut ahead = *reader;
    let units = usize::from(ahead.u8()?);
    let name = ahead.take_bytes(units * 2)?;
    *reader = ahead;
    Some(name)
}

pub(super) fn long_name<'a>(reader: &mut Reader<'a>) -> Option<&'a [u8]> {
    let mut ahead = *reader;
    let units = usize::from(ahead.u16_le()?);
    let name = ahead.take_bytes(units * 2)?;
    *reader = ahead;
    Some(name)
}

/// A complete value of a call's parameter or a returned value. `Some(None)` is NULL.
pub(super) fn value(reader: &mut Reader<'_>, shape: ColumnShape, of: Of) -> Option<Option<Vec<u8>>> {
    let length = match shape {
        ColumnShape::Fixed(length) => usize::from(length),
        ColumnShape::Byte => match reader.u8()? {
            0 => return Some(None),
            length => usize::from(length),
        },
        ColumnShape::Short => match reader.u16_le()? {
            NULL_SHORT => return Some(None),
            length => usize::from(length),
        },
        ColumnShape::Pointed if of == Of::Result => return None,
        ColumnShape::Long | ColumnShape::Pointed => match reader.u32_le()? {
            NULL_LONG => return Some(None),
            length => usize::try_from(length).ok()?,
        },
        ColumnShape::Chunks => return chunks(reader),
    };
    reader.take_bytes(length).map(|bytes| Some(bytes.to_vec()))
}

fn chunks(reader: &mut Reader<'_>) -> Option<Option<Vec<u8>>> {
    if reader.u64_le()? == NULL_CHUNKS {
        return Some(None);
    }
    let mut all = Vec::new();
    loop {
        match usize::try_from(reader.u32_le()?).ok()? {
            0 => return Some(Some(all)),
            length => all.extend_from_slice(reader.take_bytes(length)?),
        }
    }
}

const GUID: u8 = 0x24;
const INTEGER: u8 = 0x26;
const DATE: u8 = 0x28;
const BIT: u8 = 0x68;
const FLOAT: u8 = 0x6d;
const MONEY: u8 = 0x6e;
const DATE_TIME: u8 = 0x6f;
const IMAGE: u8 = 0x22;
const LONG_TEXT_8: u8 = 0x23;
const LONG_TEXT_16: u8 = 0x63;
const VARIANT: u8 = 0x62;
const BINARY: u8 = 0xa5;
const TEXT_8: u8 = 0xa7;
const FIXED_BINARY: u8 = 0xad;
const FIXED_TEXT_8: u8 = 0xaf;
const TEXT_16: u8 = 0xe7;
const FIXED_TEXT_16: u8 = 0xef;
const USER_DEFINED: u8 = 0xf0;
const XML: u8 = 0xf1;
const JSON: u8 = 0xf4;
const COLLATION: usize = 5;
/// A size of a type without a limit: values are sent in chunks.
const NO_LIMIT: u16 = 0xffff;
pub(super) const NULL_SHORT: u16 = 0xffff;
pub(super) const NULL_LONG: u32 = 0xffff_ffff;
pub(super) const NULL_CHUNKS: u64 = u64::MAX;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_that_is_read_is_known_and_no_other() {
        for code in 0..=u8::MAX {
            let long = [&[code][..], &[0; 64]].concat();
            let found = shape(&mut Reader::new(&long), Of::Result);
            assert_eq!(found.is_some(), is_known(code), "{code:#04x}");
        }
    }
}
