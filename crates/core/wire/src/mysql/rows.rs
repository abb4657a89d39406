//! Rows of a text result (MySQL source documentation, "Text Resultset"), for a client that did not
//! request results without EOF packets or without column definitions.

use super::messages::NULL;
use super::messages::reply::{EOF, ERR, LOCAL_INFILE, OK};
use crate::decoding::reader::Reader;
use crate::decoding::rows::TextRows;

pub fn text_rows(reply: &[u8]) -> TextRows {
    text_results(reply).pop().unwrap_or_default()
}

/// Rows of each result in `reply`, which begins at a packet; a statement without rows has an empty
/// result. Reading ends at a truncated or invalid packet and keeps the rows before it. Values
/// beyond 16 MiB are not read.
pub fn text_results(reply: &[u8]) -> Vec<TextRows> {
    let mut packets = Packets(Reader::new(reply));
    std::iter::from_fn(|| result(&mut packets)).collect()
}

struct Packets<'a>(Reader<'a>);

impl<'a> Iterator for Packets<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let length = self.0.u24_le()?;
        self.0.u8()?;
        self.0.take_bytes(usize::try_from(length).ok()?)
    }
}

fn result(packets: &mut Packets<'_>) -> Option<TextRows> {
    let first = packets.next()?;
    if matches!(first.first(), None | Some(&(OK | ERR | LOCAL_INFILE))) {
        // A statement without rows.
        return Some(TextRows::default());
    }
    let count = Reader::new(first).lenenc_int()?;
    let mut found = TextRows::default();
    for _ in 0..count {
        found.columns.push(column(packets.next()?)?);
    }
    packets.next()?;
    for packet in packets {
        if is_end(packet) {
            break;
        }
        match row(packet, found.columns.len()) {
            Some(row) => found.rows.push(row),
            None => break,
        }
    }
    Some(found)
}

fn is_end(packet: &[u8]) -> bool {
    matches!(packet, [ERR, ..]) || matches!(packet, [EOF, rest @ ..] if rest.len() < 8)
}

/// Name of a column, after catalog, schema, table and original table.
fn column(packet: &[u8]) -> Option<String> {
    let mut fields = Reader::new(packet);
    for _ in 0..4 {
        fields.lenenc_bytes()?;
    }
    Some(String::from_utf8_lossy(fields.lenenc_bytes()?).into_owned())
}

fn row(packet: &[u8], columns: usize) -> Option<Vec<Option<Vec<u8>>>> {
    let mut fields = Reader::new(packet);
    (0..columns)
        .map(|_| {
            if fields.rest().first() == Some(&NULL) {
                fields.u8()?;
                return Some(None);
            }
            fields.lenenc_bytes().map(|value| Some(value.to_vec()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn framed(body: &[u8]) -> Vec<u8> {
        let [low, middle, high, _] = (body.len() as u32).to_le_bytes();
        [&[low, middle, high, 1], body].concat()
    }

    fn described(name: &str) -> Vec<u8> {
        let mut body = b"\x03def\0\0\0".to_vec();
        body.push(name.len() as u8);
        body.extend_from_slice(name.as_bytes());
        body.extend_from_slice(&[0; 13]);
        framed(&body)
    }

    #[test]
    fn the_last_result_is_read() {
        let end = framed(&[EOF, 0, 0, 2, 0]);
        let reply = [
            framed(&[1]),
            described("a"),
            end.clone(),
            framed(b"\x011"),
            end.clone(),
            framed(&[2]),
            described("answer"),
            described("other"),
            end.clone(),
            framed(b"\x0242\xfb"),
            end,
        ]
        .concat();
        let found = text_rows(&reply);
        assert_eq!(found.columns, ["answer", "other"]);
        assert_eq!(found.rows, [vec![Some(b"42".to_vec()), None]]);
        assert_eq!(text_rows(&framed(&[0, 0, 0, 2, 0, 0, 0])), TextRows::default());
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_harm(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let found = text_rows(&bytes);
            prop_assert!(found.rows.len() <= bytes.len() && found.columns.len() <= bytes.len());
        }
    }
}
