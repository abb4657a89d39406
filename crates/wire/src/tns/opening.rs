//! Strict check of Oracle Net's first bytes: whole packets with all of their fields.

use super::messages::{FUNCTIONS, MESSAGES, SERVICES, message, packet};
use super::signature::recognise;
use crate::decoding::reader::Reader;
use crate::decoding::recognition::Recognition;
use model::Direction;

pub fn opens(direction: Direction, bytes: &[u8]) -> Recognition {
    let verdict = recognise(direction, bytes);
    let (Recognition::Certain | Recognition::Plausible, Some(header)) = (verdict, bytes.first_chunk::<8>())
    else {
        return verdict;
    };
    let [high, low, third, fourth, kind, ..] = *header;
    let length = match (high, low) {
        (0, 0) => u32::from_be_bytes([high, low, third, fourth]) as usize,
        _ => usize::from(u16::from_be_bytes([high, low])),
    };
    let Some(packet) = bytes.get(..length) else {
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
}
