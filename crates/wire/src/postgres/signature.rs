//! Recognises PostgreSQL by start-up, or in the middle of a connection by plausible tag, length and
//! body.

use super::shape::{STARTUP_HEADER, Shapes};
use decoding::reader::Reader;
use decoding::recognition::Recognition;
use model::Direction;

pub fn recognise(direction: Direction, bytes: &[u8]) -> Recognition {
    let Some(&tag) = bytes.first() else {
        return Recognition::More;
    };
    match direction {
        Direction::ClientToServer if tag == 0 => startup(bytes),
        Direction::ClientToServer => tagged(
            bytes,
            CLIENT_TAGS,
            |header| Shapes::default().client(header),
            client_body,
        ),
        Direction::ServerToClient => tagged(
            bytes,
            SERVER_TAGS,
            |header| Shapes::default().server(header),
            server_body,
        ),
    }
}

fn startup(bytes: &[u8]) -> Recognition {
    if bytes.get(1).is_some_and(|&byte| byte != 0) {
        return Recognition::Never;
    }
    match bytes.get(..STARTUP_HEADER) {
        None => Recognition::More,
        Some(header) if Shapes::default().client(header).is_ok() => Recognition::Certain,
        Some(_) => Recognition::Never,
    }
}

fn tagged<E>(
    bytes: &[u8],
    tags: &[u8],
    plan: impl Fn(&[u8]) -> Result<decoding::framing::FramePlan, E>,
    plausible: fn(u8, u64, &[u8]) -> bool,
) -> Recognition {
    let tag = bytes[0];
    if !tags.contains(&tag) {
        return Recognition::Never;
    }
    let Some((header, body)) = bytes.split_at_checked(5) else {
        return Recognition::More;
    };
    let Ok(plan) = plan(header) else {
        return Recognition::Never;
    };
    let wanted = usize::try_from(plan.body).unwrap_or(SAMPLE).min(SAMPLE);
    match body.get(..wanted) {
        None => Recognition::More,
        Some(sample) if plausible(tag, plan.body, sample) => Recognition::Plausible,
        Some(_) => Recognition::Never,
    }
}

fn client_body(tag: u8, length: u64, sample: &[u8]) -> bool {
    let mut reader = Reader::new(sample);
    let whole = sample.len() as u64 == length;
    match tag {
        b'Q' if whole => ends_text(sample),
        b'Q' => is_text(sample),
        b'P' => reader.cstr().is_none_or(is_text) && is_text(before_nul(reader.rest())),
        b'B' => reader.cstr().is_none_or(is_text) && reader.cstr().is_none_or(is_text),
        b'E' if whole => reader.cstr().is_some_and(is_text) && reader.left() == 4,
        b'D' | b'C' if whole => matches!(reader.u8(), Some(b'S' | b'P')) && ends_text(reader.rest()),
        b'E' | b'D' | b'C' => is_text(sample),
        _ => true,
    }
}

fn server_body(tag: u8, length: u64, sample: &[u8]) -> bool {
    let mut reader = Reader::new(sample);
    match tag {
        b'R' => reader.u32_be().is_some_and(|code| code <= 12),
        b'S' => reader.cstr().is_some_and(is_text),
        b'C' => sample.first().is_some_and(u8::is_ascii_uppercase) && ends_text(sample),
        b'Z' => matches!(sample, [b'I' | b'T' | b'E']),
        b'E' | b'N' => sample.first() == Some(&b'S'),
        b'T' => reader
            .u16_be()
            .is_some_and(|columns| length >= 2 + u64::from(columns) * 19),
        b'D' => reader
            .u16_be()
            .is_some_and(|columns| length >= 2 + u64::from(columns) * 4),
        b'G' | b'H' | b'W' => matches!(reader.u8(), Some(0 | 1)),
        _ => true,
    }
}

fn before_nul(bytes: &[u8]) -> &[u8] {
    bytes.split(|&byte| byte == 0).next().unwrap_or_default()
}

fn ends_text(bytes: &[u8]) -> bool {
    bytes
        .split_last()
        .is_some_and(|(&last, text)| last == 0 && is_text(text))
}

fn is_text(bytes: &[u8]) -> bool {
    bytes
        .iter()
        .all(|&byte| byte >= b' ' || matches!(byte, b'\t' | b'\n' | b'\r'))
}

const CLIENT_TAGS: &[u8] = b"QPBDECSHXFdcfp";
const SERVER_TAGS: &[u8] = b"RSKZTDCEN123ntsIcAGHWdVv";

const SAMPLE: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use Direction::{ClientToServer, ServerToClient};
    use decoding::recognition::assert_verdicts;

    #[test]
    fn verdicts_do_not_change_with_more_bytes() {
        let samples: [(Direction, &[u8], Recognition); 9] = [
            (
                ClientToServer,
                b"\0\0\0\x08\x04\xd2\x16\x2f",
                Recognition::Certain,
            ),
            (
                ClientToServer,
                b"\0\0\0\x11\0\x03\0\0user\0me\0\0",
                Recognition::Certain,
            ),
            (
                ClientToServer,
                b"Q\0\0\0\x0dselect 1\0S\0\0\0\x04",
                Recognition::Plausible,
            ),
            (
                ClientToServer,
                b"P\0\0\0\x10\0select 1\0\0\0",
                Recognition::Plausible,
            ),
            (ClientToServer, b"POST / HTTP/1.1\r\n", Recognition::Never),
            (ClientToServer, b"\0\x3a\0\0\x01\0\0\0", Recognition::Never),
            (ServerToClient, b"Z\0\0\0\x05I", Recognition::Plausible),
            (
                ServerToClient,
                b"D\0\0\0\x0b\0\x01\0\0\0\x01x",
                Recognition::Plausible,
            ),
            (ServerToClient, b"SSH-2.0-OpenSSH\r\n", Recognition::Never),
        ];
        assert_verdicts(recognise, &samples);
    }
}
