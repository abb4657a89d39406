//! Sizes of values in the binary protocol.

use crate::decoding::reader::Reader;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ValueSize {
    Fixed(u8),
    /// By a length-encoded integer in front (dates and times use its one-byte form).
    Prefixed,
}

impl ValueSize {
    /// By column type (`enum_field_types` of MySQL, "Binary Protocol Value").
    pub const fn from_column_type(column_type: u8) -> Self {
        match column_type {
            TYPE_NULL => Self::Fixed(0),
            TYPE_TINY => Self::Fixed(1),
            TYPE_SHORT | TYPE_YEAR => Self::Fixed(2),
            TYPE_LONG | TYPE_FLOAT | TYPE_INT24 => Self::Fixed(4),
            TYPE_DOUBLE | TYPE_LONGLONG => Self::Fixed(8),
            _ => Self::Prefixed,
        }
    }
}

/// Skips the query attributes before a statement's text (MySQL 8.0.23, `COM_QUERY`). `None` if they
/// are malformed or truncated.
pub(super) fn skip_query_attributes(fields: &mut Reader<'_>) -> Option<()> {
    let count = usize::try_from(fields.lenenc_int()?).ok()?;
    let sets = fields.lenenc_int()?;
    if count == 0 {
        return Some(());
    }
    let nulls = fields.take_bytes(count.div_ceil(8))?;
    let new_types = fields.u8()?;
    if sets != 1 || new_types != 1 {
        return None;
    }
    let types = *fields;
    for _ in 0..count {
        fields.u16_le()?;
        fields.lenenc_bytes()?;
    }
    let mut types = types;
    for place in 0..count {
        let column_type = types.u16_le()?.to_le_bytes()[0];
        types.lenenc_bytes()?;
        let is_null = nulls
            .get(place / 8)
            .is_some_and(|bits| bits & (1 << (place % 8)) != 0);
        if is_null {
            continue;
        }
        match ValueSize::from_column_type(column_type) {
            ValueSize::Fixed(size) => fields.take_bytes(usize::from(size))?,
            ValueSize::Prefixed => fields.lenenc_bytes()?,
        };
    }
    Some(())
}

const TYPE_TINY: u8 = 1;
const TYPE_SHORT: u8 = 2;
const TYPE_LONG: u8 = 3;
const TYPE_FLOAT: u8 = 4;
const TYPE_DOUBLE: u8 = 5;
const TYPE_NULL: u8 = 6;
const TYPE_LONGLONG: u8 = 8;
const TYPE_INT24: u8 = 9;
const TYPE_YEAR: u8 = 13;
