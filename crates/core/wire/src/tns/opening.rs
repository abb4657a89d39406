//! Strict check of Oracle Net's first bytes: whole packets with all of their fields.

use super::messages::{FUNCTIONS, MESSAGES, SERVICES, message, packet};
use crate::decoding::reader::Reader;
use crate::decoding::recognition::Recognition;
use model::Direction;

pub(super) fn opens(direction: Direction, bytes: &[u8]) -> Recognition {
    if !may_be_header(bytes) {
        return Recognition::Never;
    }
    let Some(&[high, low, third, fourth, kind, ..]) = bytes.first_chunk::<8>() else {
        return Recognition::More;
    };
    let length = match (high, low) {
        (0, 0) => u32::from_be_bytes([high, low, third, fourth]),
        _ => u32::from(u16::from_be_bytes([high, low])),
    };
    if ((high, low) == (0, 0) && kind != packet::DATA) || !may_begin(direction, kind, length, bytes) {
        return Recognition::Never;
    }
    let Some(packet) = bytes.get(..length as usize) else {
        return Recognition::More;
    };
    let body = packet.get(8..).unwrap_or_default();
    let fits = match kind {
        packet::CONNECT => connects(packet).is_some(),
        packet::ACCEPT => accepts(body).is_some(),
        packet::REFUSE => names(body.get(4..), body.get(2..4)),
        packet::REDIRECT => names(body.get(2..), body.get(..2)),
        packet::RESEND => true,
        packet::MARKER => matches!(body, [0 | 1, 0, 1..=3]),
        packet::DATA => data(direction, body),
        _ => false,
    };
    match kind {
        _ if !fits => Recognition::Never,
        packet::CONNECT | packet::RESEND => Recognition::Certain,
        packet::DATA if direction == Direction::ClientToServer && is_call(body) => Recognition::Certain,
        packet::REFUSE if body.contains(&b'(') => Recognition::Certain,
        _ => Recognition::Plausible,
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

/// Whether a packet of this kind and length can begin with `bytes`.
fn may_begin(direction: Direction, kind: u8, length: u32, bytes: &[u8]) -> bool {
    let at = |place: usize, fits: fn(u8) -> bool| bytes.get(place).is_none_or(|&byte| fits(byte));
    match (direction, kind) {
        // Version and lowest accepted version, from 0x012c to 0x0140.
        (Direction::ClientToServer, packet::CONNECT) => {
            length >= MIN_CONNECT_LEN as u32
                && (bytes.len() < 12 || (at(8, |version| version == 1) && at(10, |lowest| lowest <= 1)))
        }
        (Direction::ServerToClient, packet::ACCEPT) => {
            at(8, |version| version == 1) && (24..256).contains(&length)
        }
        (Direction::ServerToClient, packet::REFUSE | packet::REDIRECT) => true,
        (Direction::ServerToClient, packet::RESEND) => length == 8,
        (_, packet::MARKER) => length == MARKER_LENGTH,
        (_, packet::DATA) => {
            (10..MAXIMUM_PACKET).contains(&length)
                && bytes
                    .get(10)
                    .is_none_or(|&kind| kind == SERVICES[0] || may_begin_data(direction, kind))
        }
        _ => false,
    }
}

fn may_begin_data(direction: Direction, kind: u8) -> bool {
    let row = MESSAGES.find(kind);
    match direction {
        Direction::ClientToServer => kind == DESCRIPTOR || row.is_some_and(|row| row.check_client.is_some()),
        Direction::ServerToClient => row.is_some_and(|row| row.begins_reply),
    }
}

/// Version, lowest accepted version, options, sizes of units, the client's byte order, and the
/// place of the service name, in this packet or in the next.
fn connects(packet: &[u8]) -> Option<()> {
    let mut fields = Reader::new(packet.get(8..)?);
    let (version, lowest) = (fields.u16_be()?, fields.u16_be()?);
    fields.u16_be()?;
    fields.array::<6>()?;
    fields.array::<2>()?;
    let one = fields.u16_be()?;
    let (length, at) = (usize::from(fields.u16_be()?), usize::from(fields.u16_be()?));
    let is_version = VERSIONS.contains(&version) && (OLDEST..=version).contains(&lowest);
    let is_here = at.checked_add(length) == Some(packet.len());
    let is_next = length > 0 && packet.len() <= at;
    let is_text = packet
        .get(at..)
        .is_none_or(|text| text.is_empty() || text.starts_with(b"("));
    (is_version && matches!(one, 1 | 0x0100) && at >= MIN_CONNECT_LEN && (is_here || is_next) && is_text)
        .then_some(())
}

fn accepts(body: &[u8]) -> Option<()> {
    let mut fields = Reader::new(body);
    let version = fields.u16_be()?;
    fields.array::<6>()?;
    let one = fields.u16_be()?;
    (VERSIONS.contains(&version) && matches!(one, 0 | 1 | 0x0100)).then_some(())
}

fn names(text: Option<&[u8]>, length: Option<&[u8]>) -> bool {
    let length = length.and_then(|length| Reader::new(length).u16_be());
    match (text, length) {
        (Some(text), Some(length)) => {
            (text.len() == usize::from(length) || text.is_empty())
                && (text.is_empty() || text.starts_with(b"("))
        }
        _ => false,
    }
}

fn data(direction: Direction, body: &[u8]) -> bool {
    let mut fields = Reader::new(body);
    let Some(flags) = fields.u16_be() else {
        return false;
    };
    if flags & !KNOWN_FLAGS != 0 {
        return false;
    }
    let message = fields.rest();
    let Some(&kind) = message.first() else {
        return true;
    };
    if message.starts_with(&SERVICES) {
        return true;
    }
    match direction {
        Direction::ClientToServer if kind == DESCRIPTOR => true,
        Direction::ClientToServer => {
            let check = MESSAGES.find(kind).and_then(|row| row.check_client);
            check.is_some_and(|check| check(message))
        }
        Direction::ServerToClient => kind != 0,
    }
}

fn is_call(body: &[u8]) -> bool {
    match body {
        [_, _, message::FUNCTION | message::PIGGYBACK, code, ..] => {
            FUNCTIONS.find(*code).is_some_and(|row| row.opens)
        }
        _ => false,
    }
}

/// First byte of a descriptor, in place of a message.
pub(super) const DESCRIPTOR: u8 = b'(';
const VERSIONS: std::ops::RangeInclusive<u16> = 0x0130..=0x0150;
const OLDEST: u16 = 0x0100;
const MIN_CONNECT_LEN: usize = 34;
const MARKER_LENGTH: u32 = 11;
/// The largest packet two sides agree on is 2 MiB.
pub(super) const MAXIMUM_PACKET: u32 = 4 << 20;
const KNOWN_FLAGS: u16 = 0x38ff;

#[cfg(test)]
mod tests {
    use super::*;
    use Direction::{ClientToServer, ServerToClient};

    #[test]
    fn packets_need_their_fields() {
        let connect = super::super::connect_request("db1", 1521, "sales").expect("a short name");
        assert_eq!(opens(ClientToServer, &connect), Recognition::Certain);
        let startup = b"\x04\0\0\0\x01\0\0\0\x16\0\x01\0\x0bCQL_VERSION\0\x053.0.0";
        assert_eq!(opens(ClientToServer, startup), Recognition::Never);
        let supported = [&b"\x84\0\0\0\x06\0\0\0\x2e\0\x01"[..], &[b'x'; 60]].concat();
        assert_ne!(opens(ServerToClient, &supported), Recognition::Plausible);
        assert_eq!(
            opens(ClientToServer, b"\0\0\0\x0d\x06\0\0\0\0\0\x03\x0e\x05"),
            Recognition::Certain
        );
    }

    #[test]
    fn the_first_packets_of_both_sides_are_known() {
        let (client, server) = (Direction::ClientToServer, Direction::ServerToClient);
        let connect = super::super::ping_request("db1", 1521).expect("a short name");
        for end in 0..12 {
            assert_eq!(opens(client, &connect[..end]), Recognition::More, "{end}");
        }
        assert_eq!(opens(client, &connect), Recognition::Certain);
        assert_eq!(opens(server, b"\0\x08\0\0\x0b\0\0\0"), Recognition::Certain);
        assert_eq!(opens(server, b"\0\x67\0\0\x04\0\0\0\x22"), Recognition::More);
        assert_eq!(opens(client, b"\0\0\0\x20\x06\0\0\0\0\0\x03"), Recognition::More);
        for other in [
            &b"\0\0\0\x08\x04\xd2\x16\x2f"[..],
            b"GET / HTTP",
            b"\x16\x03\x01\0\x05\x01\0\0",
        ] {
            assert_eq!(opens(client, other), Recognition::Never, "{other:?}");
        }
    }
}
