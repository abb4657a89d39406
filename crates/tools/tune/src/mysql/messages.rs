//! Encodes rows in requests.

use crate::native::content::Row;
use client::mysql::{
    BULK_NULL, BULK_VALUE, MAX_PACKET_LEN, ParameterType, append_number, append_text, execute,
};

/// Key and counter are 64-bit integers.
pub fn execute_row(out: &mut Vec<u8>, statement: u32, row: &Row, columns: usize) {
    let mut values = row.values();
    execute(out, statement, columns, |place, body| {
        if let Some(bytes) = values.next().flatten() {
            value(body, place, bytes);
        }
        kind(place)
    });
}

pub fn execute_with_key(out: &mut Vec<u8>, statement: u32, key: u64) {
    execute(out, statement, 1, |_, body| {
        append_number(body, key.cast_signed());
        ParameterType::LongLong
    });
}

/// Column types for `COM_STMT_BULK_EXECUTE`.
pub fn types(columns: usize) -> Vec<ParameterType> {
    (0..columns).map(kind).collect()
}

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

/// The first two columns are integers, the others texts.
const fn kind(place: usize) -> ParameterType {
    match place {
        ..NUMBERS => ParameterType::LongLong,
        _ => ParameterType::VarString,
    }
}

fn value(body: &mut Vec<u8>, place: usize, bytes: &[u8]) {
    if place < NUMBERS {
        let number: Option<u64> = std::str::from_utf8(bytes).ok().and_then(|text| text.parse().ok());
        append_number(body, number.unwrap_or_default().cast_signed());
    } else {
        append_text(body, bytes);
    }
}

/// Limit for the body of a single packet, with a margin for overhead besides rows.
pub const MAX_BODY_LEN: u64 = MAX_PACKET_LEN as u64 - 4096;
const NUMBERS: usize = 2;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::native::content::Content;
    use client::mysql::bulk;

    fn row() -> Row {
        let content = Content::Like(vec![vec![Some(b"it's \\".to_vec()), None]]);
        let mut row = Row::default();
        content.write(5, &mut row);
        row
    }

    #[test]
    fn values_are_escaped_in_text() {
        let mut text = Vec::new();
        row().literals(&mut text, |_| b"'");
        assert_eq!(text, b"('5','0','it''s \\\\',null)");
    }

    #[test]
    fn values_are_sent_by_their_types() {
        let values = [&5_u64.to_le_bytes()[..], &[0; 8], b"\x06it's \\"].concat();
        let types = [8, 0, 8, 0, 0xfd, 0, 0xfd, 0];
        let mut out = Vec::new();
        execute_row(&mut out, 9, &row(), 4);
        let body = [&[0x17, 9, 0, 0, 0, 0, 1, 0, 0, 0, 0b1000, 1], &types[..], &values].concat();
        assert_eq!(out, [&[body.len() as u8, 0, 0, 0], &body[..]].concat());
        let mut out = Vec::new();
        bulk(&mut out, 9, &super::types(4), |body| bulk_row(body, &row()));
        let body = out.get(4..).expect("a header");
        assert_eq!(body.get(..7), Some(&[0xfa, 9, 0, 0, 0, 128, 0][..]));
        assert_eq!(body.last(), Some(&1));
        assert_eq!(body.len(), 7 + 8 + 4 + values.len());
    }
}
