//! Strict checks of the first token of a response. `fields` follow the token; `is_last` if the
//! response has no other packet.

use crate::decoding::reader::Reader;

/// The end of a statement with its flags.
pub(super) fn done(mut fields: Reader<'_>, _: bool) -> Option<()> {
    let (flags, _) = (fields.u16_le()?, fields.u16_le()?);
    (flags & !DONE_FLAGS == 0 && fields.left() >= 4).then_some(())
}

pub(super) fn four_bytes(mut fields: Reader<'_>, _: bool) -> Option<()> {
    fields.u32_le().map(drop)
}

pub(super) fn columns(mut fields: Reader<'_>, _: bool) -> Option<()> {
    let columns = fields.u16_le()?;
    (columns == NO_COLUMNS || (1..=4096).contains(&columns)).then_some(())
}

pub(super) fn change(mut fields: Reader<'_>, is_last: bool) -> Option<()> {
    let length = usize::from(fields.u16_le()?);
    let kind = fields.u8()?;
    ((1..=20).contains(&kind) && (!is_last || length <= fields.left() + 1)).then_some(())
}

pub(super) fn message(mut fields: Reader<'_>, is_last: bool) -> Option<()> {
    let length = usize::from(fields.u16_le()?);
    fields.u32_le()?;
    let (_, class) = (fields.u8()?, fields.u8()?);
    (class <= 25 && length > 10 && (!is_last || length <= fields.left() + 6)).then_some(())
}

pub(super) fn login(mut fields: Reader<'_>, is_last: bool) -> Option<()> {
    let length = usize::from(fields.u16_le()?);
    let (interface, version) = (fields.u8()?, fields.array::<4>()?);
    (interface <= 1 && version[0] != 0 && (!is_last || length <= fields.left() + 5)).then_some(())
}

pub(super) fn sized(mut fields: Reader<'_>, _: bool) -> Option<()> {
    (fields.u16_le()? > 0).then_some(())
}

pub(super) fn order(mut fields: Reader<'_>, is_last: bool) -> Option<()> {
    let length = usize::from(fields.u16_le()?);
    (length > 0 && (!is_last || length <= fields.left())).then_some(())
}

pub(super) const NO_COLUMNS: u16 = 0xffff;
/// Flags of the end of a statement: more, error, in a transaction, count, stopped, in a procedure,
/// server error.
const DONE_FLAGS: u16 = 0x01bf;
