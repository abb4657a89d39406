//! Compresses the chunks of one direction of a lane with a shared context.
//!
//! The context is created on first use, so that an uncompressed lane does not pay for it. Another
//! level starts a new context; a stored chunk does not affect it.

use crate::{Codec, CompressionLevel, MAX_CHUNK_BYTES};
use std::fmt;

mod zstandard;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Coding {
    /// Not part of the context.
    Stored = 0,
    Zstd = 1,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CompressError {
    /// Invalid, or not a continuation of the earlier bytes.
    #[error("a compressed chunk does not continue the previous one")]
    Damaged,
    #[error("a chunk of more than {MAX_CHUNK_BYTES} bytes")]
    TooLarge,
}

/// A codec's own headers on incompressible data, in bytes.
pub const MAX_CHUNK_OVERHEAD: usize = 64;

#[derive(Default)]
pub struct Compressor {
    zstd: Option<zstandard::Encoder>,
}

impl Compressor {
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends `chunk` to `out`, compressed at `level`. It can be decompressed without later
    /// chunks.
    ///
    /// # Errors
    /// If the chunk is larger than [`MAX_CHUNK_BYTES`], or the codec fails.
    pub fn compress(
        &mut self,
        chunk: &[u8],
        level: CompressionLevel,
        out: &mut Vec<u8>,
    ) -> Result<Coding, CompressError> {
        if chunk.len() > MAX_CHUNK_BYTES {
            return Err(CompressError::TooLarge);
        }
        match level.codec() {
            Codec::Off => {
                out.extend_from_slice(chunk);
                Ok(Coding::Stored)
            }
            Codec::Zstd(settings) => {
                let encoder = match &mut self.zstd {
                    Some(encoder) => encoder,
                    none => none.insert(zstandard::Encoder::new()?),
                };
                encoder.compress(chunk, settings, out)?;
                Ok(Coding::Zstd)
            }
        }
    }

    /// Lets the next chunk be decompressed without the earlier ones. Its frame says so, and the
    /// other end calls [`Decompressor::forget`].
    pub fn forget(&mut self) {
        if let Some(encoder) = &mut self.zstd {
            encoder.forget();
        }
    }
}

/// Accepts the output of a [`Compressor`], in order.
#[derive(Default)]
pub struct Decompressor {
    zstd: Option<zstandard::Decoder>,
}

impl Decompressor {
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends at most [`MAX_CHUNK_BYTES`] bytes to `out`, for any input.
    ///
    /// # Errors
    /// If `bytes` do not continue the earlier ones, or would exceed the limit. `out` may then hold
    /// part of a chunk, and all later chunks fail.
    pub fn decompress(
        &mut self,
        coding: Coding,
        bytes: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), CompressError> {
        match coding {
            Coding::Stored if bytes.len() > MAX_CHUNK_BYTES => Err(CompressError::TooLarge),
            Coding::Stored => {
                out.extend_from_slice(bytes);
                Ok(())
            }
            Coding::Zstd => match &mut self.zstd {
                Some(decoder) => decoder.decompress(bytes, out),
                none => none.insert(zstandard::Decoder::new()?).decompress(bytes, out),
            },
        }
    }

    pub fn forget(&mut self) {
        if let Some(decoder) = &mut self.zstd {
            decoder.forget();
        }
    }
}

/// Shows whether the context exists, not its data.
impl fmt::Debug for Compressor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Compressor {{ zstd: {} }}", self.zstd.is_some())
    }
}

impl fmt::Debug for Decompressor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Decompressor {{ zstd: {} }}", self.zstd.is_some())
    }
}
