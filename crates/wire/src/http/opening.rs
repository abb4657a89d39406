//! Strict check of the first bytes of HTTP/1.

use super::signature::recognise;
use crate::decoding::recognition::Recognition;
use model::Direction;

pub fn opens(direction: Direction, bytes: &[u8]) -> Recognition {
    match direction {
        Direction::ClientToServer => recognise(direction, bytes),
        Direction::ServerToClient => status_line(bytes),
    }
}

fn status_line(bytes: &[u8]) -> Recognition {
    let fits = |(place, &byte): (usize, &u8)| match place {
        0..=6 => VERSION[place] == byte,
        7 => matches!(byte, b'0' | b'1'),
        8 => byte == b' ',
        9 => (b'1'..=b'5').contains(&byte),
        10 | 11 => byte.is_ascii_digit(),
        _ => matches!(byte, b' ' | b'\r' | b'\n'),
    };
    if !bytes.iter().take(STATUS).enumerate().all(fits) {
        Recognition::Never
    } else if bytes.len() < STATUS {
        Recognition::More
    } else {
        Recognition::Certain
    }
}

const VERSION: &[u8; 7] = b"HTTP/1.";
const STATUS: usize = 13;
