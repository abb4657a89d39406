//! Strict check of PostgreSQL's first messages: whole, with all fields.

use super::shape::{CANCEL_REQUEST, GSSENC_REQUEST, MAXIMUM_STARTUP, SSL_REQUEST, STARTUP_HEADER, Shapes};
use super::startup::COMPRESSION;
use decoding::reader::Reader;
use decoding::recognition::Recognition;
use decoding::verbs::begins_statement;
use model::Direction;

pub fn opens(direction: Direction, bytes: &[u8]) -> Recognition {
    match (direction, bytes.first()) {
        (_, None) => Recognition::More,
        (Direction::ClientToServer, Some(0)) => startup(bytes),
        (Direction::ClientToServer, Some(_)) if is_request(bytes) => Recognition::Certain,
        (Direction::ClientToServer, Some(_)) => first(direction, bytes, client),
        (Direction::ServerToClient, Some(_)) => first(direction, bytes, server),
    }
}

/// Checks the server's first bytes: one byte answers a request for encryption, blocks a client that
/// announced compression (KingbaseES).
pub fn answers(client: &[u8], answer: &[u8]) -> Recognition {
    let asks = client.get(..STARTUP_HEADER).is_some_and(|header| {
        [SSL_REQUEST, GSSENC_REQUEST]
            .iter()
            .any(|code| header[..4] == 8u32.to_be_bytes() && header[4..] == code.to_be_bytes())
    });
    match answer.first() {
        Some(b'S' | b'N' | b'G') if asks => Recognition::Plausible,
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
pub fn burst(direction: Direction, bytes: &[u8]) -> bool {
    let mut rest = bytes;
    if direction == Direction::ClientToServer && rest.first() == Some(&0) {
        return true;
    }
    while let Some((tag, length, body)) = message(direction, rest) {
        let fields = match direction {
            Direction::ClientToServer => client,
            Direction::ServerToClient => server,
        };
        let Some(whole) = body.get(..length) else {
            return true;
        };
        if fields(tag, whole) == Recognition::Never {
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
        match body.get(..length).map(|whole| client(tag, whole)) {
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

fn first(direction: Direction, bytes: &[u8], fields: fn(u8, &[u8]) -> Recognition) -> Recognition {
    let known: &[u8] = match direction {
        Direction::ClientToServer => b"QPBDECSHXFdcfp",
        Direction::ServerToClient => b"RSKZTDCEN123ntsIcAGHWdVv",
    };
    if !bytes.first().is_some_and(|tag| known.contains(tag)) {
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
    match body.get(..length) {
        Some(body) => fields(tag, body),
        None if matches!((direction, tag), (Direction::ClientToServer, b'Q' | b'P')) => begun_text(tag, body),
        None => Recognition::More,
    }
}

/// A statement that is not whole: long ones are recognised by their beginning.
fn begun_text(tag: u8, body: &[u8]) -> Recognition {
    let Some(sample) = body.get(..SAMPLE) else {
        return Recognition::More;
    };
    let mut reader = Reader::new(sample);
    if tag == b'P' && reader.cstr().is_none_or(|name| !is_text(name)) {
        return Recognition::Never;
    }
    let text = reader.rest();
    if is_text(text) && begins_statement(text) {
        Recognition::Certain
    } else {
        Recognition::Never
    }
}

fn client(tag: u8, body: &[u8]) -> Recognition {
    let mut reader = Reader::new(body);
    let fits = match tag {
        b'Q' => match reader.cstr() {
            Some(text) if reader.is_empty() && is_text(text) => return statement(text),
            _ => false,
        },
        b'P' => {
            let (name, text, types) = (reader.cstr(), reader.cstr(), reader.u16_be());
            let fits = name.is_some_and(is_text)
                && types.is_some_and(|types| usize::from(types) * 4 == reader.left());
            match text.filter(|text| fits && is_text(text)) {
                Some(text) => return statement(text),
                None => false,
            }
        }
        b'B' => bind(reader).is_some(),
        b'E' => reader.cstr().is_some_and(is_text) && reader.left() == 4,
        b'D' | b'C' => {
            matches!(reader.u8(), Some(b'S' | b'P'))
                && reader.cstr().is_some_and(is_text)
                && reader.is_empty()
        }
        b'S' | b'H' | b'X' | b'c' => return Recognition::Certain,
        b'p' => !body.is_empty(),
        b'f' => reader.cstr().is_some_and(is_text) && reader.is_empty(),
        b'F' => reader.u32_be().is_some(),
        b'd' => !(body.len() == KEEP_ALIVE && body[0] == b'k'),
        _ => false,
    };
    if fits {
        Recognition::Plausible
    } else {
        Recognition::Never
    }
}

fn statement(text: &[u8]) -> Recognition {
    if begins_statement(text) {
        Recognition::Certain
    } else {
        Recognition::Plausible
    }
}

/// Portal, statement, formats, values and formats of results, to the end.
fn bind(mut reader: Reader<'_>) -> Option<()> {
    (is_text(reader.cstr()?) && is_text(reader.cstr()?)).then_some(())?;
    formats(&mut reader)?;
    for _ in 0..reader.u16_be()? {
        let length = reader.u32_be()?;
        if length != u32::MAX {
            reader.take_bytes(usize::try_from(length).ok()?)?;
        }
    }
    formats(&mut reader)?;
    reader.is_empty().then_some(())
}

fn formats(reader: &mut Reader<'_>) -> Option<()> {
    for _ in 0..reader.u16_be()? {
        (reader.u16_be()? <= 1).then_some(())?;
    }
    Some(())
}

fn server(tag: u8, body: &[u8]) -> Recognition {
    let mut reader = Reader::new(body);
    let fits = match tag {
        b'R' => match (reader.u32_be(), body.len()) {
            (Some(0 | 3), 4) => return Recognition::Certain,
            (Some(2 | 7 | 9), 4) | (Some(5), 8) | (Some(6), 6) => true,
            (Some(8 | 10..=12), length) => length >= 4,
            _ => false,
        },
        b'S' => {
            reader
                .cstr()
                .is_some_and(|name| !name.is_empty() && is_text(name))
                && reader.cstr().is_some_and(is_text)
                && reader.is_empty()
        }
        b'Z' if matches!(body, [b'I' | b'T' | b'E']) => return Recognition::Certain,
        b'E' | b'N' if fields(reader).is_some() => return Recognition::Certain,
        b'T' if body.len() > 2 && columns(reader).is_some() => return Recognition::Certain,
        b'T' => body == [0, 0],
        b'D' => row(reader).is_some(),
        b'C' => reader.cstr().is_some_and(is_command_tag) && reader.is_empty(),
        b'K' => body.len() >= 8,
        b'1' | b'2' | b'3' | b'n' | b's' | b'I' | b'c' => body.is_empty(),
        b't' => reader
            .u16_be()
            .is_some_and(|count| usize::from(count) * 4 == reader.left()),
        b'G' | b'H' | b'W' => {
            matches!(reader.u8(), Some(0 | 1)) && formats(&mut reader).is_some() && reader.is_empty()
        }
        b'A' => reader.u32_be().is_some() && reader.cstr().is_some_and(is_text) && reader.cstr().is_some(),
        b'v' => reader
            .u32_be()
            .is_some_and(|version| version >> 16 == 3 || version < 100),
        b'V' => reader
            .u32_be()
            .is_some_and(|length| length == u32::MAX || length as usize == reader.left()),
        b'd' => !(body.len() == STANDBY_STATUS && body[0] == b'r'),
        _ => false,
    };
    if fits {
        Recognition::Plausible
    } else {
        Recognition::Never
    }
}

/// Fields of an error or a notice: a letter and a text each, among them severity, code and message.
fn fields(mut reader: Reader<'_>) -> Option<()> {
    let mut seen = [false; 3];
    loop {
        let kind = reader.u8()?;
        if kind == 0 {
            return (seen == [true; 3] && reader.is_empty()).then_some(());
        }
        let text = reader.cstr()?;
        match kind {
            b'S' => seen[0] = true,
            b'C' => seen[1] = text.len() == 5 && text.iter().all(u8::is_ascii_alphanumeric),
            b'M' => seen[2] = true,
            kind if kind.is_ascii_alphabetic() => {}
            _ => return None,
        }
    }
}

/// Per column a name and eighteen bytes, the last two a format.
fn columns(mut reader: Reader<'_>) -> Option<()> {
    for _ in 0..reader.u16_be()? {
        is_text(reader.cstr()?).then_some(())?;
        let [.., high, low] = reader.array::<18>()?;
        (high == 0 && low <= 1).then_some(())?;
    }
    reader.is_empty().then_some(())
}

fn row(mut reader: Reader<'_>) -> Option<()> {
    for _ in 0..reader.u16_be()? {
        let length = reader.u32_be()?;
        if length != u32::MAX {
            reader.take_bytes(usize::try_from(length).ok()?)?;
        }
    }
    reader.is_empty().then_some(())
}

fn is_command_tag(tag: &[u8]) -> bool {
    tag.first().is_some_and(u8::is_ascii_uppercase)
        && tag
            .iter()
            .all(|&byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || matches!(byte, b' ' | b'_'))
}

fn is_text(bytes: &[u8]) -> bool {
    bytes
        .iter()
        .all(|&byte| byte >= b' ' || matches!(byte, b'\t' | b'\n' | b'\r'))
}

const TAGGED_HEADER: usize = 5;
/// Minor versions of protocol 3 requested by clients; the last one only queries the server's
/// versions.
const VERSIONS: [u32; 4] = [0, 1, 2, 9999];
const KEEP_ALIVE: usize = 18;
const STANDBY_STATUS: usize = 34;
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
