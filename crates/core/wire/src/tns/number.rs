//! Numbers of TTC, as written by thin clients and by servers since 12c: a length byte and that many
//! bytes, most significant first.

use crate::decoding::reader::Reader;

/// Reads at most `width` bytes. The length's highest bit is a sign, which is ignored here.
fn number(reader: &mut Reader<'_>, width: usize) -> Option<u64> {
    let mut ahead = *reader;
    let length = usize::from(ahead.u8()? & !SIGN);
    if length > width {
        return None;
    }
    let bytes = ahead.take_bytes(length)?;
    *reader = ahead;
    Some(bytes.iter().fold(0, |value, &byte| value << 8 | u64::from(byte)))
}

pub(super) fn ub2(reader: &mut Reader<'_>) -> Option<u16> {
    number(reader, 2).and_then(|value| u16::try_from(value).ok())
}

pub(super) fn ub4(reader: &mut Reader<'_>) -> Option<u32> {
    number(reader, 4).and_then(|value| u32::try_from(value).ok())
}

pub(super) fn ub8(reader: &mut Reader<'_>) -> Option<u64> {
    number(reader, 8)
}

/// Bytes after their number, and after their length if there are any. Returns `None` for long
/// ones, which are sent in chunks.
pub(super) fn text<'a>(reader: &mut Reader<'a>) -> Option<&'a [u8]> {
    let mut ahead = *reader;
    let bytes = match ub4(&mut ahead)? {
        0 => &[],
        _ => short(&mut ahead)?,
    };
    *reader = ahead;
    Some(bytes)
}

pub(super) fn short<'a>(reader: &mut Reader<'a>) -> Option<&'a [u8]> {
    let mut ahead = *reader;
    let length = ahead.u8()?;
    if length > MAX_SHORT_LEN {
        return None;
    }
    let bytes = ahead.take_bytes(usize::from(length))?;
    *reader = ahead;
    Some(bytes)
}

const SIGN: u8 = 0x80;
/// The longest text after one byte of length; 254 announces chunks, 255 means NULL.
pub(super) const MAX_SHORT_LEN: u8 = 252;
/// Stands for a length: chunks follow, each after its number of bytes, up to an empty one.
pub(super) const CHUNKS: u8 = 254;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_their_length_before_them() {
        let mut reader = Reader::new(&[0, 1, 7, 2, 1, 0, 4, 1, 0, 0, 0, 5, 0]);
        assert_eq!(ub4(&mut reader), Some(0));
        assert_eq!(ub2(&mut reader), Some(7));
        assert_eq!(ub8(&mut reader), Some(256));
        assert_eq!(ub4(&mut reader), Some(1 << 24));
        assert_eq!(ub4(&mut reader), None);
        assert_eq!(reader.left(), 2);
        assert_eq!(text(&mut Reader::new(b"\x01\x03\x03abc")), Some(&b"abc"[..]));
        assert_eq!(text(&mut Reader::new(b"\0")), Some(&b""[..]));
        assert_eq!(text(&mut Reader::new(b"\x01\x03\x04abc")), None);
    }
}
