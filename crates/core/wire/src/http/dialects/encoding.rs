//! Compression of bodies.

use flate2::read::GzDecoder;
use std::borrow::Cow;
use std::io::Read;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Encoding {
    #[default]
    Plain,
    Gzip,
    /// One that is not opened.
    Other,
}

impl Encoding {
    pub(super) fn from_field(value: &[u8]) -> Self {
        match value {
            b"identity" => Self::Plain,
            b"gzip" | b"x-gzip" => Self::Gzip,
            _ => Self::Other,
        }
    }

    /// The beginning of a body, from that of the encoded one; empty if it cannot be opened.
    pub(crate) fn open(self, body: &[u8]) -> Cow<'_, [u8]> {
        match self {
            Self::Plain => Cow::Borrowed(body),
            Self::Gzip => {
                let mut opened = Vec::new();
                // Bytes before an error stay.
                let _ = GzDecoder::new(body).take(MAX_OPENED).read_to_end(&mut opened);
                Cow::Owned(opened)
            }
            Self::Other => Cow::Borrowed(b""),
        }
    }
}

const MAX_OPENED: u64 = 16 * 1024;

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write;

    #[test]
    fn the_beginning_of_a_compressed_body_is_read() {
        let text = [b"{\"sqlText\":\"select 1\"}".as_slice(), &[b' '; 40_000]].concat();
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(&text).expect("memory");
        let packed = encoder.finish().expect("memory");
        assert_eq!(Encoding::Gzip.open(&packed), &text[..16 * 1024]);
        assert!(text.starts_with(&Encoding::Gzip.open(&packed[..packed.len() / 2])));
        assert!(Encoding::Gzip.open(b"nothing of the kind").is_empty());
        assert!(Encoding::from_field(b"br").open(&packed).is_empty());
    }
}
