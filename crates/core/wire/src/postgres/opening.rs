//! Strict check of PostgreSQL's first messages: whole, with all fields.

use super::checks::is_text;
use super::codes::encryption;
use super::messages::frontend::{PARSE, QUERY};
use super::messages::messages_sent;
use super::shape::{CANCEL_REQUEST, GSSENC_REQUEST, MAXIMUM_STARTUP, SSL_REQUEST, STARTUP_HEADER, Shapes};
use super::startup::COMPRESSION;
use crate::decoding::reader::Reader;
use crate::decoding::recognition::Recognition;
use crate::decoding::verbs::begins_statement;
use model::{Direction, PerDirection};

fn opens(direction: Direction, bytes: &[u8]) -> Recognition {
    match (direction, bytes.first()) {
        (_, None) => Recognition::More,
        (Direction::ClientToServer, Some(0)) => startup(bytes),
        (Direction::ClientToServer, Some(_)) if is_request(bytes) => Recognition::Certain,
        (_, Some(_)) => first(direction, bytes),
    }
}

pub(super) fn detect(openings: PerDirection<&[u8]>, direction: Direction) -> Recognition {
    match direction {
        Direction::ClientToServer => opens(direction, openings[direction]),
        Direction::ServerToClient => answers(openings[Direction::ClientToServer], openings[direction]),
    }
}

/// Checks the server's first bytes. One byte answers a request for encryption; compressed blocks
/// answer a client that announced compression (KingbaseES).
fn answers(client: &[u8], answer: &[u8]) -> Recognition {
    let asks = client.get(..STARTUP_HEADER).is_some_and(|header| {
        [SSL_REQUEST, GSSENC_REQUEST]
            .iter()
            .any(|code| header[..4] == 8u32.to_be_bytes() && header[4..] == code.to_be_bytes())
    });
    match answer.first().copied() {
        Some(encryption::TLS | encryption::NONE | encryption::GSS) if asks => Recognition::Plausible,
        Some(0) if announces_compression(client) => Recognition::Plausible,
        _ => opens(Direction::ServerToClient, answer),
    }
}

fn announces_compression(client: &[u8]) -> bool {
    let names = COMPRESSION.iter();
    client.first() == Some(&0)
        && names.into_iter().any(|name| {
            client
                .windows(name.len() + 2)
                .any(|part| part[0] == 0 && part.ends_with(b"\0") && &part[1..=name.len()] == *name)
        })
}

/// Whether a side can send exactly these messages without waiting; the last may be cut.
pub(super) fn burst(direction: Direction, bytes: &[u8]) -> bool {
    let mut rest = bytes;
    if direction == Direction::ClientToServer && rest.first() == Some(&0) {
        return true;
    }
    while let Some((tag, length, body)) = message(direction, rest) {
        let Some(whole) = body.get(..length) else {
            return true;
        };
        if check(direction, tag, whole) == Recognition::Never {
            return false;
        }
        rest = body.get(length..).unwrap_or_default();
    }
    rest.len() < TAGGED_HEADER
}

fn startup(bytes: &[u8]) -> Recognition {
    let mut reader = Reader::new(bytes);
    let (Some(length), Some(code)) = (reader.u32_be(), reader.u32_be()) else {
        let is_short = bytes.get(1).is_none_or(|&byte| byte == 0);
        return if is_short {
            Recognition::More
        } else {
            Recognition::Never
        };
    };
    if Shapes::default().client(&bytes[..STARTUP_HEADER]).is_err() {
        return Recognition::Never;
    }
    match code {
        SSL_REQUEST | GSSENC_REQUEST | CANCEL_REQUEST => Recognition::Certain,
        _ if !VERSIONS.contains(&(code & 0xffff)) || length > MAXIMUM_STARTUP => Recognition::Never,
        _ => match reader.take_bytes(length as usize - STARTUP_HEADER) {
            Some(body) if has_parameters(body) => Recognition::Certain,
            Some(_) => Recognition::Never,
            None if may_have_parameters(reader.rest()) => Recognition::More,
            None => Recognition::Never,
        },
    }
}

fn has_parameters(body: &[u8]) -> bool {
    let mut reader = Reader::new(body);
    let mut has_user = false;
    loop {
        match reader.cstr() {
            Some([]) => return has_user && reader.is_empty(),
            Some(name) if name.iter().all(u8::is_ascii_graphic) => has_user |= name == b"user",
            Some(_) | None => return false,
        }
        if reader.cstr().is_none() {
            return false;
        }
    }
}

fn may_have_parameters(body: &[u8]) -> bool {
    let name = body.split(|&byte| byte == 0).next().unwrap_or_default();
    (body.is_empty() || !name.is_empty()) && name.iter().all(u8::is_ascii_graphic)
}

fn is_request(bytes: &[u8]) -> bool {
    let mut rest = bytes;
    while let Some((tag, length, body)) = message(Direction::ClientToServer, rest) {
        match body
            .get(..length)
            .map(|whole| check(Direction::ClientToServer, tag, whole))
        {
            Some(Recognition::Certain) => return true,
            Some(Recognition::Plausible) => rest = &body[length..],
            Some(Recognition::Never | Recognition::More) | None => return false,
        }
    }
    false
}

fn message(direction: Direction, bytes: &[u8]) -> Option<(u8, usize, &[u8])> {
    let (header, body) = bytes.split_at_checked(TAGGED_HEADER)?;
    let shapes = Shapes::default();
    let plan = match direction {
        Direction::ClientToServer if header[0] == 0 => return None,
        Direction::ClientToServer => shapes.client(header),
        Direction::ServerToClient => shapes.server(header),
    };
    Some((header[0], usize::try_from(plan.ok()?.body).ok()?, body))
}

fn first(direction: Direction, bytes: &[u8]) -> Recognition {
    if bytes
        .first()
        .is_none_or(|&tag| messages_sent(direction).find(tag).is_none())
    {
        return Recognition::Never;
    }
    if bytes.len() < TAGGED_HEADER {
        let is_short = bytes.get(1).is_none_or(|&high| high < 0x40);
        return if is_short {
            Recognition::More
        } else {
            Recognition::Never
        };
    }
    let Some((tag, length, body)) = message(direction, bytes) else {
        return Recognition::Never;
    };
    match (body.get(..length), direction) {
        (Some(body), _) => check(direction, tag, body),
        (None, Direction::ClientToServer) if matches!(tag, QUERY | PARSE) => begun_text(tag, body),
        (None, _) => Recognition::More,
    }
}

/// A statement that is not whole: long ones are recognised by their beginning.
fn begun_text(tag: u8, body: &[u8]) -> Recognition {
    let Some(sample) = body.get(..SAMPLE) else {
        return Recognition::More;
    };
    let mut reader = Reader::new(sample);
    if tag == PARSE && reader.cstr().is_none_or(|name| !is_text(name)) {
        return Recognition::Never;
    }
    let text = reader.rest();
    if is_text(text) && begins_statement(text) {
        Recognition::Certain
    } else {
        Recognition::Never
    }
}

fn check(direction: Direction, tag: u8, body: &[u8]) -> Recognition {
    messages_sent(direction)
        .find(tag)
        .map_or(Recognition::Never, |row| (row.check)(body))
}

const TAGGED_HEADER: usize = 5;
/// Minor versions of protocol 3 requested by clients; the last one only queries the server's
/// versions.
const VERSIONS: [u32; 4] = [0, 1, 2, 9999];
const SAMPLE: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;
    use Direction::{ClientToServer, ServerToClient};

    #[test]
    fn a_start_up_has_a_user_and_ends_where_it_says() {
        let startup = b"\0\0\0\x11\0\x03\0\0user\0me\0\0";
        assert_eq!(opens(ClientToServer, startup), Recognition::Certain);
        assert_eq!(opens(ClientToServer, &startup[..12]), Recognition::More);
        let kafka_metadata = b"\0\0\0\x1a\0\x03\0\x02\0\0\0\x01\0\x04test\0\0\0\x01\0\x04logs\0\0";
        assert_eq!(opens(ClientToServer, kafka_metadata), Recognition::Never);
    }

    #[test]
    fn messages_need_their_fields() {
        assert_eq!(
            opens(ClientToServer, b"Q\0\0\0\x0dselect 1\0"),
            Recognition::Certain
        );
        assert_eq!(opens(ServerToClient, b"Z\0\0\0\x05I"), Recognition::Certain);
        assert_eq!(
            opens(ServerToClient, b"D\0\0\0\x0b\0\x01\0\0\0\x01x"),
            Recognition::Plausible
        );
        assert_eq!(
            opens(ServerToClient, b"D\0\0\0\x0b\0\x02\0\0\0\x01x"),
            Recognition::Never
        );
        assert_eq!(opens(ClientToServer, b"D1 LOGIN me you\r\n"), Recognition::More);
        assert_eq!(opens(ClientToServer, b"CAPA\r\n"), Recognition::Never);
        assert_eq!(
            answers(b"\0\0\0\x08\x04\xd2\x16\x2f", b"S"),
            Recognition::Plausible
        );
        assert_eq!(answers(b"", b"S"), Recognition::More);
    }
}
