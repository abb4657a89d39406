//! LZ4 with history: each chunk is one block of the LZ4 frame format, linked to the 64 KiB before it.
//!
//! The frame's header is the same in every stream and stays off the lane; block headers stay, because one bit of them says
//! whether a block is stored. Format: lz4's `doc/lz4_Frame_format.md` and `doc/lz4_Block_format.md`.

use super::CompressError;
use crate::MOST_OF_A_CHUNK;
use lz4_flex::frame::{BlockMode, BlockSize, FrameDecoder, FrameEncoder, FrameInfo};
use std::io::{BufRead, Cursor, Write};
use std::mem;

/// Magic number, version 1 with linked blocks and no checksum (the lane has one), blocks of at most 64 KiB, header checksum.
const FRAME_HEADER: [u8; 7] = [0x04, 0x22, 0x4d, 0x18, 0x40, 0x40, 0xc0];

/// A block of no bytes: the end of a frame.
const END_MARK: [u8; 4] = [0; 4];

/// In a block's header: its bytes are stored.
const STORED: u32 = 1 << 31;

pub(super) struct Encoder {
    /// Writes into an empty buffer, which is the caller's while a chunk is compressed.
    frame: FrameEncoder<Vec<u8>>,
    begun: bool,
}

impl Encoder {
    pub(super) fn new() -> Self {
        let linked = FrameInfo::new()
            .block_mode(BlockMode::Linked)
            .block_size(BlockSize::Max64KB);
        Self {
            frame: FrameEncoder::with_frame_info(linked, Vec::new()),
            begun: false,
        }
    }

    pub(super) fn compress(&mut self, chunk: &[u8], out: &mut Vec<u8>) -> Result<(), CompressError> {
        if chunk.is_empty() {
            return Ok(());
        }
        let start = out.len();
        mem::swap(self.frame.get_mut(), out);
        let written = self.frame.write_all(chunk).and_then(|()| self.frame.flush());
        mem::swap(self.frame.get_mut(), out);
        written.map_err(|_| CompressError::Damaged)?;
        if !self.begun {
            self.begun = true;
            out.drain(start..start + FRAME_HEADER.len());
        }
        Ok(())
    }

    /// Ends the frame; the encoder clears its table when the next one begins.
    pub(super) fn forget(&mut self) {
        if mem::take(&mut self.begun) {
            // Writing into memory does not fail, and a frame without a promised length cannot have missed it.
            let _ = self.frame.try_finish();
            self.frame.get_mut().clear();
        }
    }
}

pub(super) struct Decoder {
    frame: FrameDecoder<Cursor<Vec<u8>>>,
    begun: bool,
    is_damaged: bool,
}

impl Decoder {
    pub(super) fn new() -> Self {
        Self {
            frame: FrameDecoder::new(Cursor::new(Vec::new())),
            begun: false,
            is_damaged: false,
        }
    }

    pub(super) fn decompress(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), CompressError> {
        if bytes.is_empty() {
            return Ok(());
        }
        if self.is_damaged || !is_one_block(bytes) {
            return Err(CompressError::Damaged);
        }
        if !mem::replace(&mut self.begun, true) {
            self.offer(&FRAME_HEADER);
        }
        self.offer(bytes);
        let turned_back = self.take(out);
        self.is_damaged = turned_back.is_err();
        turned_back
    }

    pub(super) fn forget(&mut self) {
        if mem::take(&mut self.begun) {
            self.offer(&END_MARK);
            // Reads the mark, which holds no bytes.
            self.is_damaged |= self.frame.fill_buf().map_or(true, |rest| !rest.is_empty());
        }
    }

    /// Appends to what the decoder reads next; what it has read goes first.
    fn offer(&mut self, bytes: &[u8]) {
        let unread = self.frame.get_mut();
        if unread.position() >= unread.get_ref().len() as u64 {
            unread.set_position(0);
            unread.get_mut().clear();
        }
        unread.get_mut().extend_from_slice(bytes);
    }

    fn take(&mut self, out: &mut Vec<u8>) -> Result<(), CompressError> {
        let mut left = MOST_OF_A_CHUNK;
        loop {
            let ready = self.frame.fill_buf().map_err(|_| CompressError::Damaged)?;
            if ready.is_empty() {
                return Ok(());
            }
            let length = ready.len();
            left = left.checked_sub(length).ok_or(CompressError::TooLarge)?;
            out.extend_from_slice(ready);
            self.frame.consume(length);
        }
    }
}

/// Whether these are exactly one block: then they cannot end the frame, nor begin one with other limits.
fn is_one_block(bytes: &[u8]) -> bool {
    let Some((header, block)) = bytes.split_first_chunk() else {
        return false;
    };
    let length = u32::from_le_bytes(*header) & !STORED;
    !block.is_empty() && usize::try_from(length) == Ok(block.len())
}
