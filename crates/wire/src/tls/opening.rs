//! How TLS begins, looked at strictly.

use super::MAXIMUM_RECORD;
use crate::protocols::Verdict;
use model::Direction;

/// What the first bytes seen in `direction` say.
pub fn opens(direction: Direction, bytes: &[u8]) -> Verdict {
    let hello = match direction {
        Direction::ClientToServer => 1,
        Direction::ServerToClient => 2,
    };
    let [kind, rest @ ..] = bytes else {
        return Verdict::More;
    };
    let kind = *kind;
    if !(20..=23).contains(&kind) || !matches!(rest, [] | [3] | [3, 0..=4, ..]) {
        return Verdict::Never;
    }
    let [_, _, high, low, body @ ..] = rest else {
        return Verdict::More;
    };
    let length = u16::from_be_bytes([*high, *low]);
    match (kind, body) {
        _ if !(1..=MAXIMUM_RECORD).contains(&length) => Verdict::Never,
        (CHANGE_CIPHER, _) if length != 1 => Verdict::Never,
        (ALERT, _) if length == 2 => match body {
            [] | [1 | 2] => Verdict::More,
            [1 | 2, ..] => Verdict::Plausible,
            _ => Verdict::Never,
        },
        (HANDSHAKE, [first, ..]) if *first != hello => Verdict::Plausible,
        (HANDSHAKE, [_, long, middle, short, 3, 0..=4, ..]) => {
            let inside = u32::from_be_bytes([0, *long, *middle, *short]);
            match inside {
                SHORTEST_HELLO..=LONGEST_HELLO => Verdict::Certain,
                _ => Verdict::Never,
            }
        }
        (HANDSHAKE, [_, _, _, _, ..]) if body.get(4).is_some_and(|&major| major != 3) || body.len() > 5 => {
            Verdict::Never
        }
        (HANDSHAKE, _) => Verdict::More,
        _ => Verdict::Plausible,
    }
}

const CHANGE_CIPHER: u8 = 20;
const ALERT: u8 = 21;
const HANDSHAKE: u8 = 22;
/// A version.
const SHORTEST_HELLO: u32 = 2;
const LONGEST_HELLO: u32 = 1 << 17;
