//! Content of rows, the same in every way and run.

/// Columns after key and counter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Content {
    /// Texts of these widths, with letters and digits derived from the row number.
    Made(Vec<usize>),
    /// Rows of another table, repeated cyclically.
    Like(Vec<Vec<Option<Vec<u8>>>>),
}

#[derive(Debug, Default)]
pub(crate) struct Row {
    bytes: Vec<u8>,
    /// End of each value, and false for NULL.
    ends: Vec<(usize, bool)>,
}

/// Returns the prefix of a value's literal, up to the quote.
pub(crate) type LiteralOpening = fn(&[u8]) -> &'static [u8];

impl Content {
    /// `row_bytes` includes key and counter.
    pub fn made(row_bytes: u32) -> Self {
        let rest = (row_bytes as usize).saturating_sub(KEY_AND_COUNTER);
        let columns = rest.div_ceil(USUAL_WIDTH).min(MAX_COLUMNS);
        let widths = (0..columns).map(|column| rest / columns + usize::from(column < rest % columns));
        Self::Made(widths.collect())
    }

    /// Mean total size of a row's columns.
    pub fn row_bytes(&self) -> u64 {
        KEY_AND_COUNTER as u64
            + match self {
                Self::Made(widths) => widths.iter().sum::<usize>() as u64,
                Self::Like(rows) => {
                    let bytes: usize = rows.iter().flatten().flatten().map(Vec::len).sum();
                    bytes.div_ceil(rows.len().max(1)) as u64
                }
            }
    }

    /// Includes key and counter.
    pub fn columns(&self) -> usize {
        2 + match self {
            Self::Made(widths) => widths.len(),
            Self::Like(rows) => rows.first().map_or(0, Vec::len),
        }
    }

    /// Generates the row with this key.
    pub fn write(&self, key: u64, row: &mut Row) {
        row.bytes.clear();
        row.ends.clear();
        row.number(key);
        row.number(0);
        match self {
            Self::Made(widths) => {
                let mut state = key;
                for width in widths {
                    row.letters(*width, &mut state);
                }
            }
            Self::Like(rows) => {
                let place = key as usize % rows.len().max(1);
                for value in rows.get(place).into_iter().flatten() {
                    row.bytes.extend_from_slice(value.as_deref().unwrap_or_default());
                    row.ends.push((row.bytes.len(), value.is_some()));
                }
            }
        }
    }
}

impl Row {
    /// In column order, with `None` for NULL.
    pub fn values(&self) -> impl Iterator<Item = Option<&[u8]>> {
        let starts = std::iter::once(0).chain(self.ends.iter().map(|(end, _)| *end));
        starts
            .zip(&self.ends)
            .map(|(start, (end, is_value))| is_value.then(|| self.bytes.get(start..*end).unwrap_or_default()))
    }

    /// Appends a list like `('1','0','...')`.
    pub fn literals(&self, text: &mut Vec<u8>, opening: LiteralOpening) {
        for (place, value) in self.values().enumerate() {
            text.push(if place == 0 { b'(' } else { b',' });
            let Some(value) = value else {
                text.extend_from_slice(b"null");
                continue;
            };
            text.extend_from_slice(opening(value));
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

    fn number(&mut self, number: u64) {
        use std::io::Write;
        // Writing to a vector never fails.
        write!(self.bytes, "{number}").ok();
        self.ends.push((self.bytes.len(), true));
    }

    fn letters(&mut self, width: usize, state: &mut u64) {
        let end = self.bytes.len() + width;
        while self.bytes.len() < end {
            let mut bits = draw(state);
            for _ in 0..(end - self.bytes.len()).min(LETTERS_A_DRAW) {
                let letter = LETTERS.get((bits & 63) as usize);
                self.bytes.push(letter.copied().unwrap_or(b'x'));
                bits >>= 6;
            }
        }
        self.ends.push((end, true));
    }
}

fn draw(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// Two 64-bit integers, in bytes.
const KEY_AND_COUNTER: usize = 16;
/// Of a text column, unless there would be too many columns.
const USUAL_WIDTH: usize = 80;
const MAX_COLUMNS: usize = 8;
/// None of these needs escaping in statements, COPY or LOAD DATA.
const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const LETTERS_A_DRAW: usize = 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_the_bytes_asked_for_and_are_the_same_each_time() {
        for (row_bytes, columns) in [(10, 2), (16, 2), (17, 3), (322, 6), (4000, 10)] {
            let content = Content::made(row_bytes);
            assert_eq!(content.columns(), columns, "{row_bytes}");
            assert_eq!(content.row_bytes(), u64::from(row_bytes).max(16));
            let (mut one, mut other) = (Row::default(), Row::default());
            content.write(7, &mut one);
            content.write(8, &mut other);
            content.write(7, &mut other);
            assert_eq!(one.bytes, other.bytes);
            assert_eq!(one.values().count(), columns);
            let texts: usize = one.values().skip(2).flatten().map(<[u8]>::len).sum();
            assert_eq!(texts as u64 + 16, content.row_bytes());
        }
    }

    #[test]
    fn rows_of_another_table_come_again_and_again() {
        let content = Content::Like(vec![
            vec![Some(b"a".to_vec()), None],
            vec![Some(b"bcd".to_vec()), Some(Vec::new())],
        ]);
        let mut row = Row::default();
        content.write(2, &mut row);
        let values: Vec<_> = row.values().collect();
        assert_eq!(values, [Some(&b"2"[..]), Some(b"0"), Some(b"a"), None]);
        assert_eq!((content.columns(), content.row_bytes()), (4, 18));
    }
}
