//! Compresses and decompresses chunks like the two ends of a lane, and measures the processor time.

use super::direction_payload::Cost;
use anyhow::{Context, Result, ensure};
use std::time::Duration;
use sys::thread_processor_time;
use tunnel::{Coding, CompressionLevel, Compressor, Decompressor};

/// The contexts of one direction of a lane at one level.
#[derive(Default)]
pub struct LevelCodec {
    compressor: Compressor,
    decompressor: Decompressor,
    compressed: Vec<u8>,
    turned_back: Vec<u8>,
}

pub struct Passed {
    pub bytes: usize,
    pub cost: Cost,
}

impl LevelCodec {
    pub fn new() -> Self {
        Self {
            compressor: Compressor::new(),
            decompressor: Decompressor::new(),
            ..Self::default()
        }
    }

    /// Codes `chunk` at `level`. With `stored` the chunk and the contexts do not change.
    ///
    /// # Errors
    /// If a codec fails, or does not return its input unchanged.
    pub fn pass(&mut self, chunk: &[u8], level: CompressionLevel, stored: bool) -> Result<Passed> {
        self.compressed.clear();
        self.turned_back.clear();
        let level = if stored { CompressionLevel::OFF } else { level };
        let begun = thread_processor_time();
        let coding = self.compressor.compress(chunk, level, &mut self.compressed);
        let compressed = thread_processor_time();
        let coding = coding.context("could not compress")?;
        let back = self
            .decompressor
            .decompress(coding, &self.compressed, &mut self.turned_back);
        let ended = thread_processor_time();
        back.context("could not decompress its own output")?;
        ensure!(
            self.turned_back == chunk,
            "a compressed chunk did not come back as it was"
        );
        let nanos = |span: Duration| match coding {
            Coding::Stored => 0.0,
            Coding::Zstd => span.as_nanos() as f64,
        };
        Ok(Passed {
            bytes: self.compressed.len(),
            cost: Cost {
                tunnel_bytes: on_the_lane(self.compressed.len()) as f64,
                compressing: nanos(compressed.saturating_sub(begun)),
                turning_back: nanos(ended.saturating_sub(compressed)),
            },
        })
    }
}

/// Bytes of a chunk on the lane: with the frame header and the overhead of TLS 1.3 records.
pub fn on_the_lane(bytes: usize) -> usize {
    let frame = bytes + FRAME_HEADER;
    frame + frame.div_ceil(RECORD) * RECORD_ADDS
}

/// Kind, coding, length, stream.
const FRAME_HEADER: usize = 8;
/// Maximum content of a TLS record (RFC 8446, section 5.1).
const RECORD: usize = 16_384;
/// Of a TLS 1.3 record: header (5), content type (1), authentication tag (16).
const RECORD_ADDS: usize = 22;
