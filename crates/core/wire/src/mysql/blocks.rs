//! Blocks of the compressed protocol, with a 7-byte header around the frames, after login.
//!
//! The header is compressed length (3 bytes), sequence number, uncompressed length (3 bytes; 0 for
//! a stored block). The content is zlib or, with MySQL, zstd: distinguished by its first byte.

use super::lane::Meter;
use super::wrong_byte;
use crate::decoding::fault::fault;
use crate::decoding::framing::HeaderFault;
use flate2::{Decompress, FlushDecompress};
use model::Timestamp;
use std::fmt;
use zstd::stream::raw::{DParameter, Decoder as Zstd, InBuffer, Operation, OutBuffer};

/// Takes uncompressed bytes of a block, with the time of the block's (or piece's) first byte and a
/// meter of compressed bytes.
pub(super) type Inner<'s> = dyn FnMut(Timestamp, &[u8], &mut Meter) -> Result<(), HeaderFault> + 's;

#[derive(Debug)]
pub(super) struct Blocks {
    header: [u8; 7],
    header_have: usize,
    started: Timestamp,
    /// Remaining content bytes of the current block; valid once the header is complete.
    left: u32,
    /// Uncompressed length claimed by the header; 0 for a stored block.
    claimed: u32,
    meter: Meter,
    content: Vec<u8>,
    inflater: Inflater,
}

impl Default for Blocks {
    fn default() -> Self {
        Self {
            header: [0; 7],
            header_have: 0,
            started: Timestamp::default(),
            left: 0,
            claimed: 0,
            meter: Meter::plain(),
            content: Vec::new(),
            inflater: Inflater::default(),
        }
    }
}

impl Blocks {
    /// Takes at least one byte and at most to the end of a block, and returns how many. `bytes`
    /// must not be empty.
    pub fn step(&mut self, at: Timestamp, bytes: &[u8], inner: &mut Inner<'_>) -> Result<usize, HeaderFault> {
        if self.header_have < self.header.len() {
            return self.take_header(at, bytes);
        }
        let taken = bytes.len().min(self.left as usize);
        let piece = bytes.get(..taken).unwrap_or(bytes);
        self.left -= taken as u32;
        let complete = self.left == 0;
        if complete {
            self.header_have = 0;
        }
        if self.claimed == 0 {
            inner(at, piece, &mut self.meter)?;
        } else if complete && self.content.is_empty() {
            self.inflater
                .run(piece, self.claimed, self.started, &mut self.meter, inner)?;
        } else {
            self.content.extend_from_slice(piece);
            if complete {
                self.inflater
                    .run(&self.content, self.claimed, self.started, &mut self.meter, inner)?;
                self.content.clear();
                self.content.shrink_to(KEPT_CONTENT);
            }
        }
        Ok(taken)
    }

    /// Skips `count` unseen bytes of a stored block; returns the meter for them.
    pub fn skip(&mut self, count: u64) -> Result<&mut Meter, HeaderFault> {
        let is_stored = self.header_have == self.header.len() && self.claimed == 0;
        match u32::try_from(count) {
            Ok(short) if is_stored && short <= self.left => {
                self.left -= short;
                if self.left == 0 {
                    self.header_have = 0;
                }
                Ok(&mut self.meter)
            }
            Ok(_) | Err(_) => Err(fault(
                "every byte of a compressed block",
                format!("{count} bytes not captured"),
            )),
        }
    }

    fn take_header(&mut self, at: Timestamp, bytes: &[u8]) -> Result<usize, HeaderFault> {
        if self.header_have == 0 {
            self.started = at;
        }
        let wanted = self.header.get_mut(self.header_have..).unwrap_or_default();
        let taken = wanted.len().min(bytes.len());
        for (place, &byte) in wanted.iter_mut().zip(bytes) {
            *place = byte;
        }
        self.header_have += taken;
        if self.header_have == self.header.len() {
            let [a, b, c, _sequence, d, e, f] = self.header;
            self.left = u32::from_le_bytes([a, b, c, 0]);
            self.claimed = u32::from_le_bytes([d, e, f, 0]);
            if self.left == 0 {
                return Err(fault("a compressed block with content", "an empty one"));
            }
            let inside = if self.claimed == 0 {
                self.left
            } else {
                self.claimed
            };
            self.meter = Meter::block(inside, self.left + HEADER);
        }
        Ok(taken)
    }
}

#[derive(Default)]
struct Inflater {
    zlib: Option<Decompress>,
    zstd: Option<Zstd<'static>>,
    output: Vec<u8>,
}

impl Inflater {
    /// Inflates a block's content in pieces; fails unless it yields exactly `claimed` bytes.
    fn run(
        &mut self,
        content: &[u8],
        claimed: u32,
        started: Timestamp,
        meter: &mut Meter,
        inner: &mut Inner<'_>,
    ) -> Result<(), HeaderFault> {
        self.output.resize(OUTPUT, 0);
        let mut codec = match content.first() {
            Some(&ZLIB) => {
                let zlib = self.zlib.get_or_insert_with(|| Decompress::new(true));
                zlib.reset(true);
                Codec::Zlib(zlib)
            }
            Some(&ZSTD) => Codec::Zstd(fresh_zstd(&mut self.zstd)?),
            other => return Err(wrong_byte("zlib or zstd content", other.copied())),
        };
        let mut rest = content;
        let mut left = claimed as usize;
        loop {
            let (read, written, ended) = codec.run(rest, &mut self.output)?;
            rest = rest.get(read..).unwrap_or_default();
            if written > left {
                return Err(fault("a compressed block of the length it claims", "more"));
            }
            left -= written;
            if let Some(piece) = self.output.get(..written).filter(|piece| !piece.is_empty()) {
                inner(started, piece, meter)?;
            }
            if ended || (read == 0 && written == 0) {
                break;
            }
        }
        if left > 0 {
            return Err(fault(
                "a compressed block of the length it claims",
                format!("{left} bytes less"),
            ));
        }
        Ok(())
    }
}

impl fmt::Debug for Inflater {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Inflater").finish_non_exhaustive()
    }
}

enum Codec<'c> {
    Zlib(&'c mut Decompress),
    Zstd(&'c mut Zstd<'static>),
}

impl Codec<'_> {
    /// Returns bytes read, bytes written, and whether the content has ended.
    fn run(&mut self, input: &[u8], output: &mut [u8]) -> Result<(usize, usize, bool), HeaderFault> {
        match self {
            Self::Zlib(zlib) => {
                let (read, written) = (zlib.total_in(), zlib.total_out());
                let status = zlib
                    .decompress(input, output, FlushDecompress::None)
                    .map_err(|_| fault("zlib content", "damaged content"))?;
                let read = (zlib.total_in() - read) as usize;
                let written = (zlib.total_out() - written) as usize;
                Ok((read, written, status == flate2::Status::StreamEnd))
            }
            Self::Zstd(zstd) => {
                let mut input = InBuffer::around(input);
                let mut output = OutBuffer::around(output);
                let remaining = zstd
                    .run(&mut input, &mut output)
                    .map_err(|_| fault("zstd content", "damaged content"))?;
                Ok((input.pos(), output.pos(), remaining == 0))
            }
        }
    }
}

/// A zstd decoder at the start of a frame. Its window is limited to the size of a block.
fn fresh_zstd<'k>(kept: &'k mut Option<Zstd<'static>>) -> Result<&'k mut Zstd<'static>, HeaderFault> {
    let failed = |_| fault("memory for a zstd decoder", "none");
    let zstd = match kept.take() {
        Some(mut zstd) => {
            zstd.reinit().map_err(failed)?;
            zstd
        }
        None => {
            let mut zstd = Zstd::new().map_err(failed)?;
            zstd.set_parameter(DParameter::WindowLogMax(24)).map_err(failed)?;
            zstd
        }
    };
    Ok(kept.insert(zstd))
}

const HEADER: u32 = 7;
/// First byte of zlib content: deflate with a 32 KiB window.
pub(super) const ZLIB: u8 = 0x78;
pub(super) const ZSTD: u8 = 0x28;
const OUTPUT: usize = 64 * 1024;
const KEPT_CONTENT: usize = 64 * 1024;
