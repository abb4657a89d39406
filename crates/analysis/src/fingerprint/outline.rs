//! The outline of a statement's text: the text with its numbers and quoted literals emptied. Texts with one
//! outline have one fingerprint, so that of a statement that comes again and again with other literals only
//! the first is normalised.
//!
//! Why they have: an outline differs from its text only inside tokens for which [`super::sql::normalise`]
//! writes a `?` whatever is in them, and what is around them is unchanged. Where it could be in doubt what a
//! token is, there is no outline:
//! 1. Comments, backslashes and dollars, and dialects in which other bytes begin literals.
//! 2. Passwords written as names, which may have an apostrophe in the middle ([`holds_for_all`]), and other
//!    secrets that are no literals: `normalise` says so.

use super::Dialect;

/// Longest text that has an outline: what is kept is bounded by it.
pub(super) const MAX_TEXT_LEN: usize = 1024;

/// What a byte of a text is to its outline.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// It stands for itself.
    Plain,
    /// It is part of a word: digits behind it are too.
    Word,
    Digit,
    /// A quote around a literal, or a name.
    Quote,
    /// A hyphen or a slash: two may begin a comment.
    Mark,
    /// With it there is no outline.
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

/// Writes the outline of `text`. False when it has none.
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

/// Whether the fingerprint of one text with this outline is that of all: no password may be in it that is
/// written as a name.
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

/// Bytes up to and with the quote that ends what was quoted, doubled ones passed over. `None` if none does,
/// or a backslash may escape one.
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
