//! Decompresses captures. A new compression needs one row in [`COMPRESSIONS`] and a decompressor.

use flate2::bufread::MultiGzDecoder;
use std::io::{self, BufReader, Read};

type Bytes<'a> = Box<dyn Read + 'a>;

pub(crate) struct Compression {
    pub name: &'static str,
    begins: fn([u8; 4]) -> bool,
    /// Also decompresses several concatenated pieces.
    pub expand: for<'a> fn(Bytes<'a>) -> io::Result<Bytes<'a>>,
}

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

/// A frame, or a skippable frame, which some tools put in front (RFC 8878 section 3.1.2).
fn zstd_begins(magic: [u8; 4]) -> bool {
    let number = u32::from_le_bytes(magic);
    number == 0xfd2f_b528 || (0x184d_2a50..=0x184d_2a5f).contains(&number)
}

fn zstd<'a>(reader: Bytes<'a>) -> io::Result<Bytes<'a>> {
    let decoder = zstd::stream::read::Decoder::with_buffer(BufReader::with_capacity(BUFFER, reader))?;
    Ok(Box::new(decoder))
}

const BUFFER: usize = 128 << 10;
