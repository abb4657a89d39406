//! One direction of a lane: chunks in, compressed chunks out, with one context for all of them.
//!
//! The context is made when it is first used, so that a lane which never compresses does not pay for one.
//! Changing to another level starts a new one; a chunk that is stored in between changes nothing.

use crate::{Codec, CompressionLevel, MAX_CHUNK_BYTES};
use std::fmt;

mod zstandard;

/// How a chunk was put into bytes; travels in its frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Coding {
    /// As it is; no context knows of it.
    Stored = 0,
    /// With the direction's Zstandard context.
    Zstd = 1,
}

/// A chunk could not be decompressed, or a library refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CompressError {
    /// The bytes are not what a compressor of this version makes after what came before.
    #[error("a compressed chunk does not continue the previous one")]
    Damaged,
    /// A chunk would be larger than any may be.
    #[error("a chunk of more than {MAX_CHUNK_BYTES} bytes")]
    TooLarge,
}

/// Most bytes by which a compressed chunk may be larger than the chunk: a codec's own headers, where nothing
/// got smaller.
pub const MAX_CHUNK_OVERHEAD: usize = 64;

/// Compresses what one direction of a lane sends.
#[derive(Default)]
pub struct Compressor {
    zstd: Option<zstandard::Encoder>,
}

impl Compressor {
    /// A compressor that remembers nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends `chunk` to `out`, compressed at `level`, and returns how it was encoded. All of it can be
    /// decompressed as soon as it has arrived: nothing waits for a later chunk. What is appended is at most
    /// [`MAX_CHUNK_OVERHEAD`] larger than the chunk.
    ///
    /// # Errors
    /// When the chunk is larger than [`MAX_CHUNK_BYTES`], or the codec fails.
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

    /// Forgets what came before: the next chunk can be decompressed without it. Its frame carries the fact,
    /// and the other end's [`Decompressor::forget`] is called before that chunk is decompressed.
    pub fn forget(&mut self) {
        if let Some(encoder) = &mut self.zstd {
            encoder.forget();
        }
    }
}

/// Decompresses what a [`Compressor`] made, in the same order.
#[derive(Default)]
pub struct Decompressor {
    zstd: Option<zstandard::Decoder>,
}

impl Decompressor {
    /// A decompressor that remembers nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends to `out` the chunk that `bytes` were made of: at most [`MAX_CHUNK_BYTES`] bytes, whatever
    /// `bytes` are.
    ///
    /// # Errors
    /// When `bytes` do not continue what came before, or would make more. `out` may then hold part of a
    /// chunk, and nothing that comes later can be decompressed.
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

    /// Forgets what came before, where the sender's [`Compressor::forget`] did.
    pub fn forget(&mut self) {
        if let Some(decoder) = &mut self.zstd {
            decoder.forget();
        }
    }
}

/// Says whether the context was made, nothing of what it remembers.
impl fmt::Debug for Compressor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Compressor {{ zstd: {} }}", self.zstd.is_some())
    }
}

/// Says whether the context was made, nothing of what it remembers.
impl fmt::Debug for Decompressor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Decompressor {{ zstd: {} }}", self.zstd.is_some())
    }
}
