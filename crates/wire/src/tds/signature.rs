//! Recognises TDS by PRELOGIN, a login, or a batch with its headers.

use super::messages::{PACKETS, PacketRow, TOKENS, packet};
use super::option;
use crate::decoding::recognition::Recognition;
use model::Direction;

pub fn recognise(direction: Direction, bytes: &[u8]) -> Recognition {
    let Some(first) = bytes.first() else {
        return Recognition::More;
    };
    let flags_fit = bytes.get(1).is_none_or(|status| status & !FLAGS == 0);
    let opens = |row: &PacketRow| row.opens.contains(&direction);
    if !PACKETS.find(*first).is_some_and(opens) || !flags_fit {
        return Recognition::Never;
    }
    let Some(&[kind, _, high, low, _, _, _, window]) = bytes.first_chunk::<8>() else {
        return Recognition::More;
    };
    let length = u16::from_be_bytes([high, low]);
    if window != 0 || !(8..=MAX_PACKET_LEN).contains(&length) {
        return Recognition::Never;
    }
    behind_header(kind, length, bytes.get(8..).unwrap_or_default())
}

fn behind_header(kind: u8, length: u16, body: &[u8]) -> Recognition {
    match kind {
        packet::ATTENTION if length == 8 => Recognition::Plausible,
        packet::ATTENTION => Recognition::Never,
        packet::PRELOGIN => begins(body, &[(0, 0), (3, 0), (4, 6)]),
        packet::LOGIN7 => match body.get(7) {
            Some(0x70..=0x7f) => Recognition::Certain,
            Some(_) => Recognition::Never,
            None => Recognition::More,
        },
        packet::SQL_BATCH => {
            match begins(body, &[(0, 22), (1, 0), (2, 0), (3, 0), (4, 18), (8, 2), (9, 0)]) {
                Recognition::Never if length > 8 => Recognition::Plausible,
                verdict => verdict,
            }
        }
        packet::TABULAR_RESULT => match body.first() {
            Some(&token) if begins_response(token) => Recognition::Plausible,
            Some(_) => Recognition::Never,
            None => Recognition::More,
        },
        _ => Recognition::Plausible,
    }
}

fn begins_response(token: u8) -> bool {
    token == option::VERSION || TOKENS.find(token).is_some_and(|row| row.check_first.is_some())
}

fn begins(body: &[u8], expected: &[(usize, u8)]) -> Recognition {
    for &(place, byte) in expected {
        match body.get(place) {
            Some(found) if *found == byte => {}
            Some(_) => return Recognition::Never,
            None => return Recognition::More,
        }
    }
    Recognition::Certain
}

/// Flags of a packet's status: last, ignore, and two ways to reset the connection.
const FLAGS: u8 = 0x1b;
const MAX_PACKET_LEN: u16 = 32_768;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_messages_are_known() {
        let (client, server) = (Direction::ClientToServer, Direction::ServerToClient);
        let prelogin = super::super::prelogin();
        for end in 0..13 {
            assert_eq!(recognise(client, &prelogin[..end]), Recognition::More, "{end}");
        }
        assert_eq!(recognise(client, &prelogin), Recognition::Certain);
        let batch = b"\x01\x01\0\x28\0\0\x01\0\x16\0\0\0\x12\0\0\0\x02\0";
        assert_eq!(recognise(client, batch), Recognition::Certain);
        assert_eq!(
            recognise(server, b"\x04\x01\0\x15\0\x33\x01\0\xfd"),
            Recognition::Plausible
        );
        for other in [
            &b"\x01\0\0\0\x0e"[..],
            b"GET /",
            b"\x16\x03\x01\0\x05\x01\0\0",
            b"\x12\x01\0\x20\0\0\0\0\x16\x03",
        ] {
            assert_ne!(recognise(client, other), Recognition::Certain, "{other:?}");
        }
        assert_eq!(
            recognise(client, b"\x12\x01\0\x20\0\0\0\0\x16\x03"),
            Recognition::Never
        );
        assert_eq!(recognise(client, b"\x01\0\0\0\x0e\0\0\0"), Recognition::Never);
    }
}
