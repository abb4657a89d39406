//! Recognises Oracle Net by CONNECT, with a unique header and versions.

use super::messages::{MESSAGES, SERVICES, packet};
use super::opening::DESCRIPTOR;
use crate::decoding::recognition::Recognition;
use model::Direction;

pub fn recognise(direction: Direction, bytes: &[u8]) -> Recognition {
    let Some(header) = bytes.first_chunk::<8>() else {
        return if may_be_header(bytes) {
            Recognition::More
        } else {
            Recognition::Never
        };
    };
    if !may_be_header(header) {
        return Recognition::Never;
    }
    let [high, low, third, fourth, kind, ..] = *header;
    let is_large = (high, low) == (0, 0);
    let length = if is_large {
        u32::from_be_bytes([high, low, third, fourth])
    } else {
        u32::from(u16::from_be_bytes([high, low]))
    };
    match (direction, kind) {
        (Direction::ClientToServer, packet::CONNECT) if !is_large => versions(bytes, length),
        (Direction::ServerToClient, packet::ACCEPT) if !is_large => accepted(bytes, length),
        (Direction::ServerToClient, packet::REFUSE | packet::REDIRECT) if !is_large => Recognition::Plausible,
        (Direction::ServerToClient, packet::RESEND) if length == 8 => Recognition::Certain,
        (_, packet::MARKER) if length == MARKER_LENGTH => Recognition::Plausible,
        (_, packet::DATA) if (10..MAXIMUM_PACKET).contains(&length) => data(direction, bytes, length),
        _ => Recognition::Never,
    }
}

/// Whether `bytes` begin a header: a length, no checksum, a valid type, flags.
fn may_be_header(bytes: &[u8]) -> bool {
    let at = |place: usize| bytes.get(place).copied();
    let is_large = (at(0), at(1)) == (Some(0), Some(0));
    let checksum = is_large
        || [at(2), at(3)]
            .iter()
            .all(|byte| byte.is_none_or(|byte| byte == 0));
    let length = at(0)
        .zip(at(1))
        .is_none_or(|(high, low)| is_large || high > 0 || low >= 8);
    let kind = at(4).is_none_or(|kind| (packet::CONNECT..=packet::LAST).contains(&kind));
    checksum
        && length
        && kind
        && [at(6), at(7)]
            .iter()
            .all(|byte| byte.is_none_or(|byte| byte == 0))
}

/// Version and lowest accepted version of a CONNECT packet, from 0x012c to 0x0140.
fn versions(bytes: &[u8], length: u32) -> Recognition {
    if length < MIN_CONNECT_LEN {
        return Recognition::Never;
    }
    let Some([version, .., lowest, _]) = bytes.get(8..12).and_then(|four| four.first_chunk::<4>()) else {
        return Recognition::More;
    };
    if *version == 1 && *lowest <= 1 {
        Recognition::Certain
    } else {
        Recognition::Never
    }
}

fn accepted(bytes: &[u8], length: u32) -> Recognition {
    match bytes.get(8) {
        Some(1) if (24..256).contains(&length) => Recognition::Plausible,
        Some(_) => Recognition::Never,
        None => Recognition::More,
    }
}

fn data(direction: Direction, bytes: &[u8], length: u32) -> Recognition {
    let Some(&kind) = bytes.get(10) else {
        return if length > 10 {
            Recognition::More
        } else {
            Recognition::Plausible
        };
    };
    let row = MESSAGES.find(kind);
    let is_known = match direction {
        Direction::ClientToServer => kind == DESCRIPTOR || row.is_some_and(|row| row.check_client.is_some()),
        Direction::ServerToClient => row.is_some_and(|row| row.begins_reply),
    };
    if is_known || kind == SERVICES[0] {
        Recognition::Plausible
    } else {
        Recognition::Never
    }
}

const MIN_CONNECT_LEN: u32 = 34;
const MARKER_LENGTH: u32 = 11;
/// The largest packet two sides agree on is 2 MiB.
pub(super) const MAXIMUM_PACKET: u32 = 4 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_packets_of_both_sides_are_known() {
        let (client, server) = (Direction::ClientToServer, Direction::ServerToClient);
        let connect = super::super::ping_request("db1", 1521).expect("a short name");
        for end in 0..12 {
            assert_eq!(recognise(client, &connect[..end]), Recognition::More, "{end}");
        }
        assert_eq!(recognise(client, &connect), Recognition::Certain);
        assert_eq!(recognise(server, b"\0\x08\0\0\x0b\0\0\0"), Recognition::Certain);
        assert_eq!(
            recognise(server, b"\0\x67\0\0\x04\0\0\0\x22"),
            Recognition::Plausible
        );
        assert_eq!(
            recognise(client, b"\0\0\0\x20\x06\0\0\0\0\0\x03"),
            Recognition::Plausible
        );
        for other in [
            &b"\0\0\0\x08\x04\xd2\x16\x2f"[..],
            b"GET / HTTP",
            b"\x16\x03\x01\0\x05\x01\0\0",
        ] {
            assert_eq!(recognise(client, other), Recognition::Never, "{other:?}");
        }
    }
}
