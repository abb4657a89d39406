//! Compressed captures. Another compression is one row in [`COMPRESSIONS`] and the function that decompresses
//! it.

use flate2::bufread::MultiGzDecoder;
use std::io::{self, BufReader, Read};

/// Bytes that can be read once.
type Bytes<'a> = Box<dyn Read + 'a>;

/// One way captures are compressed.
pub(crate) struct Compression {
    /// The word for it in reports.
    pub name: &'static str,
    /// Whether a source begins like this.
    begins: fn([u8; 4]) -> bool,
    /// Decompresses it, also when several compressed pieces follow each other.
    pub expand: for<'a> fn(Bytes<'a>) -> io::Result<Bytes<'a>>,
}

/// All compressions that longwire reads.
pub(crate) static COMPRESSIONS: &[Compression] = &[
    Compression {
        name: "gzip",
        begins: |magic| magic[..2] == [0x1f, 0x8b],
        expand: gzip,
    },
    Compression {
        name: "zstd",
        begins: zstd_begins,
        expand: zstd,
    },
];

/// The compression of a source that begins with `magic`.
pub(crate) fn find(magic: [u8; 4]) -> Option<&'static Compression> {
    COMPRESSIONS
        .iter()
        .find(|compression| (compression.begins)(magic))
}

fn gzip<'a>(reader: Bytes<'a>) -> io::Result<Bytes<'a>> {
    Ok(Box::new(MultiGzDecoder::new(BufReader::with_capacity(
        BUFFER, reader,
    ))))
}

/// A frame, or one of the skippable frames that some tools put in front (RFC 8878 section 3.1.2).
fn zstd_begins(magic: [u8; 4]) -> bool {
    let number = u32::from_le_bytes(magic);
    number == 0xfd2f_b528 || (0x184d_2a50..=0x184d_2a5f).contains(&number)
}

fn zstd<'a>(reader: Bytes<'a>) -> io::Result<Bytes<'a>> {
    let decoder = zstd::stream::read::Decoder::with_buffer(BufReader::with_capacity(BUFFER, reader))?;
    Ok(Box::new(decoder))
}

/// Compressed bytes read at a time.
const BUFFER: usize = 128 << 10;
