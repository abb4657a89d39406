//! SQL Server's texts in UTF-16, least significant byte first.

/// Returns at most [`MAX_TEXT_LEN`] bytes of UTF-8. Invalid units become U+FFFD; half a unit is
/// dropped.
pub(super) fn text(bytes: &[u8]) -> String {
    let units = bytes
        .chunks_exact(2)
        .filter_map(|pair| <[u8; 2]>::try_from(pair).ok());
    let characters = char::decode_utf16(units.map(u16::from_le_bytes));
    let mut out = String::new();
    for character in characters {
        if out.len() >= MAX_TEXT_LEN {
            break;
        }
        out.push(character.unwrap_or(char::REPLACEMENT_CHARACTER));
    }
    out
}

/// In bytes of UTF-8, less a character.
const MAX_TEXT_LEN: usize = 64 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_character_is_replaced() {
        assert_eq!(text(b"a\0\xe4\0\x3d\xd8\0\xde"), "a\u{e4}\u{1f600}");
        assert_eq!(text(b"a\0\x3d\xd8b\0c"), "a\u{fffd}b");
    }
}
