//! Strict check of TDS's first bytes: whole packets with all of their fields.

use super::messages::{PACKETS, PacketRow, TOKENS, packet, token};
use super::{HEADER, LAST_PACKET, option};
use crate::decoding::reader::Reader;
use crate::decoding::recognition::Recognition;
use crate::decoding::verbs::begins_statement_16;
use model::Direction;

pub(super) fn opens(direction: Direction, bytes: &[u8]) -> Recognition {
    let Some(first) = bytes.first() else {
        return Recognition::More;
    };
    let flags_fit = bytes.get(1).is_none_or(|status| status & !FLAGS == 0);
    let opens = |row: &PacketRow| row.opens.contains(&direction);
    if !PACKETS.find(*first).is_some_and(opens) || !flags_fit {
        return Recognition::Never;
    }
    let Some((&[kind, status, high, low, _, _, _, window], behind)) = bytes.split_first_chunk::<HEADER>()
    else {
        return Recognition::More;
    };
    let length = usize::from(u16::from_be_bytes([high, low]));
    if window != 0 || !(HEADER..=MAX_PACKET_LEN).contains(&length) || !may_begin(kind, behind) {
        return Recognition::Never;
    }
    let Some(body) = bytes.get(HEADER..length) else {
        return Recognition::More;
    };
    let is_last = status & LAST_PACKET != 0;
    match (kind, direction) {
        (packet::PRELOGIN, _) => said(options(body).is_some() && is_last, Recognition::Certain),
        (packet::LOGIN7, _) => said(login(body, is_last).is_some(), Recognition::Certain),
        (packet::SQL_BATCH | packet::RPC | packet::TRANSACTION_MANAGER, _) => call(kind, body),
        (packet::ATTENTION, _) => said(body.is_empty() && is_last, Recognition::Plausible),
        (packet::BULK_LOAD, _) => said(body.first() == Some(&token::COLMETADATA), Recognition::Plausible),
        (packet::TABULAR_RESULT, _) => said(response(body, is_last).is_some(), Recognition::Plausible),
        _ => Recognition::Never,
    }
}

/// Whether a body of this kind can begin with `body`.
fn may_begin(kind: u8, body: &[u8]) -> bool {
    let at = |place: usize, expected: u8| body.get(place).is_none_or(|byte| *byte == expected);
    match kind {
        packet::PRELOGIN => at(0, option::VERSION) && at(3, 0) && at(4, VERSION_LENGTH as u8),
        packet::LOGIN7 => body.get(7).is_none_or(|version| (0x70..=0x7f).contains(version)),
        packet::TABULAR_RESULT => body.first().is_none_or(|&token| {
            token == option::VERSION || TOKENS.find(token).is_some_and(|row| row.check_first.is_some())
        }),
        _ => true,
    }
}

fn said(fits: bool, verdict: Recognition) -> Recognition {
    if fits { verdict } else { Recognition::Never }
}

fn options(body: &[u8]) -> Option<()> {
    let mut table = Reader::new(body);
    let mut is_first = true;
    loop {
        let name = table.u8()?;
        if name == option::END {
            return (!is_first).then_some(());
        }
        let (at, length) = (usize::from(table.u16_be()?), usize::from(table.u16_be()?));
        let fits = at + length <= body.len() && name < MAX_OPTIONS;
        if !fits || is_first != (name == option::VERSION) || (is_first && length != VERSION_LENGTH) {
            return None;
        }
        is_first = false;
    }
}

fn login(body: &[u8], is_last: bool) -> Option<()> {
    let mut fields = Reader::new(body);
    let length = fields.u32_le()? as usize;
    let version = fields.u32_le()?;
    let fits = if is_last {
        length == body.len()
    } else {
        length > body.len()
    };
    let is_version = matches!(version >> 24, 0x70..=0x74 | 0x08) || version == 8;
    let mut places = Reader::new(body.get(PLACES..)?);
    for _ in 0..COUNT_OF_PLACES {
        let (at, units) = (usize::from(places.u16_le()?), usize::from(places.u16_le()?));
        if units > 0 && (at < PLACES || at + units > length) {
            return None;
        }
    }
    (fits && is_version).then_some(())
}

/// A call, with or without the headers of clients since TDS 7.2.
fn call(kind: u8, body: &[u8]) -> Recognition {
    if let Some(behind) = headers(body) {
        return said(!behind.is_empty(), Recognition::Certain);
    }
    let mut fields = Reader::new(body);
    match kind {
        packet::SQL_BATCH if begins_statement_16(body) => Recognition::Certain,
        packet::RPC => {
            let fits = match fields.u16_le() {
                Some(0xffff) => {
                    fields.u16_le().is_some_and(|number| (1..=15).contains(&number))
                        && fields.u16_le().is_some_and(|flags| flags < 8)
                }
                Some(units @ 1..=128) => fields.take_bytes(usize::from(units) * 2).is_some_and(is_name),
                _ => false,
            };
            said(fits, Recognition::Plausible)
        }
        _ => Recognition::Never,
    }
}

fn is_name(wide: &[u8]) -> bool {
    wide.chunks_exact(2)
        .all(|pair| pair[1] == 0 && (pair[0].is_ascii_alphanumeric() || b"_.[]#@$ \";".contains(&pair[0])))
}

/// Skips the headers, with their total length, and each with a length and a kind.
fn headers(body: &[u8]) -> Option<&[u8]> {
    let mut fields = Reader::new(body);
    let all = usize::try_from(fields.u32_le()?).ok()?;
    let mut left = all
        .checked_sub(4)
        .filter(|&left| left > 0 && all <= MAX_HEADERS_LEN)?;
    while left > 0 {
        let length = fields.u32_le()? as usize;
        let kind = fields.u16_le()?;
        fields.take_bytes(length.checked_sub(6)?)?;
        if !(1..=3).contains(&kind) || (kind == 2 && length != 18) {
            return None;
        }
        left = left.checked_sub(length)?;
    }
    body.get(all..)
}

/// The first token of a response, or the answer to PRELOGIN.
fn response(body: &[u8], is_last: bool) -> Option<()> {
    let mut fields = Reader::new(body);
    match fields.u8()? {
        option::VERSION => options(body),
        token => (TOKENS.find(token)?.check_first?)(fields, is_last),
    }
}

/// Flags of a packet's status: last, ignore, and two ways to reset the connection.
const FLAGS: u8 = 0x1b;
const MAX_PACKET_LEN: usize = 32_768;
const MAX_OPTIONS: u8 = 16;
const VERSION_LENGTH: usize = 6;
const PLACES: usize = 36;
const COUNT_OF_PLACES: usize = 9;
const MAX_HEADERS_LEN: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;
    use Direction::{ClientToServer, ServerToClient};

    #[test]
    fn packets_need_their_fields() {
        assert_eq!(
            opens(ClientToServer, &super::super::prelogin()),
            Recognition::Certain
        );
        let tpkt = b"\x03\0\0\x13\x0e\xe0\0\0\0\0\0\x01\0\x08\0\x03\0\0\0";
        assert_eq!(opens(ClientToServer, tpkt), Recognition::Never);
        assert_eq!(opens(ServerToClient, tpkt), Recognition::Never);
        let call =
            b"\x03\x01\0\x24\0\0\x01\0\x16\0\0\0\x12\0\0\0\x02\0\0\0\0\0\0\0\0\0\x01\0\0\0\xff\xff\x0d\0\0\0";
        assert_eq!(opens(ClientToServer, call), Recognition::Certain);
        let done = b"\x04\x01\0\x15\0\x33\x01\0\xfd\x10\0\xc1\0\x01\0\0\0\0\0\0\0";
        assert_eq!(opens(ServerToClient, done), Recognition::Plausible);
    }

    #[test]
    fn first_messages_are_known() {
        let client = Direction::ClientToServer;
        let prelogin = super::super::prelogin();
        for end in 0..13 {
            assert_eq!(opens(client, &prelogin[..end]), Recognition::More, "{end}");
        }
        assert_eq!(opens(client, &prelogin), Recognition::Certain);
        for other in [
            &b"\x01\0\0\0\x0e"[..],
            b"GET /",
            b"\x16\x03\x01\0\x05\x01\0\0",
            b"\x12\x01\0\x20\0\0\0\0\x16\x03",
        ] {
            assert_ne!(opens(client, other), Recognition::Certain, "{other:?}");
        }
        assert_eq!(
            opens(client, b"\x12\x01\0\x20\0\0\0\0\x16\x03"),
            Recognition::Never
        );
        assert_eq!(opens(client, b"\x01\0\0\0\x0e\0\0\0"), Recognition::Never);
    }
}
