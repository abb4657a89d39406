//! Recognises TLS by its record header.

use crate::decoding::recognition::Recognition;
use model::Direction;

pub fn recognise(direction: Direction, bytes: &[u8]) -> Recognition {
    let hello = match direction {
        Direction::ClientToServer => 1,
        Direction::ServerToClient => 2,
    };
    match *bytes {
        [] => Recognition::More,
        [20..=23] | [20..=23, 3] => Recognition::More,
        [20..=23, 3, 0..=4] | [20..=23, 3, 0..=4, _] => Recognition::More,
        [22, 3, 0..=4, high, low] if short(high, low) => Recognition::More,
        [22, 3, 0..=4, high, low, kind, ..] if short(high, low) && kind == hello => Recognition::Certain,
        [20..=23, 3, 0..=4, high, low, ..] if short(high, low) => Recognition::Plausible,
        _ => Recognition::Never,
    }
}

fn short(high: u8, low: u8) -> bool {
    (1..=super::MAXIMUM_RECORD).contains(&u16::from_be_bytes([high, low]))
}
