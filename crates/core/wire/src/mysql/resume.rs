//! Finds a command or a reply after uncaptured bytes by sequence numbers: a command has 0, its
//! reply begins with 1, and a continuation has the next one.

use super::blocks::{ZLIB, ZSTD};
use super::messages::reply::{EOF, ERR, LOCAL_INFILE, OK};
use super::request::is_plausible_command;
use crate::decoding::reader::Reader;
use crate::decoding::resume::{MessageShape, Resumption, find};
use model::Direction;

pub(super) fn find_frame(direction: Direction, bytes: &[u8], whole: bool) -> Resumption {
    find(bytes, whole, |bytes, before| {
        let mut reader = Reader::new(bytes);
        let (Some(length), Some(sequence)) = (reader.u24_le(), reader.u8()) else {
            return MessageShape::Cut;
        };
        let next = before
            .and_then(|before| before.get(3))
            .map(|last| last.wrapping_add(1));
        let begins = match (direction, sequence) {
            (Direction::ClientToServer, 0) => is_plausible_command(reader.rest(), u64::from(length)),
            (Direction::ServerToClient, 1) => begins_reply(length, reader.rest().first().copied()),
            (Direction::ClientToServer | Direction::ServerToClient, _) => false,
        };
        match begins || next == Some(sequence) {
            true => MessageShape::Likely(4 + length as usize),
            false => MessageShape::Wrong,
        }
    })
}

pub(super) fn find_block(direction: Direction, bytes: &[u8], whole: bool) -> Resumption {
    find(bytes, whole, |bytes, before| {
        let mut reader = Reader::new(bytes);
        let (Some(length), Some(sequence), Some(claimed)) = (reader.u24_le(), reader.u8(), reader.u24_le())
        else {
            return MessageShape::Cut;
        };
        let next = before
            .and_then(|before| before.get(3))
            .map(|last| last.wrapping_add(1));
        let first = match direction {
            Direction::ClientToServer => 0,
            Direction::ServerToClient => 1,
        };
        let follows = sequence == first || next == Some(sequence);
        let total = 7 + length as usize;
        match (claimed, reader.rest().first()) {
            _ if !follows || length == 0 => MessageShape::Wrong,
            (_, None) => MessageShape::Cut,
            (0, Some(_)) => MessageShape::Likely(total),
            (1.., Some(&(ZLIB | ZSTD))) => MessageShape::Sure(total),
            (1.., Some(_)) => MessageShape::Wrong,
        }
    })
}

/// Whether length and first byte fit a reply's first message: OK, an error, an EOF, LOCAL INFILE,
/// or a column count.
fn begins_reply(length: u32, first: Option<u8>) -> bool {
    match first {
        None => false,
        Some(OK) => length >= 7,
        Some(ERR) => length >= 3,
        Some(EOF) => length < 9,
        Some(LOCAL_INFILE) => true,
        Some(_) => length <= 9,
    }
}
