//! Strict check of MySQL's first messages: whole, with all fields.

use super::blocks::{ZLIB, ZSTD};
use super::capabilities::PROTOCOL_41;
use super::messages::PROTOCOL_VERSION;
use super::messages::reply::{EOF, ERR, LOCAL_INFILE, OK};
use super::request;
use crate::decoding::reader::Reader;
use crate::decoding::recognition::Recognition;
use crate::decoding::verbs::begins_statement;
use model::{Direction, PerDirection};

pub(super) fn opens(direction: Direction, bytes: &[u8]) -> Recognition {
    match (plain(direction, bytes), block(direction, bytes)) {
        (Recognition::Never, verdict) => verdict,
        (Recognition::More, Recognition::Plausible) => Recognition::Plausible,
        (verdict, _) => verdict,
    }
}

pub(super) fn is_compressed(openings: PerDirection<&[u8]>) -> bool {
    Direction::ALL.into_iter().any(|direction| {
        let bytes = openings[direction];
        !bytes.is_empty()
            && plain(direction, bytes) == Recognition::Never
            && block(direction, bytes) == Recognition::Plausible
    })
}

fn plain(direction: Direction, bytes: &[u8]) -> Recognition {
    let mut reader = Reader::new(bytes);
    let (Some(length), Some(sequence)) = (reader.u24_le(), reader.u8()) else {
        return Recognition::More;
    };
    let length = length as usize;
    match (direction, sequence) {
        (Direction::ClientToServer, 0) => command(length, reader.rest()),
        (Direction::ClientToServer, 1) => response(length, reader),
        (Direction::ServerToClient, 0) => greeting(length, reader.rest()),
        (Direction::ServerToClient, 1) => reply(length, reader.rest()),
        _ => Recognition::Never,
    }
}

fn block(direction: Direction, bytes: &[u8]) -> Recognition {
    let mut reader = Reader::new(bytes);
    let (Some(length), Some(number), Some(claimed)) = (reader.u24_le(), reader.u8(), reader.u24_le()) else {
        return Recognition::More;
    };
    let is_first = match direction {
        Direction::ClientToServer => number == 0,
        Direction::ServerToClient => (1..=MAX_BLOCKS).contains(&number),
    };
    if !is_first || length == 0 || (claimed > 0 && claimed < length) {
        return Recognition::Never;
    }
    let content = reader.rest();
    if claimed == 0 {
        return stored(direction, length as usize, content);
    }
    let begins = match content {
        [] | [ZLIB] | [ZSTD] | [ZSTD, 0xb5] | [ZSTD, 0xb5, 0x2f] => return Recognition::More,
        [ZLIB, level, ..] => matches!(level, 0x01 | 0x5e | 0x9c | 0xda),
        [ZSTD, 0xb5, 0x2f, 0xfd, ..] => true,
        _ => false,
    };
    match content.get(..length as usize) {
        _ if !begins => Recognition::Never,
        Some(_) => Recognition::Plausible,
        None => Recognition::More,
    }
}

fn stored(direction: Direction, length: usize, content: &[u8]) -> Recognition {
    match plain(direction, content.get(..length).unwrap_or(content)) {
        Recognition::Never => return Recognition::Never,
        Recognition::More if content.len() < length => return Recognition::More,
        Recognition::Certain | Recognition::Plausible | Recognition::More => {}
    }
    let Some(content) = content.get(..length) else {
        return Recognition::More;
    };
    let mut reader = Reader::new(content);
    while !reader.is_empty() {
        let inner = reader.u24_le().and_then(|length| {
            reader.u8()?;
            reader.take_bytes(length as usize)
        });
        if inner.is_none() {
            return Recognition::Never;
        }
    }
    Recognition::Plausible
}

fn command(length: usize, body: &[u8]) -> Recognition {
    let Some((&command, fields)) = body.split_first() else {
        return if length == 0 {
            Recognition::Never
        } else {
            Recognition::More
        };
    };
    if !request::is_plausible(command, length as u64, fields) {
        let is_short = body.len() < length.min(2);
        return if is_short {
            Recognition::More
        } else {
            Recognition::Never
        };
    }
    if request::has_text(command) {
        return text(length - 1, fields);
    }
    match body.get(1..length) {
        Some(fields) if request::is_sure(command, fields) => Recognition::Certain,
        Some(fields) if request::has_fields(command, fields) => Recognition::Plausible,
        Some(_) => Recognition::Never,
        None => Recognition::More,
    }
}

fn text(length: usize, fields: &[u8]) -> Recognition {
    let behind = |text: &[u8]| match *text {
        [attributes @ 0..=8, sets @ 0..=8, ..] if attributes < 9 && sets < 9 => 2,
        _ => 0,
    };
    let sample = fields.get(..length).unwrap_or(fields);
    let sample = sample.get(..SAMPLE).unwrap_or(sample);
    let text = sample.get(behind(sample)..).unwrap_or_default();
    let is_text = text
        .iter()
        .all(|&byte| byte >= b' ' || byte.is_ascii_whitespace());
    if sample.len() < length.min(SAMPLE) {
        let may_have_attributes = sample.len() < 2 || behind(sample) > 0;
        return if is_text || may_have_attributes {
            Recognition::More
        } else {
            Recognition::Never
        };
    }
    if begins_statement(text) {
        Recognition::Certain
    } else if !text.is_empty() && is_text {
        Recognition::Plausible
    } else {
        Recognition::Never
    }
}

/// Capabilities with protocol 4.1, longest message, character set, and 19 zeros.
fn response(length: usize, mut body: Reader<'_>) -> Recognition {
    if !(32..=MAX_RESPONSE_LEN).contains(&length) {
        return Recognition::Never;
    }
    let (Some(flags), Some(fixed)) = (body.u32_le(), body.take_bytes(5 + 19)) else {
        return Recognition::More;
    };
    let is_filled = fixed[5..].iter().all(|&byte| byte == 0);
    if u64::from(flags) & PROTOCOL_41 != 0 && is_filled {
        Recognition::Certain
    } else {
        Recognition::Never
    }
}

fn greeting(length: usize, body: &[u8]) -> Recognition {
    match body.first() {
        None => Recognition::More,
        Some(&PROTOCOL_VERSION) if (MIN_GREETING_LEN..=MAX_GREETING_LEN).contains(&length) => {
            match body.get(..length) {
                Some(body) if greeting_fields(body).is_some() => Recognition::Certain,
                Some(_) => Recognition::Never,
                None => begun_greeting(body),
            }
        }
        Some(&ERR) => error(length, body),
        Some(_) => Recognition::Never,
    }
}

fn begun_greeting(body: &[u8]) -> Recognition {
    let version = body.get(1..).unwrap_or_default();
    let fits = |(place, &byte): (usize, &u8)| match place {
        0 => byte.is_ascii_digit(),
        1 => byte.is_ascii_digit() || byte == b'.',
        _ => true,
    };
    if version.iter().enumerate().take(2).all(fits) {
        Recognition::More
    } else {
        Recognition::Never
    }
}

/// Version text, connection number, challenge without zeros, a zero, and capabilities.
fn greeting_fields(body: &[u8]) -> Option<()> {
    let mut fields = Reader::new(body);
    fields.u8()?;
    let version = fields.cstr()?;
    let is_version = version.first().is_some_and(u8::is_ascii_digit)
        && version.contains(&b'.')
        && version.iter().all(|byte| (b' '..=b'~').contains(byte));
    fields.u32_le()?;
    let challenge = fields.array::<8>()?;
    let filler = fields.u8()?;
    fields.u16_le()?;
    (is_version && !challenge.contains(&0) && filler == 0).then_some(())
}

fn reply(length: usize, body: &[u8]) -> Recognition {
    let Some(&first) = body.first() else {
        return if length == 0 {
            Recognition::Never
        } else {
            Recognition::More
        };
    };
    match first {
        ERR => error(length, body),
        OK | EOF | LOCAL_INFILE => match body.get(..length) {
            Some(body) if ends(body).is_some() => Recognition::Plausible,
            Some(_) => Recognition::Never,
            None if length <= MAX_OK_LEN => Recognition::More,
            None => Recognition::Never,
        },
        _ if length <= MAX_COUNT_LEN => columns(length, body),
        _ => statistics(length, body),
    }
}

fn statistics(length: usize, body: &[u8]) -> Recognition {
    let head = body.get(..UPTIME.len().min(length)).unwrap_or(body);
    if !UPTIME.starts_with(head) || length < UPTIME.len() {
        Recognition::Never
    } else if body.len() < length {
        Recognition::More
    } else {
        Recognition::Plausible
    }
}

/// Column count, then the first definition: `def`, or a possible beginning of it.
fn columns(length: usize, body: &[u8]) -> Recognition {
    let Some((count, behind)) = body.split_at_checked(length) else {
        return Recognition::More;
    };
    let mut reader = Reader::new(count);
    let count = reader
        .lenenc_int()
        .filter(|count| (1..=MAX_COLUMNS).contains(count));
    let flag = reader.u8();
    if count.is_none() || !reader.is_empty() || flag.is_some_and(|flag| flag > 1) {
        return Recognition::Never;
    }
    let mut next = Reader::new(behind);
    let (Some(length), Some(sequence)) = (next.u24_le(), next.u8()) else {
        return Recognition::More;
    };
    if sequence != 2 || length == 0 {
        return Recognition::Never;
    }
    if flag == Some(DEFINITIONS_KNOWN) {
        return Recognition::Plausible;
    }
    match next.rest().get(..4) {
        Some(CATALOG) => Recognition::Certain,
        Some(_) => Recognition::Never,
        None => Recognition::More,
    }
}

fn ends(body: &[u8]) -> Option<()> {
    let mut fields = Reader::new(body);
    match fields.u8()? {
        OK if body.len() >= 7 => {
            fields.lenenc_int()?;
            fields.lenenc_int()?;
            fields.u16_le()?;
            fields.u16_le().map(drop)
        }
        EOF => matches!(body.len(), 1 | 5).then_some(()),
        LOCAL_INFILE => (body.len() > 1 && body[1..].iter().all(|&byte| byte >= b' ')).then_some(()),
        _ => None,
    }
}

fn error(length: usize, body: &[u8]) -> Recognition {
    if !(MIN_ERROR_LEN..=MAX_ERROR_LEN).contains(&length) {
        return Recognition::Never;
    }
    let Some(body) = body.get(..length) else {
        let number = body.get(1..3).and_then(|number| Reader::new(number).u16_le());
        let fits = number.is_none_or(|number| ERRORS.contains(&number));
        return if fits {
            Recognition::More
        } else {
            Recognition::Never
        };
    };
    let mut fields = Reader::new(body);
    fields.u8();
    let number = fields.u16_le().unwrap_or_default();
    let text = match fields.rest() {
        [b'#', state @ ..] if state.len() >= 5 && state[..5].iter().all(u8::is_ascii_alphanumeric) => {
            &state[5..]
        }
        text => text,
    };
    let is_text = text
        .iter()
        .all(|&byte| byte >= b' ' || byte.is_ascii_whitespace());
    if ERRORS.contains(&number) && is_text && text.len() >= MIN_TEXT_LEN {
        Recognition::Certain
    } else {
        Recognition::Never
    }
}

const ERRORS: std::ops::Range<u16> = 1000..5000;
const MIN_ERROR_LEN: usize = 3;
const MAX_ERROR_LEN: usize = 1024;
const MIN_TEXT_LEN: usize = 4;
const MIN_GREETING_LEN: usize = 20;
const MAX_GREETING_LEN: usize = 512;
/// A handshake response with connection attributes; servers accept 64 KiB of them.
const MAX_RESPONSE_LEN: usize = 70_000;
const MAX_OK_LEN: usize = 4096;
const MAX_COUNT_LEN: usize = 4;
const MAX_COLUMNS: u64 = 4096;
/// After a column count: the definitions were sent before (MariaDB).
const DEFINITIONS_KNOWN: u8 = 0;
const CATALOG: &[u8] = b"\x03def";
const UPTIME: &[u8] = b"Uptime: ";
const MAX_BLOCKS: u8 = 4;
const SAMPLE: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;
    use Direction::{ClientToServer, ServerToClient};

    #[test]
    fn first_messages_need_their_fields() {
        assert_eq!(
            opens(ClientToServer, b"\x09\0\0\0\x03select 1"),
            Recognition::Certain
        );
        assert_eq!(opens(ClientToServer, b"\x01\0\0\0\x0e"), Recognition::Plausible);
        assert_eq!(
            opens(ServerToClient, b"\x07\0\0\x01\0\0\0\x02\0\0\0"),
            Recognition::Plausible
        );
        assert_eq!(
            opens(ServerToClient, b"\x01\0\0\x01\x01\x27\0\0\x02\x03def"),
            Recognition::Certain
        );
        let mongo = b"\x3a\0\0\0\x03\0\0\0\0\0\0\0\xd4\x07\0\0\0\0\0\0admin.$cmd\0\0\0\0\0\xff\xff\xff\xff\x13\0\0\0\x10ismaster\0\x01\0\0\0\0";
        assert_eq!(
            opens(ClientToServer, &[&mongo[..], mongo].concat()),
            Recognition::Never
        );
        assert_eq!(opens(ServerToClient, mongo), Recognition::Never);
    }

    #[test]
    fn blocks_of_the_compressed_protocol_are_known() {
        let stored = b"\x05\0\0\0\0\0\0\x01\0\0\0\x0e";
        assert_eq!(opens(ClientToServer, stored), Recognition::Plausible);
        assert!(is_compressed(PerDirection::new(stored, b"")));
        assert!(!is_compressed(PerDirection::new(b"\x01\0\0\0\x0e", b"")));
    }
}
