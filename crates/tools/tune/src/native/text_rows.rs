//! Text line format common to PostgreSQL's COPY and MySQL's LOAD DATA.

use super::content::Row;
use super::method::Work;
use crate::Error;

/// Passes all rows to `send` in pieces of exactly `size` bytes and returns the remainder.
pub(crate) fn pieces(
    work: &Work<'_>,
    size: usize,
    mut send: impl FnMut(&[u8]) -> Result<(), Error>,
) -> Result<Vec<u8>, Error> {
    let mut row = Row::default();
    let mut lines = Vec::new();
    for key in 1..=work.rows {
        work.content.write(key, &mut row);
        line(&mut lines, &row);
        let whole = lines.len() - lines.len() % size;
        for piece in lines.get(..whole).unwrap_or_default().chunks(size) {
            send(piece)?;
        }
        lines.drain(..whole);
    }
    Ok(lines)
}

/// Tab-separated, `\N` for NULL, with backslash escapes.
fn line(text: &mut Vec<u8>, row: &Row) {
    for (place, value) in row.values().enumerate() {
        if place > 0 {
            text.push(b'\t');
        }
        let Some(value) = value else {
            text.extend_from_slice(b"\\N");
            continue;
        };
        for byte in value {
            match byte {
                b'\t' => text.extend_from_slice(b"\\t"),
                b'\n' => text.extend_from_slice(b"\\n"),
                b'\r' => text.extend_from_slice(b"\\r"),
                b'\\' => text.extend_from_slice(b"\\\\"),
                byte => text.push(*byte),
            }
        }
    }
    text.push(b'\n');
}

#[cfg(test)]
mod tests {
    use super::super::content::Content;
    use super::*;

    #[test]
    fn what_would_end_a_value_is_escaped() {
        let content = Content::Like(vec![vec![Some(b"a\tb\\\n".to_vec()), None, Some(Vec::new())]]);
        let mut row = Row::default();
        content.write(3, &mut row);
        let mut text = Vec::new();
        line(&mut text, &row);
        assert_eq!(text, b"3\t0\ta\\tb\\\\\\n\t\\N\t\n");
    }
}
