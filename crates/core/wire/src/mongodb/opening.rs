//! Strict check of MongoDB's first bytes.

use super::bson::{self, MIN_DOCUMENT, Parsed, document_length};
use super::header::{
    CHECKSUM_PRESENT, EXHAUST_ALLOWED, HEADER, Header, MORE_TO_COME, OP_COMPRESSED, OP_MSG, OP_QUERY,
    OP_REPLY,
};
use crate::decoding::recognition::Recognition;
use crate::decoding::resume::MessageShape;
use model::{Direction, PerDirection};

pub(super) fn detect(openings: PerDirection<&[u8]>, direction: Direction) -> Recognition {
    opens(direction, openings[direction])
}

fn opens(direction: Direction, bytes: &[u8]) -> Recognition {
    let Some((header, body)) = bytes.split_first_chunk::<HEADER>() else {
        return begun(bytes);
    };
    match Header::from_bytes(header) {
        Ok(header) => message(direction, header, body),
        Err(_) => Recognition::Never,
    }
}

/// A header that is not whole: the length's highest byte is small, and so are those of the operation code.
fn begun(bytes: &[u8]) -> Recognition {
    let too_long = bytes.get(3).is_some_and(|&high| high > MAX_HIGH);
    let no_code = bytes.get(13).is_some_and(|&high| high != 0 && high != 7);
    match too_long || no_code {
        true => Recognition::Never,
        false => Recognition::More,
    }
}

fn message(direction: Direction, header: Header, body: &[u8]) -> Recognition {
    let is_request = direction == Direction::ClientToServer;
    if (header.responds_to == 0) != is_request {
        return Recognition::Never;
    }
    let body = body.get(..header.body as usize).unwrap_or(body);
    match header.opcode {
        OP_MSG => {
            let Some(flags) = body.first_chunk() else {
                return Recognition::More;
            };
            let known = CHECKSUM_PRESENT | MORE_TO_COME | EXHAUST_ALLOWED;
            if u32::from_le_bytes(*flags) & !known != 0 {
                return Recognition::Never;
            }
            section(header, body.get(4..).unwrap_or_default())
        }
        OP_QUERY if is_request => query(header, body),
        OP_REPLY if !is_request => match body.get(20..) {
            None => Recognition::More,
            Some(document) => is_document(header.body - 20, document),
        },
        OP_COMPRESSED => compressed(body),
        _ => Recognition::Never,
    }
}

/// Most clients begin with the document that names the command.
fn section(header: Header, section: &[u8]) -> Recognition {
    match section.split_first() {
        None => Recognition::More,
        Some((0, document)) => is_document(header.body - 5, document),
        Some((1, rest)) => match document_length(rest) {
            None => Recognition::More,
            Some(length) if length > MIN_DOCUMENT && length as u32 <= header.body - 5 => {
                Recognition::Plausible
            }
            Some(_) => Recognition::Never,
        },
        Some(_) => Recognition::Never,
    }
}

fn query(header: Header, body: &[u8]) -> Recognition {
    let flags = body.first_chunk().map(|flags| u32::from_le_bytes(*flags));
    if flags.is_some_and(|flags| flags > MAX_QUERY_FLAGS) {
        return Recognition::Never;
    }
    let name = body.get(4..).unwrap_or_default();
    let Some(end) = name.iter().take(MAX_COLLECTION).position(|&byte| byte == 0) else {
        let is_text = name.iter().all(u8::is_ascii_graphic) && name.len() < MAX_COLLECTION;
        return if is_text {
            Recognition::More
        } else {
            Recognition::Never
        };
    };
    if !name
        .get(..end)
        .is_some_and(|name| name.contains(&b'.') && name.iter().all(u8::is_ascii_graphic))
    {
        return Recognition::Never;
    }
    let before = 4 + end + 1 + 8;
    match body.get(before..) {
        None => Recognition::More,
        Some(document) => is_document(header.body.saturating_sub(before as u32), document),
    }
}

/// The length fits into `room`, and the first field has a name.
fn is_document(room: u32, document: &[u8]) -> Recognition {
    let Some(length) = document_length(document) else {
        return Recognition::More;
    };
    if length < MIN_DOCUMENT || length.unsigned_abs() > room {
        return Recognition::Never;
    }
    let is_name = |name: &[u8]| !name.is_empty() && name.iter().all(u8::is_ascii_graphic);
    match bson::parse(document.get(4..).unwrap_or_default()) {
        Parsed::More => Recognition::More,
        Parsed::Element(first, _) if is_name(first.name) && first.length < u64::from(room) => {
            Recognition::Certain
        }
        Parsed::End if length == MIN_DOCUMENT => Recognition::Plausible,
        Parsed::Element(..) | Parsed::End | Parsed::Wrong => Recognition::Never,
    }
}

fn compressed(body: &[u8]) -> Recognition {
    let Some((fixed, _)) = body.split_first_chunk::<9>() else {
        return Recognition::More;
    };
    let original = document_length(fixed).map_or(0, i32::unsigned_abs);
    let length = document_length(&fixed[4..]).unwrap_or(-1);
    let is_known = [OP_MSG, OP_QUERY, OP_REPLY].contains(&original) && fixed[8] <= 3;
    match is_known && (MIN_DOCUMENT..super::header::MAXIMUM_MESSAGE.cast_signed()).contains(&length) {
        true => Recognition::Certain,
        false => Recognition::Never,
    }
}

/// For the search after lost bytes.
pub(super) fn shape(direction: Direction, bytes: &[u8]) -> MessageShape {
    match opens(direction, bytes) {
        Recognition::Never => MessageShape::Wrong,
        Recognition::More => MessageShape::Cut,
        verdict @ (Recognition::Certain | Recognition::Plausible) => {
            let length = document_length(bytes).and_then(|length| usize::try_from(length).ok());
            match (length, verdict) {
                (None, _) => MessageShape::Wrong,
                (Some(length), Recognition::Certain) => MessageShape::Sure(length),
                (Some(length), _) => MessageShape::Likely(length),
            }
        }
    }
}

/// Of the longest message's length.
const MAX_HIGH: u8 = 2;
const MAX_QUERY_FLAGS: u32 = 0xff;
const MAX_COLLECTION: usize = 256;

#[cfg(test)]
mod tests {
    use super::super::request::{PING, write_command};
    use super::*;
    use crate::decoding::recognition::assert_verdicts;
    use Direction::{ClientToServer, ServerToClient};

    #[test]
    fn messages_need_their_fields() {
        let mut ping = Vec::new();
        write_command(7, PING, &mut ping);
        let mut answer = ping.clone();
        answer[8] = 7;
        let hello = b"\x3a\0\0\0\x03\0\0\0\0\0\0\0\xd4\x07\0\0\0\0\0\0admin.$cmd\0\0\0\0\0\xff\xff\xff\xff\x13\0\0\0\x10ismaster\0\x01\0\0\0\0";
        let mut unknown_flag = ping.clone();
        unknown_flag[16] = 0x10;
        let mut too_long = ping.clone();
        too_long[21] = 0xff;
        assert_verdicts(
            opens,
            &[
                (ClientToServer, &ping, Recognition::Certain),
                (ServerToClient, &answer, Recognition::Certain),
                (ClientToServer, hello, Recognition::Certain),
                (ServerToClient, &ping, Recognition::Never),
                (ClientToServer, &answer, Recognition::Never),
                (ClientToServer, &unknown_flag, Recognition::Never),
                (ClientToServer, &too_long, Recognition::Never),
                (
                    ClientToServer,
                    b"GET / HTTP/1.1\r\nHost: a\r\n",
                    Recognition::Never,
                ),
            ],
        );
    }
}
