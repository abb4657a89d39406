//! Recognises MySQL and MariaDB by greeting or handshake response, or in the middle of a connection
//! by a plausible command.

use super::capabilities::PROTOCOL_41;
use super::messages::PROTOCOL_VERSION;
use super::messages::reply::ERR;
use super::request;
use crate::decoding::reader::Reader;
use crate::decoding::recognition::Recognition;
use model::Direction;

pub fn recognise(direction: Direction, bytes: &[u8]) -> Recognition {
    let mut reader = Reader::new(bytes);
    let (Some(length), Some(sequence)) = (reader.u24_le(), reader.u8()) else {
        return Recognition::More;
    };
    match (direction, sequence) {
        (Direction::ServerToClient, 0) => opening(length, reader),
        (Direction::ClientToServer, 0) => command(length, reader.rest()),
        (Direction::ClientToServer, 1) => handshake_response(length, reader),
        (Direction::ServerToClient | Direction::ClientToServer, _) => Recognition::Never,
    }
}

fn opening(length: u32, mut body: Reader<'_>) -> Recognition {
    if !(MIN_ERROR_LEN..=MAX_GREETING_LEN).contains(&length) {
        return Recognition::Never;
    }
    match body.u8() {
        None => Recognition::More,
        Some(PROTOCOL_VERSION) if length >= MIN_GREETING_LEN => match body.array::<2>() {
            Some([major, next]) if major.is_ascii_digit() && (next.is_ascii_digit() || next == b'.') => {
                Recognition::Certain
            }
            Some(_) => Recognition::Never,
            None => Recognition::More,
        },
        Some(ERR) => match body.u16_le() {
            Some(number) if ERRORS.contains(&number) => Recognition::Plausible,
            Some(_) => Recognition::Never,
            None => Recognition::More,
        },
        Some(_) => Recognition::Never,
    }
}

fn command(length: u32, body: &[u8]) -> Recognition {
    match body.get(..length.min(2) as usize) {
        Some(sample) if is_plausible_command(sample, u64::from(length)) => Recognition::Plausible,
        Some(_) => Recognition::Never,
        None => Recognition::More,
    }
}

/// Capabilities with protocol 4.1, longest message, character set, and 19 zeros.
fn handshake_response(length: u32, mut body: Reader<'_>) -> Recognition {
    if !(32..=MAX_RESPONSE_LEN).contains(&length) {
        return Recognition::Never;
    }
    let (Some(flags), Some(fixed)) = (body.u32_le(), body.take_bytes(5 + 19)) else {
        return Recognition::More;
    };
    let is_filled = fixed
        .get(5..)
        .is_some_and(|filler| filler.iter().all(|&byte| byte == 0));
    if u64::from(flags) & PROTOCOL_41 != 0 && is_filled {
        Recognition::Certain
    } else {
        Recognition::Never
    }
}

pub(super) fn is_plausible_command(head: &[u8], length: u64) -> bool {
    head.split_first()
        .is_some_and(|(&command, body)| request::is_plausible(command, length, body))
}

const ERRORS: std::ops::Range<u16> = 1000..5000;
const MIN_GREETING_LEN: u32 = 20;
const MIN_ERROR_LEN: u32 = 3;
const MAX_GREETING_LEN: u32 = 512;
/// A handshake response with connection attributes; servers accept 64 KiB of them.
const MAX_RESPONSE_LEN: u32 = 70_000;
