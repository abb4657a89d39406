//! Strict check of TLS's first bytes.

use super::MAXIMUM_RECORD;
use crate::decoding::recognition::Recognition;
use model::Direction;

pub(super) fn opens(direction: Direction, bytes: &[u8]) -> Recognition {
    let hello = match direction {
        Direction::ClientToServer => 1,
        Direction::ServerToClient => 2,
    };
    if direction == Direction::ClientToServer && bytes.first() >= Some(&0x80) {
        return old_greeting(bytes);
    }
    let [kind, rest @ ..] = bytes else {
        return Recognition::More;
    };
    let kind = *kind;
    if !(20..=23).contains(&kind) || !matches!(rest, [] | [3] | [3, 0..=4, ..]) {
        return Recognition::Never;
    }
    let [_, _, high, low, body @ ..] = rest else {
        return Recognition::More;
    };
    let length = u16::from_be_bytes([*high, *low]);
    match (kind, body) {
        _ if !(1..=MAXIMUM_RECORD).contains(&length) => Recognition::Never,
        (CHANGE_CIPHER, _) if length != 1 => Recognition::Never,
        (ALERT, _) if length == 2 => match body {
            [] | [1 | 2] => Recognition::More,
            [1 | 2, ..] => Recognition::Plausible,
            _ => Recognition::Never,
        },
        (HANDSHAKE, [first, ..]) if *first != hello => Recognition::Plausible,
        (HANDSHAKE, [_, long, middle, short, 3, 0..=4, ..]) => {
            let inside = u32::from_be_bytes([0, *long, *middle, *short]);
            match inside {
                MIN_HELLO_LEN..=MAX_HELLO_LEN => Recognition::Certain,
                _ => Recognition::Never,
            }
        }
        (HANDSHAKE, [_, _, _, _, ..]) if body.get(4).is_some_and(|&major| major != 3) || body.len() > 5 => {
            Recognition::Never
        }
        (HANDSHAKE, _) => Recognition::More,
        _ => Recognition::Plausible,
    }
}

/// A `ClientHello` in the form of SSL 2 (RFC 5246 appendix E.2): the lengths of its three fields
/// add up.
fn old_greeting(bytes: &[u8]) -> Recognition {
    let [high, low, rest @ ..] = bytes else {
        return Recognition::More;
    };
    let length = u16::from_be_bytes([high & 0x7f, *low]);
    if !matches!(rest, [] | [1] | [1, 3] | [1, 3, 0..=3, ..]) {
        return Recognition::Never;
    }
    let Some((fields, _)) = rest.get(3..).and_then(|rest| rest.split_first_chunk::<6>()) else {
        return Recognition::More;
    };
    let [ciphers, session, challenge] =
        [0, 2, 4].map(|place| u16::from_be_bytes([fields[place], fields[place + 1]]));
    let is_right = ciphers > 0
        && ciphers.is_multiple_of(3)
        && matches!(session, 0 | 16)
        && (16..=32).contains(&challenge)
        && u32::from(length) == 9 + u32::from(ciphers) + u32::from(session) + u32::from(challenge);
    if is_right {
        Recognition::Certain
    } else {
        Recognition::Never
    }
}

const CHANGE_CIPHER: u8 = 20;
const ALERT: u8 = 21;
const HANDSHAKE: u8 = 22;
const MIN_HELLO_LEN: u32 = 2;
const MAX_HELLO_LEN: u32 = 1 << 17;
