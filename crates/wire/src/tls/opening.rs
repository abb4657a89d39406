//! How TLS begins, checked strictly.

use super::MAXIMUM_RECORD;
use decoding::recognition::Recognition;
use model::Direction;

/// What the first bytes seen in `direction` say.
pub fn opens(direction: Direction, bytes: &[u8]) -> Recognition {
    let hello = match direction {
        Direction::ClientToServer => 1,
        Direction::ServerToClient => 2,
    };
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
                SHORTEST_HELLO..=LONGEST_HELLO => Recognition::Certain,
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

const CHANGE_CIPHER: u8 = 20;
const ALERT: u8 = 21;
const HANDSHAKE: u8 = 22;
/// A version.
const SHORTEST_HELLO: u32 = 2;
const LONGEST_HELLO: u32 = 1 << 17;
