//! Rows of a text result (PostgreSQL manual, section "Message Formats": RowDescription, DataRow).

use super::messages::backend::{COMMAND_COMPLETE, DATA_ROW, ROW_DESCRIPTION};
use crate::decoding::reader::Reader;
use crate::decoding::rows::TextRows;

pub fn text_rows(reply: &[u8]) -> TextRows {
    text_results(reply).pop().unwrap_or_default()
}

/// Rows of each result in `reply`, which begins at a message; a statement without rows has an empty
/// result. Reading ends at a truncated or invalid message and keeps the rows before it.
pub fn text_results(reply: &[u8]) -> Vec<TextRows> {
    let mut results = Vec::new();
    let mut coming = None;
    let mut bytes = Reader::new(reply);
    while let Some((tag, body)) = message(&mut bytes) {
        match tag {
            ROW_DESCRIPTION => {
                let Some(columns) = columns(body) else { break };
                coming = Some(TextRows {
                    columns,
                    rows: Vec::new(),
                });
            }
            DATA_ROW => match (&mut coming, row(body)) {
                (Some(result), Some(row)) if row.len() == result.columns.len() => result.rows.push(row),
                _ => break,
            },
            COMMAND_COMPLETE => results.push(coming.take().unwrap_or_default()),
            _ => {}
        }
    }
    results.extend(coming);
    results
}

fn message<'a>(bytes: &mut Reader<'a>) -> Option<(u8, Reader<'a>)> {
    let tag = bytes.u8()?;
    let length = usize::try_from(bytes.u32_be()?).ok()?;
    Some((tag, bytes.sub(length.checked_sub(4)?)?))
}

fn columns(mut body: Reader<'_>) -> Option<Vec<String>> {
    let count = body.u16_be()?;
    (0..count)
        .map(|_| {
            let name = String::from_utf8_lossy(body.cstr()?).into_owned();
            body.take_bytes(AFTER_NAME)?;
            Some(name)
        })
        .collect()
}

fn row(mut body: Reader<'_>) -> Option<Vec<Option<Vec<u8>>>> {
    let count = body.u16_be()?;
    (0..count)
        .map(|_| match body.u32_be()? {
            u32::MAX => Some(None),
            length => Some(Some(body.take_bytes(usize::try_from(length).ok()?)?.to_vec())),
        })
        .collect()
}

/// Table, column, type, its length, its modifier, format.
const AFTER_NAME: usize = 4 + 2 + 4 + 2 + 4 + 2;

#[cfg(test)]
mod tests {
    use super::super::messages::backend::READY_FOR_QUERY;
    use super::*;
    use proptest::prelude::*;

    fn framed(tag: u8, body: &[u8]) -> Vec<u8> {
        let length = (body.len() as u32 + 4).to_be_bytes();
        [&[tag], &length[..], body].concat()
    }

    fn described(name: &[u8]) -> Vec<u8> {
        framed(ROW_DESCRIPTION, &[&[0, 1], name, &[0; 1 + AFTER_NAME]].concat())
    }

    #[test]
    fn the_last_result_is_read() {
        let reply = [
            described(b"a"),
            framed(DATA_ROW, b"\0\x01\0\0\0\x011"),
            framed(COMMAND_COMPLETE, b"SELECT 1\0"),
            described(b"answer"),
            framed(DATA_ROW, b"\0\x01\0\0\0\x0242"),
            framed(DATA_ROW, b"\0\x01\xff\xff\xff\xff"),
            framed(COMMAND_COMPLETE, b"SELECT 2\0"),
            framed(READY_FOR_QUERY, b"I"),
        ]
        .concat();
        let found = text_rows(&reply);
        assert_eq!(found.columns, ["answer"]);
        assert_eq!(found.rows, [vec![Some(b"42".to_vec())], vec![None]]);
    }

    #[test]
    fn what_is_cut_or_claims_too_much_ends_the_reading() {
        let good = [described(b"a"), framed(DATA_ROW, b"\0\x01\0\0\0\x011")].concat();
        for bad in [
            &b"D\xff\xff\xff\xff"[..],
            b"D\0\0\0\x03",
            b"D\0\0\0\x0a\0\x01\x7f\xff\xff\xff",
            b"D\0\0\0\x06\0\x02",
            b"D",
        ] {
            let found = text_rows(&[&good, bad].concat());
            assert_eq!(found.rows.len(), 1, "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_harm(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let found = text_rows(&bytes);
            prop_assert!(found.rows.len() <= bytes.len());
        }
    }
}
