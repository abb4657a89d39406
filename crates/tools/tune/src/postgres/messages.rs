//! Encodes rows in requests.

use client::postgres;

/// Appends `Bind` of statement `name` to the unnamed portal, and `Execute`.
pub fn run<'v>(
    out: &mut Vec<u8>,
    name: &str,
    count: usize,
    mut values: impl Iterator<Item = Option<&'v [u8]>>,
) {
    let count = u16::try_from(count).unwrap_or(u16::MAX);
    let value = |_, text: &mut Vec<u8>| {
        let value = values.next().flatten();
        text.extend_from_slice(value.unwrap_or_default());
        value.is_some()
    };
    postgres::bind(out, ["", name], count, value, &[]);
    postgres::execute(out, "", 0);
}

/// A backslash is literal only with `standard_conforming_strings` on, the default. Values with a
/// backslash use a form independent of the setting.
pub fn opening(value: &[u8]) -> &'static [u8] {
    if value.contains(&b'\\') { b" E'" } else { b"'" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::native::content::{Content, Row};

    #[test]
    fn values_are_escaped() {
        let content = Content::Like(vec![vec![Some(b"it's \\ a".to_vec()), None]]);
        let mut row = Row::default();
        content.write(5, &mut row);
        let mut text = Vec::new();
        row.literals(&mut text, opening);
        assert_eq!(text, b"('5','0', E'it''s \\\\ a',null)");
        let mut out = Vec::new();
        run(&mut out, "s", 4, row.values());
        assert_eq!(out.get(..12), Some(&b"B\0\0\0\x27\0s\0\0\0\0\x04"[..]));
    }
}
