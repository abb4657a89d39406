//! Values of columns with secret names: `insert into a (name, password) values (b, c)`, `set (name,
//! password) = (b, c)`.

use super::super::secrets::is_secret_name;
use super::Normaliser;
use super::words::{is_word, last_word, matching_open};

impl Normaliser<'_> {
    /// Records secret columns if rows follow: a list of names, then `values`, `in` or `=`.
    pub(super) fn note_columns(&mut self) {
        self.secret_columns.clear();
        let out = self.out.as_slice();
        let names = match out.strip_suffix(b"=") {
            Some(before) => before,
            None => &out[..out.len() - last_word(out).len()],
        };
        let names = names.trim_ascii_end();
        let Some(open) = names.ends_with(b")").then(|| matching_open(names)).flatten() else {
            return;
        };
        let names = names[open + 1..names.len() - 1].split(|byte| *byte == b',');
        let columns: Vec<bool> = names.map(is_secret_name).collect();
        if columns.contains(&true) {
            self.secret_columns = columns;
        }
    }

    pub(super) fn is_in_secret_column(&self, byte: u8) -> bool {
        let is_of_value = is_word(byte) || byte.is_ascii_digit() || matches!(byte, b'"' | b'`' | b'$');
        if self.secret_columns.is_empty() || !is_of_value {
            return false;
        }
        let place = place_in_row(self.out);
        place.is_some_and(|place| self.secret_columns.get(place) == Some(&true))
    }
}

/// Number of values before the next one in an open row. A call counts as one value.
fn place_in_row(out: &[u8]) -> Option<usize> {
    let (mut depth, mut place) = (0_usize, 0);
    for (at, byte) in out.iter().enumerate().rev() {
        match byte {
            b')' => depth += 1,
            b'(' if depth > 0 => depth -= 1,
            b',' if depth == 0 => place += 1,
            b'(' => {
                let before = out[..at].trim_ascii_end();
                let word = last_word(before);
                let is_row = before.ends_with(b",")
                    || before.ends_with(b"=")
                    || before.ends_with(b"(")
                    || [&b"values"[..], b"value", b"row"]
                        .iter()
                        .any(|row| row.eq_ignore_ascii_case(word));
                if is_row {
                    return Some(place);
                }
                place = 0;
            }
            _ => {}
        }
    }
    None
}
