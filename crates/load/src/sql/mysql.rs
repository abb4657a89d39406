//! MySQL and MariaDB: prepared statements.
//!
//! Source: MySQL 8.4 source documentation, "Client/Server Protocol", "Prepared Statements".

use super::super::QueryMode;
use script::Statement;

/// Appends a `COM_STMT_PREPARE`.
pub fn prepare(request: &mut Vec<u8>, text: &[u8]) {
    framed(request, |body| {
        body.push(COM_STMT_PREPARE);
        body.extend_from_slice(text);
    });
}

/// Appends a `COM_STMT_EXECUTE`. `value` appends the text of a parameter's value, by its place from 0, or says that it is null.
/// What looks like a whole number is sent as one.
pub fn execute(
    request: &mut Vec<u8>,
    statement: u32,
    parameters: usize,
    mut value: impl FnMut(usize, &mut Vec<u8>) -> bool,
) {
    framed(request, |body| {
        body.push(COM_STMT_EXECUTE);
        body.extend_from_slice(&statement.to_le_bytes());
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
            let kind = if value(place, body) {
                written(body, start)
            } else {
                body.truncate(start);
                if let Some(bits) = body.get_mut(nulls + place / 8) {
                    *bits |= 1 << (place % 8);
                }
                TYPE_NULL
            };
            if let Some(field) = body.get_mut(types + 2 * place) {
                *field = kind;
            }
        }
    });
}

/// Makes the text from `start` on the value of a parameter, and gives its type.
fn written(body: &mut Vec<u8>, start: usize) -> u8 {
    let text = body.get(start..).unwrap_or_default();
    let number = std::str::from_utf8(text)
        .ok()
        .and_then(|text| text.parse::<i64>().ok());
    if let Some(number) = number {
        body.truncate(start);
        body.extend_from_slice(&number.to_le_bytes());
        return TYPE_LONGLONG;
    }
    let length = text.len();
    let (head, count) = match length {
        0..=250 => ([length as u8, 0, 0, 0], 1),
        251..=0xffff => ([0xfc, length as u8, (length >> 8) as u8, 0], 3),
        _ => ([0xfd, length as u8, (length >> 8) as u8, (length >> 16) as u8], 4),
    };
    body.splice(start..start, head.into_iter().take(count));
    TYPE_VAR_STRING
}

/// Appends a `COM_STMT_CLOSE`, which is not answered.
pub fn close(request: &mut Vec<u8>, statement: u32) {
    framed(request, |body| {
        body.push(COM_STMT_CLOSE);
        body.extend_from_slice(&statement.to_le_bytes());
    });
}

/// The server's number for a statement, of the first bytes of its answer to `COM_STMT_PREPARE`.
pub fn number(answer: &[u8]) -> Option<u32> {
    match answer {
        [_, _, _, _, 0, number @ ..] => number
            .get(..4)
            .and_then(|number| number.try_into().ok())
            .map(u32::from_le_bytes),
        _ => None,
    }
}

/// Bytes of the answer that [`number`] needs.
pub const NUMBER_WITHIN: usize = 9;

/// Whether a statement goes as text: in simple mode, and where its result is kept, which is read as text.
pub fn is_sent_as_text(statement: &Statement, mode: QueryMode) -> bool {
    mode == QueryMode::Simple || statement.keep().is_some()
}

/// A packet with the number 0. What is longer than one packet may be is cut into several.
fn framed(request: &mut Vec<u8>, body: impl FnOnce(&mut Vec<u8>)) {
    let start = request.len();
    request.extend_from_slice(&[0; 4]);
    body(request);
    let length = request.len() - start - 4;
    if length >= LONGEST_PACKET {
        return cut(request, start);
    }
    if let Some(field) = request.get_mut(start..start + 3) {
        field.copy_from_slice(&[length as u8, (length >> 8) as u8, (length >> 16) as u8]);
    }
}

/// Cuts the message from `start` on, header included, into packets.
fn cut(request: &mut Vec<u8>, start: usize) {
    let body = request.split_off(start).split_off(4);
    let mut rest = body.as_slice();
    for number in 0_u8..=u8::MAX {
        let (packet, behind) = rest.split_at(rest.len().min(LONGEST_PACKET));
        let length = packet.len();
        request.extend_from_slice(&[length as u8, (length >> 8) as u8, (length >> 16) as u8, number]);
        request.extend_from_slice(packet);
        rest = behind;
        // A packet of the greatest length says that another follows, be it empty.
        if length < LONGEST_PACKET {
            return;
        }
    }
}

const COM_STMT_PREPARE: u8 = 0x16;
const COM_STMT_EXECUTE: u8 = 0x17;
const COM_STMT_CLOSE: u8 = 0x19;
const TYPES_FOLLOW: u8 = 1;
const TYPE_NULL: u8 = 6;
const TYPE_LONGLONG: u8 = 8;
const TYPE_VAR_STRING: u8 = 0xfd;
const LONGEST_PACKET: usize = 0xff_ffff;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_numbers_texts_or_null() {
        let mut request = Vec::new();
        execute(&mut request, 7, 3, |place, text| {
            text.extend_from_slice([&b"-2"[..], b"two", b""][place]);
            place < 2
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
            text.extend_from_slice(&long);
            true
        });
        assert_eq!(request[4 + 10 + 4..][..4], [0xfd, 0x70, 0x11, 0x01]);
        let mut request = Vec::new();
        prepare(&mut request, &vec![b'x'; LONGEST_PACKET]);
        assert_eq!(request.len(), 4 + LONGEST_PACKET + 4 + 1);
        assert_eq!(request[..4], [0xff, 0xff, 0xff, 0]);
        assert_eq!(request[4 + LONGEST_PACKET..], [1, 0, 0, 1, b'x']);
        assert_eq!(number(&[12, 0, 0, 1, 0, 5, 0, 0, 0, 1]), Some(5));
        assert_eq!(number(&[12, 0, 0, 1, 0xff, 5, 0, 0, 0]), None);
    }
}
