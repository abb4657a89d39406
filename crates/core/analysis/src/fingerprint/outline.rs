//! The outline of a statement: the text with numbers and quoted literals emptied. Texts with one
//! outline have one fingerprint, so only the first of a repeated statement is normalised.
//!
//! An outline differs from its text only inside tokens for which [`super::sql::normalise`] writes
//! `?` regardless of content. There is no outline if a token may be ambiguous:
//! 1. Comments, backslashes and dollars, and dialects in which other bytes begin literals.
//! 2. Passwords written as names, which may contain an apostrophe ([`holds_for_all`]), and other secrets that
//!    are no literals: `normalise` reports them.

use super::Dialect;

/// Also bounds the memory of stored outlines.
pub(super) const MAX_TEXT_LEN: usize = 1024;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Plain,
    Word,
    Digit,
    Quote,
    /// A hyphen or slash: two may begin a comment.
    Mark,
    Doubtful,
}

static KINDS: [Kind; 256] = {
    let mut kinds = [Kind::Plain; 256];
    let mut byte = 0;
    while byte < kinds.len() {
        kinds[byte] = match byte as u8 {
            b'0'..=b'9' => Kind::Digit,
            b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'@' | 0x80.. => Kind::Word,
            b'\'' | b'"' | b'`' => Kind::Quote,
            b'-' | b'/' => Kind::Mark,
            b'\\' | b'$' | b'#' => Kind::Doubtful,
            _ => Kind::Plain,
        };
        byte += 1;
    }
    kinds
};

/// Returns false if the text has no outline.
pub(super) fn write(text: &[u8], dialect: Dialect, out: &mut Vec<u8>) -> bool {
    out.clear();
    if text.len() > MAX_TEXT_LEN || !matches!(dialect, Dialect::Standard | Dialect::Mysql) {
        return false;
    }
    let mut copied = 0;
    let mut at = 0;
    let mut in_word = false;
    while let Some(&byte) = text.get(at) {
        at += 1;
        match KINDS[usize::from(byte)] {
            Kind::Plain => in_word = false,
            Kind::Word => in_word = true,
            Kind::Digit if in_word => {}
            Kind::Digit => {
                out.extend_from_slice(&text[copied..at - 1]);
                out.push(b'0');
                at += digits(&text[at..]);
                copied = at;
            }
            Kind::Quote => {
                let Some(length) = quoted(&text[at..], byte) else {
                    return false;
                };
                if byte == b'\'' || (byte == b'"' && dialect == Dialect::Mysql) {
                    out.extend_from_slice(&text[copied..at]);
                    copied = at + length - 1;
                }
                at += length;
                in_word = false;
            }
            Kind::Mark if matches!((byte, text.get(at)), (b'-', Some(b'-')) | (b'/', Some(b'*'))) => {
                return false;
            }
            Kind::Mark => in_word = false,
            Kind::Doubtful => return false,
        }
    }
    out.extend_from_slice(&text[copied..]);
    true
}

/// Whether all texts with this outline share a fingerprint: false if a password may be written as a
/// name.
pub(super) fn holds_for_all(outline: &[u8]) -> bool {
    let contains = |word: &[u8]| {
        outline
            .windows(word.len())
            .any(|found| found.eq_ignore_ascii_case(word))
    };
    !contains(b"identified") && !contains(b"connect")
}

fn digits(text: &[u8]) -> usize {
    text.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

/// Bytes up to and including the closing quote, skipping doubled ones. `None` if it is missing, or
/// a backslash may escape one.
fn quoted(text: &[u8], quote: u8) -> Option<usize> {
    let mut at = 0;
    loop {
        match *text.get(at)? {
            b'\\' => return None,
            byte if byte == quote && text.get(at + 1) == Some(&quote) => at += 2,
            byte if byte == quote => return Some(at + 1),
            _ => at += 1,
        }
    }
}
