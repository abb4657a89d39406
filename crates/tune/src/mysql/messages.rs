//! Commands of prepared statements, files, and rows as text.
//!
//! Sources: MySQL 8.4 source documentation, "Prepared Statements"; MariaDB Knowledge Base, "COM_STMT_BULK_EXECUTE".

use crate::native::content::Row;

/// Appends a packet with the number `number`, whose body is shorter than the greatest length ([`LONGEST_BODY`]).
pub fn packet(out: &mut Vec<u8>, number: u8, body: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[0, 0, 0, number]);
    body(out);
    let [low, middle, high, ..] = ((out.len() - start - 4) as u32).to_le_bytes();
    if let Some(place) = out.get_mut(start..start + 3) {
        place.copy_from_slice(&[low, middle, high]);
    }
}

/// Appends a `COM_STMT_PREPARE`.
pub fn prepare(out: &mut Vec<u8>, text: &str) {
    packet(out, 0, |body| {
        body.push(COM_STMT_PREPARE);
        body.extend_from_slice(text.as_bytes());
    });
}

/// Appends a `COM_STMT_EXECUTE` with the values of a row, key and counter as numbers of 64 bits.
pub fn execute(out: &mut Vec<u8>, statement: u32, row: &Row, columns: usize) {
    packet(out, 0, |body| {
        body.push(COM_STMT_EXECUTE);
        body.extend_from_slice(&statement.to_le_bytes());
        // No cursor, executed once.
        body.extend_from_slice(&[0, 1, 0, 0, 0]);
        let nulls = body.len();
        body.resize(nulls + columns.div_ceil(8), 0);
        body.push(TYPES_FOLLOW);
        types(body, columns);
        for (place, bytes) in row.values().enumerate() {
            match bytes {
                Some(bytes) => value(body, place, bytes),
                None => {
                    if let Some(bits) = body.get_mut(nulls + place / 8) {
                        *bits |= 1 << (place % 8);
                    }
                }
            }
        }
    });
}

/// Appends a `COM_STMT_EXECUTE` with one number.
pub fn execute_with_key(out: &mut Vec<u8>, statement: u32, key: u64) {
    packet(out, 0, |body| {
        body.push(COM_STMT_EXECUTE);
        body.extend_from_slice(&statement.to_le_bytes());
        // No cursor, executed once; nothing is NULL.
        body.extend_from_slice(&[0, 1, 0, 0, 0, 0, TYPES_FOLLOW, TYPE_LONGLONG, 0]);
        body.extend_from_slice(&key.to_le_bytes());
    });
}

/// Appends a `COM_STMT_EXECUTE` that opens a cursor to read from.
pub fn open_cursor(out: &mut Vec<u8>, statement: u32) {
    packet(out, 0, |body| {
        body.push(COM_STMT_EXECUTE);
        body.extend_from_slice(&statement.to_le_bytes());
        body.extend_from_slice(&[CURSOR_READ_ONLY, 1, 0, 0, 0]);
    });
}

/// Appends a `COM_STMT_FETCH` of so many rows.
pub fn fetch(out: &mut Vec<u8>, statement: u32, rows: u32) {
    packet(out, 0, |body| {
        body.push(COM_STMT_FETCH);
        body.extend_from_slice(&statement.to_le_bytes());
        body.extend_from_slice(&rows.to_le_bytes());
    });
}

/// Begins the body of a `COM_STMT_BULK_EXECUTE`; [`bulk_row`] follows for each row.
pub fn bulk(body: &mut Vec<u8>, statement: u32, columns: usize) {
    body.push(COM_STMT_BULK_EXECUTE);
    body.extend_from_slice(&statement.to_le_bytes());
    body.extend_from_slice(&BULK_TYPES_FOLLOW.to_le_bytes());
    types(body, columns);
}

/// Appends a row to the body of a `COM_STMT_BULK_EXECUTE`.
pub fn bulk_row(body: &mut Vec<u8>, row: &Row) {
    for (place, bytes) in row.values().enumerate() {
        match bytes {
            Some(bytes) => {
                body.push(BULK_VALUE);
                value(body, place, bytes);
            }
            None => body.push(BULK_NULL),
        }
    }
}

fn types(body: &mut Vec<u8>, columns: usize) {
    for place in 0..columns {
        let kind = if place < NUMBERS {
            TYPE_LONGLONG
        } else {
            TYPE_VAR_STRING
        };
        body.extend_from_slice(&[kind, 0]);
    }
}

/// The value of the column `place`: the first two are numbers, the others texts.
fn value(body: &mut Vec<u8>, place: usize, bytes: &[u8]) {
    if place < NUMBERS {
        let number: Option<u64> = std::str::from_utf8(bytes).ok().and_then(|text| text.parse().ok());
        return body.extend_from_slice(&number.unwrap_or_default().to_le_bytes());
    }
    let [low, middle, high, ..] = (bytes.len() as u32).to_le_bytes();
    match bytes.len() {
        0..=250 => body.push(low),
        251..=0xffff => body.extend_from_slice(&[0xfc, low, middle]),
        _ => body.extend_from_slice(&[0xfd, low, middle, high]),
    }
    body.extend_from_slice(bytes);
}

/// Appends the row as a list in brackets.
pub fn literals(text: &mut Vec<u8>, row: &Row) {
    text.push(b'(');
    for (place, value) in row.values().enumerate() {
        if place > 0 {
            text.push(b',');
        }
        let Some(value) = value else {
            text.extend_from_slice(b"null");
            continue;
        };
        text.push(b'\'');
        for byte in value {
            match byte {
                b'\'' => text.extend_from_slice(b"''"),
                b'\\' => text.extend_from_slice(b"\\\\"),
                byte => text.push(*byte),
            }
        }
        text.push(b'\'');
    }
    text.push(b')');
}

/// Of the body of one packet that no other follows, with room for what rows do not count.
pub const LONGEST_BODY: u64 = 0xff_ffff - 4096;
const COM_STMT_PREPARE: u8 = 0x16;
const COM_STMT_EXECUTE: u8 = 0x17;
const COM_STMT_FETCH: u8 = 0x1c;
const COM_STMT_BULK_EXECUTE: u8 = 0xfa;
const BULK_TYPES_FOLLOW: u16 = 128;
const BULK_VALUE: u8 = 0;
const BULK_NULL: u8 = 1;
const CURSOR_READ_ONLY: u8 = 1;
const TYPES_FOLLOW: u8 = 1;
const TYPE_LONGLONG: u8 = 8;
const TYPE_VAR_STRING: u8 = 0xfd;
/// Key and counter.
const NUMBERS: usize = 2;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::native::content::Content;

    fn row() -> Row {
        let content = Content::Like(vec![vec![Some(b"it's \\".to_vec()), None]]);
        let mut row = Row::default();
        content.write(5, &mut row);
        row
    }

    #[test]
    fn values_are_escaped_in_text() {
        let mut text = Vec::new();
        literals(&mut text, &row());
        assert_eq!(text, b"('5','0','it''s \\\\',null)");
    }

    #[test]
    fn values_are_sent_by_their_types() {
        let values = [&5_u64.to_le_bytes()[..], &[0; 8], b"\x06it's \\"].concat();
        let types = [8, 0, 8, 0, 0xfd, 0, 0xfd, 0];
        let mut out = Vec::new();
        execute(&mut out, 9, &row(), 4);
        let body = [&[0x17, 9, 0, 0, 0, 0, 1, 0, 0, 0, 0b1000, 1], &types[..], &values].concat();
        assert_eq!(out, [&[body.len() as u8, 0, 0, 0], &body[..]].concat());
        let mut body = Vec::new();
        bulk(&mut body, 9, 4);
        bulk_row(&mut body, &row());
        assert_eq!(body.get(..7), Some(&[0xfa, 9, 0, 0, 0, 128, 0][..]));
        assert_eq!(body.last(), Some(&1));
        assert_eq!(body.len(), 7 + 8 + 4 + values.len());
    }
}
