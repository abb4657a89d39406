//! Numbers in the byte order of a file or a protocol.

#[inline]
pub(crate) fn u32_at(bytes: &[u8], offset: usize, big: bool) -> Option<u32> {
    let four = *bytes.get(offset..)?.first_chunk::<4>()?;
    Some(if big {
        u32::from_be_bytes(four)
    } else {
        u32::from_le_bytes(four)
    })
}

#[inline]
pub(crate) fn u16_at(bytes: &[u8], offset: usize, big: bool) -> Option<u16> {
    let two = *bytes.get(offset..)?.first_chunk::<2>()?;
    Some(if big {
        u16::from_be_bytes(two)
    } else {
        u16::from_le_bytes(two)
    })
}
