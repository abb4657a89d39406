//! Requests of the extended protocol, and rows as text.
//!
//! Source: PostgreSQL manual, chapter "Frontend/Backend Protocol".

use crate::native::content::Row;
use client::session::postgres::framed;

/// Appends `Parse` of `text` under `name`.
pub fn parse(out: &mut Vec<u8>, name: &str, text: &str) {
    framed(out, b'P', |body| {
        for text in [name, text] {
            body.extend_from_slice(text.as_bytes());
            body.push(0);
        }
        body.extend_from_slice(&[0, 0]);
    });
}

/// Appends `Bind` of the statement `name` to `portal`, with values as text.
pub fn bind<'v>(out: &mut Vec<u8>, portal: &str, name: &str, values: impl Iterator<Item = Option<&'v [u8]>>) {
    framed(out, b'B', |body| {
        for text in [portal, name] {
            body.extend_from_slice(text.as_bytes());
            body.push(0);
        }
        // No formats: all parameters are text.
        body.extend_from_slice(&[0, 0]);
        let count = body.len();
        body.extend_from_slice(&[0, 0]);
        let mut number = 0_u16;
        for value in values {
            number += 1;
            match value {
                Some(value) => {
                    body.extend_from_slice(&(value.len() as u32).to_be_bytes());
                    body.extend_from_slice(value);
                }
                None => body.extend_from_slice(&NULL),
            }
        }
        if let Some(place) = body.get_mut(count..count + 2) {
            place.copy_from_slice(&number.to_be_bytes());
        }
        // No formats: all columns are text.
        body.extend_from_slice(&[0, 0]);
    });
}

/// Appends `Execute` of `portal` for at most `rows`; 0 is all.
pub fn execute(out: &mut Vec<u8>, portal: &str, rows: u32) {
    framed(out, b'E', |body| {
        body.extend_from_slice(portal.as_bytes());
        body.push(0);
        body.extend_from_slice(&rows.to_be_bytes());
    });
}

/// `Sync`.
pub const SYNC: &[u8] = b"S\0\0\0\x04";

/// Appends the row as a list in brackets: `('1','0','...')`.
pub fn literals(text: &mut Vec<u8>, row: &Row) {
    text.push(b'(');
    for (place, value) in row.values().enumerate() {
        if place > 0 {
            text.push(b',');
        }
        match value {
            Some(value) => literal(text, value),
            None => text.extend_from_slice(b"null"),
        }
    }
    text.push(b')');
}

/// A backslash is itself in a plain literal only where `standard_conforming_strings` is on, as it is unless somebody changed it; so
/// a value with one is written in the form that means the same in both.
fn literal(text: &mut Vec<u8>, value: &[u8]) {
    let escapes = value.contains(&b'\\');
    text.extend_from_slice(if escapes { b" E'" } else { b"'" });
    for byte in value {
        match byte {
            b'\'' => text.extend_from_slice(b"''"),
            b'\\' => text.extend_from_slice(b"\\\\"),
            byte => text.push(*byte),
        }
    }
    text.push(b'\'');
}

const NULL: [u8; 4] = u32::MAX.to_be_bytes();

#[cfg(test)]
mod tests {
    use super::*;
    use crate::native::content::Content;

    #[test]
    fn values_are_escaped() {
        let content = Content::Like(vec![vec![Some(b"it's \\ a".to_vec()), None]]);
        let mut row = Row::default();
        content.write(5, &mut row);
        let mut text = Vec::new();
        literals(&mut text, &row);
        assert_eq!(text, b"('5','0', E'it''s \\\\ a',null)");
        let mut out = Vec::new();
        bind(&mut out, "p", "s", row.values());
        assert_eq!(out.get(..13), Some(&b"B\0\0\0\x28p\0s\0\0\0\0\x04"[..]));
    }
}
