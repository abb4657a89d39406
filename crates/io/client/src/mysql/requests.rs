//! Builds requests in a send buffer.

use wire::mysql::messages::{
    COM_QUERY, COM_QUIT, COM_STMT_BULK_EXECUTE, COM_STMT_CLOSE, COM_STMT_EXECUTE, COM_STMT_FETCH,
    COM_STMT_PREPARE,
};

pub const GOODBYE: &[u8] = &[1, 0, 0, 0, COM_QUIT];
pub const GOODBYE_IN_BLOCK: &[u8] = &[5, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, COM_QUIT];
/// An empty packet, the second of its reply: there is no file to send.
pub const REFUSAL: &[u8] = &[0, 0, 0, 2];
/// Bytes of a packet's body. A body of this length continues in the next packet.
pub const MAX_PACKET_LEN: usize = 0xff_ffff;
/// Precedes a value of [`bulk`].
pub const BULK_VALUE: u8 = 0;
/// Stands for a NULL of [`bulk`].
pub const BULK_NULL: u8 = 1;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParameterType {
    Null = 6,
    LongLong = 8,
    VarString = 0xfd,
}

pub fn packet(out: &mut Vec<u8>, number: u8, body: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[0, 0, 0, number]);
    body(out);
    let length = out.len() - start - 4;
    if length >= MAX_PACKET_LEN {
        return cut(out, start, number);
    }
    let [low, middle, high, ..] = (length as u32).to_le_bytes();
    if let Some(field) = out.get_mut(start..start + 3) {
        field.copy_from_slice(&[low, middle, high]);
    }
}

fn cut(out: &mut Vec<u8>, start: usize, first: u8) {
    let body = out.split_off(start).split_off(4);
    let mut rest = body.as_slice();
    for count in 0_u8..=u8::MAX {
        let (part, behind) = rest.split_at(rest.len().min(MAX_PACKET_LEN));
        let [low, middle, high, ..] = (part.len() as u32).to_le_bytes();
        out.extend_from_slice(&[low, middle, high, first.wrapping_add(count)]);
        out.extend_from_slice(part);
        rest = behind;
        // A packet of the maximum length means that another one follows, even if it is empty.
        if part.len() < MAX_PACKET_LEN {
            return;
        }
    }
}

/// Wraps packets in blocks of the compressed protocol. They are stored uncompressed, since requests
/// are short.
pub fn in_blocks(request: &mut Vec<u8>) {
    let packets = std::mem::take(request);
    for (number, content) in (0_u8..).zip(packets.chunks(MAX_PACKET_LEN)) {
        let [low, middle, high, ..] = (content.len() as u32).to_le_bytes();
        request.extend_from_slice(&[low, middle, high, number, 0, 0, 0]);
        request.extend_from_slice(content);
    }
}

/// Appends a `COM_QUERY` with the statement that `text` writes. A separate buffer keeps `out` no
/// larger than the request, since `tune` reports the memory of a client.
pub fn query(out: &mut Vec<u8>, text: impl FnOnce(&mut Vec<u8>)) {
    let mut body = vec![COM_QUERY];
    text(&mut body);
    packet(out, 0, |packet| packet.extend_from_slice(&body));
}

pub fn prepare(out: &mut Vec<u8>, text: &str) {
    packet(out, 0, |body| {
        body.push(COM_STMT_PREPARE);
        body.extend_from_slice(text.as_bytes());
    });
}

/// Appends a `COM_STMT_EXECUTE` without a cursor. `value` appends the value of the parameter with
/// this index from 0, and returns its type; NULL if it appends nothing.
pub fn execute(
    out: &mut Vec<u8>,
    statement: u32,
    parameters: usize,
    mut value: impl FnMut(usize, &mut Vec<u8>) -> ParameterType,
) {
    command(out, COM_STMT_EXECUTE, statement, |body| {
        // No cursor, executed once.
        body.extend_from_slice(&[0, 1, 0, 0, 0]);
        if parameters == 0 {
            return;
        }
        let nulls = body.len();
        body.resize(nulls + parameters.div_ceil(8), 0);
        body.push(TYPES_FOLLOW);
        let types = body.len();
        body.resize(types + 2 * parameters, 0);
        for place in 0..parameters {
            let start = body.len();
            let kind = value(place, body);
            if body.len() == start
                && let Some(bits) = body.get_mut(nulls + place / 8)
            {
                *bits |= 1 << (place % 8);
            }
            if let Some(field) = body.get_mut(types + 2 * place) {
                *field = kind as u8;
            }
        }
    });
}

/// Appends a `COM_STMT_EXECUTE`, without parameters, that opens a cursor.
pub fn open_cursor(out: &mut Vec<u8>, statement: u32) {
    command(out, COM_STMT_EXECUTE, statement, |body| {
        body.extend_from_slice(&[CURSOR_READ_ONLY, 1, 0, 0, 0]);
    });
}

pub fn fetch(out: &mut Vec<u8>, statement: u32, rows: u32) {
    command(out, COM_STMT_FETCH, statement, |body| {
        body.extend_from_slice(&rows.to_le_bytes());
    });
}

pub fn close(out: &mut Vec<u8>, statement: u32) {
    command(out, COM_STMT_CLOSE, statement, |_| {});
}

/// Appends MariaDB's `COM_STMT_BULK_EXECUTE`. `rows` appends [`BULK_VALUE`] and a value, or
/// [`BULK_NULL`], per parameter.
pub fn bulk(out: &mut Vec<u8>, statement: u32, types: &[ParameterType], rows: impl FnOnce(&mut Vec<u8>)) {
    command(out, COM_STMT_BULK_EXECUTE, statement, |body| {
        body.extend_from_slice(&BULK_TYPES_FOLLOW.to_le_bytes());
        types
            .iter()
            .for_each(|kind| body.extend_from_slice(&[*kind as u8, 0]));
        rows(body);
    });
}

pub fn append_number(body: &mut Vec<u8>, number: i64) {
    body.extend_from_slice(&number.to_le_bytes());
}

pub fn append_text(body: &mut Vec<u8>, text: &[u8]) {
    let (length, count) = text_length(text.len());
    body.extend(length.into_iter().take(count));
    body.extend_from_slice(text);
}

/// Turns the text of `body` from `start` into a parameter's value: an apparent integer is sent as a
/// number.
pub fn make_value(body: &mut Vec<u8>, start: usize) -> ParameterType {
    let text = body.get(start..).unwrap_or_default();
    let number = std::str::from_utf8(text)
        .ok()
        .and_then(|text| text.parse::<i64>().ok());
    if let Some(number) = number {
        body.truncate(start);
        append_number(body, number);
        return ParameterType::LongLong;
    }
    let (length, count) = text_length(text.len());
    body.splice(start..start, length.into_iter().take(count));
    ParameterType::VarString
}

/// Encoded length of a text, and number of its bytes.
const fn text_length(length: usize) -> ([u8; 4], usize) {
    let [low, middle, high, ..] = (length as u32).to_le_bytes();
    match length {
        0..=250 => ([low, 0, 0, 0], 1),
        251..=0xffff => ([0xfc, low, middle, 0], 3),
        _ => ([0xfd, low, middle, high], 4),
    }
}

fn command(out: &mut Vec<u8>, code: u8, statement: u32, rest: impl FnOnce(&mut Vec<u8>)) {
    packet(out, 0, |body| {
        body.push(code);
        body.extend_from_slice(&statement.to_le_bytes());
        rest(body);
    });
}

const CURSOR_READ_ONLY: u8 = 1;
const TYPES_FOLLOW: u8 = 1;
const BULK_TYPES_FOLLOW: u16 = 128;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_numbers_texts_or_null() {
        let mut request = Vec::new();
        execute(&mut request, 7, 3, |place, text| {
            if place == 2 {
                return ParameterType::Null;
            }
            let start = text.len();
            text.extend_from_slice([&b"-2"[..], b"two"][place]);
            make_value(text, start)
        });
        let body = [
            &[0x17, 7, 0, 0, 0, 0, 1, 0, 0, 0][..],
            &[0b100, 1, 8, 0, 0xfd, 0, 6, 0],
            &(-2_i64).to_le_bytes(),
            &[3],
            b"two",
        ]
        .concat();
        assert_eq!(request, [&[body.len() as u8, 0, 0, 0], &body[..]].concat());
    }

    #[test]
    fn long_texts_and_long_requests_are_cut_where_the_protocol_says() {
        let long = vec![b'x'; 70_000];
        let mut request = Vec::new();
        execute(&mut request, 1, 1, |_, text| {
            append_text(text, &long);
            ParameterType::VarString
        });
        assert_eq!(request[4 + 10 + 4..][..4], [0xfd, 0x70, 0x11, 0x01]);
        let mut request = Vec::new();
        prepare(&mut request, &"x".repeat(MAX_PACKET_LEN));
        assert_eq!(request.len(), 4 + MAX_PACKET_LEN + 4 + 1);
        assert_eq!(request[..4], [0xff, 0xff, 0xff, 0]);
        assert_eq!(request[4 + MAX_PACKET_LEN..], [1, 0, 0, 1, b'x']);
    }
}
