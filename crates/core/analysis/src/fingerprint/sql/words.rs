//! Words and brackets of statement texts.

pub(super) fn matching_open(out: &[u8]) -> Option<usize> {
    let mut depth = 0_usize;
    for (index, &byte) in out.iter().enumerate().rev() {
        match byte {
            b')' => depth += 1,
            b'(' => {
                depth -= 1;
                if depth == 0 {
                    return Some(index);
                }
            }
            _ => {}
        }
    }
    None
}

pub(super) const fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte == b'@' || byte >= 0x80
}

/// `identified by values '...'` and `identified by password '...'`, with literals as secrets.
pub(super) fn is_form_of_password(word: &[u8]) -> bool {
    word.eq_ignore_ascii_case(b"values") || word.eq_ignore_ascii_case(b"password")
}

pub(super) fn ends_with(text: &[u8], end: &[u8]) -> bool {
    let start = text.len().checked_sub(end.len());
    start.is_some_and(|start| text[start..].eq_ignore_ascii_case(end))
}

pub(super) fn last_word(text: &[u8]) -> &[u8] {
    let letters = text
        .iter()
        .rev()
        .take_while(|byte| byte.is_ascii_alphabetic())
        .count();
    &text[text.len() - letters..]
}

pub(super) fn contains(text: &[u8], word: &[u8]) -> bool {
    text.windows(word.len())
        .any(|window| window.eq_ignore_ascii_case(word))
}

/// `q` or `nq` before a literal of Oracle's.
pub(super) const fn is_own_quote(word: &[u8]) -> bool {
    matches!(word, [b'q' | b'Q'] | [b'n' | b'N', b'q' | b'Q'])
}

/// `@P1`, a parameter name of SQL Server's drivers.
pub(super) fn is_numbered_parameter(word: &[u8]) -> bool {
    matches!(word, [b'@', b'p' | b'P', digits @ ..] if !digits.is_empty() && digits.iter().all(u8::is_ascii_digit))
}

/// `e`, `x`, `b`, `n`, or a MySQL character set such as `_utf8`.
pub(super) fn is_literal_prefix(word: &[u8]) -> bool {
    matches!(word, [letter] if letter.is_ascii_alphabetic()) || word.first() == Some(&b'_')
}
