//! Messages and their beginnings, joined from frames.

use model::{Direction, Timestamp};

pub(super) const FULL_FRAME: u32 = 0x00FF_FFFF;

#[derive(Debug, Clone, Copy)]
pub(super) struct Arrival {
    pub direction: Direction,
    pub started: Timestamp,
    pub ended: Timestamp,
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct MessageStart {
    /// Length of the first frame's body; [`FULL_FRAME`] if others follow.
    pub length: u32,
    pub sequence: u8,
    /// First byte of the body; `None` if it is empty.
    pub first: Option<u8>,
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Interest {
    pub need: usize,
    /// Bytes of the head that decoding can use, at least `need`.
    pub like: usize,
    /// Whether every byte of the body goes to `Conversation::watch`.
    pub watch: bool,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Unit<'a> {
    pub opening: MessageStart,
    pub head: &'a [u8],
    /// Body bytes of all frames.
    pub length: u64,
    /// Bytes on the stream, with framing.
    pub bytes: u64,
    pub started: Timestamp,
    pub ended: Timestamp,
}
