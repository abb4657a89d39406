//! One long-lived Zstandard frame, flushed after every chunk; another level starts a new frame.

use super::CompressError;
use crate::{MAX_CHUNK_BYTES, Zstandard};
use zstd::stream::raw::{
    CParameter, DParameter, Decoder as RawDecoder, Encoder as RawEncoder, InBuffer, Operation, OutBuffer,
};
use zstd::zstd_safe;

/// Parameter value for zstd's default.
const AS_THE_LEVEL_HAS_IT: u32 = 0;
/// Maximum history of a receiver as a power of two; larger frames are refused.
const MAX_WINDOW_LOG: u32 = 23;

pub(super) struct Encoder {
    frame: RawEncoder<'static>,
    /// Is `None` between frames.
    settings: Option<Zstandard>,
}

impl Encoder {
    pub(super) fn new() -> Result<Self, CompressError> {
        let frame = RawEncoder::new(1).map_err(|_| CompressError::Damaged)?;
        Ok(Self {
            frame,
            settings: None,
        })
    }

    pub(super) fn compress(
        &mut self,
        chunk: &[u8],
        settings: Zstandard,
        out: &mut Vec<u8>,
    ) -> Result<(), CompressError> {
        if chunk.is_empty() {
            return Ok(());
        }
        out.reserve(zstd_safe::compress_bound(chunk.len()) + super::MAX_CHUNK_OVERHEAD);
        if self.settings != Some(settings) {
            if self.settings.take().is_some() {
                drain(out, |out| self.frame.finish(out, true))?;
            }
            self.set(settings)?;
        }
        let mut unread = InBuffer::around(chunk);
        while unread.pos() < chunk.len() {
            step(out, |out| self.frame.run(&mut unread, out))?;
        }
        drain(out, |out| self.frame.flush(out))
    }

    pub(super) fn forget(&mut self) {
        // Resetting a session cannot fail (zstd.h, ZSTD_CCtx_reset).
        let _ = self.frame.reinit();
        self.settings = None;
    }

    fn set(&mut self, settings: Zstandard) -> Result<(), CompressError> {
        let parameters = [
            CParameter::CompressionLevel(settings.effort),
            CParameter::WindowLog(settings.window_log),
            CParameter::HashLog(settings.hash_log.unwrap_or(AS_THE_LEVEL_HAS_IT)),
        ];
        for parameter in parameters {
            self.frame
                .set_parameter(parameter)
                .map_err(|_| CompressError::Damaged)?;
        }
        self.settings = Some(settings);
        Ok(())
    }
}

pub(super) struct Decoder {
    frame: RawDecoder<'static>,
    is_damaged: bool,
}

impl Decoder {
    pub(super) fn new() -> Result<Self, CompressError> {
        let mut frame = RawDecoder::new().map_err(|_| CompressError::Damaged)?;
        frame
            .set_parameter(DParameter::WindowLogMax(MAX_WINDOW_LOG))
            .map_err(|_| CompressError::Damaged)?;
        Ok(Self {
            frame,
            is_damaged: false,
        })
    }

    pub(super) fn decompress(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), CompressError> {
        if self.is_damaged {
            return Err(CompressError::Damaged);
        }
        let turned_back = self.turn_back(bytes, out);
        self.is_damaged = turned_back.is_err();
        turned_back
    }

    pub(super) fn forget(&mut self) {
        // Resetting a session cannot fail (zstd.h, ZSTD_DCtx_reset).
        let _ = self.frame.reinit();
    }

    fn turn_back(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), CompressError> {
        let most = out.len() + MAX_CHUNK_BYTES;
        // One more than allowed, so that a full buffer never hides an excess.
        out.reserve(MAX_CHUNK_BYTES + 1);
        let mut unread = InBuffer::around(bytes);
        while unread.pos() < bytes.len() {
            step(out, |out| self.frame.run(&mut unread, out))?;
            if out.len() > most {
                return Err(CompressError::TooLarge);
            }
        }
        Ok(())
    }
}

fn drain(
    out: &mut Vec<u8>,
    mut operation: impl FnMut(&mut OutBuffer<'_, Vec<u8>>) -> std::io::Result<usize>,
) -> Result<(), CompressError> {
    while step(out, &mut operation)? > 0 {
        out.reserve(super::MAX_CHUNK_OVERHEAD);
    }
    Ok(())
}

fn step(
    out: &mut Vec<u8>,
    operation: impl FnOnce(&mut OutBuffer<'_, Vec<u8>>) -> std::io::Result<usize>,
) -> Result<usize, CompressError> {
    let end = out.len();
    operation(&mut OutBuffer::around_pos(out, end)).map_err(|_| CompressError::Damaged)
}
