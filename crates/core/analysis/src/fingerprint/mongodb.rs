//! MongoDB's commands without comments, and without names that are data.

use super::MAXIMUM_LENGTH;
use super::http::is_wordy;

/// Between dots, names that are no words of programs ([`is_wordy`]) become `?`.
pub(super) fn normalise(text: &[u8], out: &mut Vec<u8>) {
    out.clear();
    let text = match text.windows(2).position(|pair| pair == b"/*") {
        Some(comment) => text.get(..comment).unwrap_or(text),
        None => text,
    };
    let mut rest = text.trim_ascii_end();
    while let Some(&first) = rest.first() {
        let is_of_word = |byte: &u8| byte.is_ascii_alphanumeric() || b"_$.-".contains(byte);
        let (word, behind) = match rest.iter().position(|byte| !is_of_word(byte)) {
            Some(0) => {
                out.push(first);
                rest = rest.get(1..).unwrap_or_default();
                continue;
            }
            Some(end) => rest.split_at(end),
            None => (rest, &[][..]),
        };
        for (place, part) in word.split(|&byte| byte == b'.').enumerate() {
            out.extend_from_slice(if place > 0 { b"." } else { b"" });
            out.extend_from_slice(if is_name(part) { part } else { b"?" });
        }
        rest = behind;
    }
    if out.len() > MAXIMUM_LENGTH {
        out.truncate(MAXIMUM_LENGTH);
        out.extend_from_slice(b"...");
    }
}

fn is_name(part: &[u8]) -> bool {
    let is_number = part.iter().all(u8::is_ascii_digit);
    let bare = part.strip_prefix(b"$").unwrap_or(part);
    (part.is_empty() || !is_number) && std::str::from_utf8(bare).is_ok_and(is_wordy)
}
