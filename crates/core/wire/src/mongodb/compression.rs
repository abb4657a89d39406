//! Opens the compressed content of `OP_COMPRESSED`.

use flate2::read::ZlibDecoder;
use std::io::Read;
use zstd::stream::read::Decoder as ZstdDecoder;

/// Returns `None` for an unknown or damaged compression, and for more than [`MAX_INFLATED`] bytes.
pub(super) fn inflate(compressor: u8, content: &[u8]) -> Option<Vec<u8>> {
    match compressor {
        0 => Some(content.to_vec()),
        1 => snappy(content),
        2 => read_all(ZlibDecoder::new(content)),
        3 => {
            let mut decoder = ZstdDecoder::with_buffer(content).ok()?;
            decoder.window_log_max(MAX_WINDOW_LOG).ok()?;
            read_all(decoder)
        }
        _ => None,
    }
}

fn read_all(decoder: impl Read) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    decoder.take(MAX_INFLATED as u64 + 1).read_to_end(&mut out).ok()?;
    (out.len() <= MAX_INFLATED).then_some(out)
}

/// The raw format of Snappy begins with the length, then literals and copies of earlier output follow.
fn snappy(content: &[u8]) -> Option<Vec<u8>> {
    let (length, mut rest) = varint(content)?;
    let mut out = Vec::new();
    while let Some((&tag, behind)) = rest.split_first() {
        let (count, offset, width) = match tag & 3 {
            0 if tag >> 2 < 60 => (usize::from(tag >> 2) + 1, None, 0),
            0 => {
                let width = usize::from(tag >> 2) - 59;
                (little_endian(behind, width)? + 1, None, width)
            }
            1 => {
                let low = usize::from(*behind.first()?);
                (
                    4 + usize::from(tag >> 2 & 7),
                    Some(usize::from(tag >> 5) << 8 | low),
                    1,
                )
            }
            kind => {
                let width = if kind == 2 { 2 } else { 4 };
                (
                    usize::from(tag >> 2) + 1,
                    Some(little_endian(behind, width)?),
                    width,
                )
            }
        };
        rest = behind.get(width..)?;
        if out.len().checked_add(count)? > MAX_INFLATED {
            return None;
        }
        match offset {
            None => {
                let (literal, behind) = rest.split_at_checked(count)?;
                out.extend_from_slice(literal);
                rest = behind;
            }
            Some(offset) => copy(&mut out, offset, count)?,
        }
    }
    (out.len() == length).then_some(out)
}

/// A copy may overlap its output.
fn copy(out: &mut Vec<u8>, offset: usize, count: usize) -> Option<()> {
    let start = out.len().checked_sub(offset).filter(|_| offset > 0)?;
    for place in start..start + count {
        out.push(*out.get(place)?);
    }
    Some(())
}

fn little_endian(bytes: &[u8], width: usize) -> Option<usize> {
    let bytes = bytes.get(..width)?;
    Some(
        bytes
            .iter()
            .rev()
            .fold(0, |number, &byte| number << 8 | usize::from(byte)),
    )
}

fn varint(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let mut number = 0;
    for (place, &byte) in bytes.iter().take(5).enumerate() {
        number |= usize::from(byte & 0x7f) << (7 * place);
        if byte < 0x80 {
            return Some((number, bytes.get(place + 1..)?));
        }
    }
    None
}

pub(super) const MAX_INFLATED: usize = 4 << 20;
const MAX_WINDOW_LOG: u32 = 23;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_and_copies_of_snappy() {
        assert_eq!(inflate(1, b"\x0b\x0chell\x15\x04\x08\x01ol").as_deref(), None);
        assert_eq!(inflate(1, b"\x0a\x04ab\x12\x02\0\x04\x01\x02").as_deref(), None);
        assert_eq!(
            inflate(1, b"\x07\x04ab\x12\x02\0").as_deref(),
            Some(&b"abababa"[..])
        );
        assert_eq!(inflate(1, b"\x06\x04ab\x01\x02").as_deref(), Some(&b"ababab"[..]));
        assert_eq!(inflate(1, b"\x02\xf0\x01ab").as_deref(), Some(&b"ab"[..]));
        for damaged in [
            &b""[..],
            b"\x02\x04a",
            b"\x04\x01\x00",
            b"\x05\x04ab",
            b"\xff\xff\xff\xff\xff\x01",
        ] {
            assert_eq!(inflate(1, damaged), None, "{damaged:?}");
        }
    }

    #[test]
    fn output_is_bounded() {
        let zeros = vec![0; MAX_INFLATED + 1];
        let zstd = zstd::encode_all(&zeros[..], 1).expect("it is compressed");
        assert_eq!(inflate(3, &zstd), None);
        let zstd = zstd::encode_all(&zeros[1..], 1).expect("it is compressed");
        assert_eq!(inflate(3, &zstd).map(|out| out.len()), Some(MAX_INFLATED));
        assert_eq!(inflate(9, b"x"), None);
    }
}
