//! Keys of sessions that a capture holds next to its packets: pcapng's Decryption Secrets Blocks.
//!
//! Source: draft-ietf-opsawg-pcapng section 4.7. A block has a type of secrets, their length, and the
//! secrets. Those of TLS are the text of a key log (RFC 9850), of which lines are handed on one by one:
//! nothing of it is kept here, and none of it is in a warning. Blocks of other types are counted.

use crate::formats::u32_at;

/// Receives a line of a key log that a capture holds, and says whether it is one. Lines are secret.
pub type KeyLineSink<'k> = dyn Fn(&[u8]) -> bool + 'k;

/// What was found of secrets in one source.
#[derive(Debug, Default)]
pub(crate) struct SecretsTally {
    /// Blocks of secrets that are not of TLS.
    pub foreign: u64,
    /// Blocks of TLS from which something is missing.
    pub faulty: u64,
    /// Where the first of those begins, in bytes from the beginning of the (decompressed) source, and what is
    /// wrong with it.
    pub first_fault: Option<(u64, SecretsFault)>,
    /// Where the block begins that the source ends in.
    pub cut: Option<u64>,
}

/// What is wrong with a block of secrets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SecretsFault {
    /// It holds no secrets.
    Empty,
    /// Its lengths contradict each other.
    Length,
    /// So many of its lines are none of a key log.
    Lines(u64),
}

/// The beginning of a block's body.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SecretsHead {
    pub is_tls: bool,
    /// Bytes of secrets, as stated.
    pub length: usize,
}

impl SecretsHead {
    /// The head of a block with this body, or the beginning of it.
    pub fn parse(body: &[u8], big: bool) -> Option<Self> {
        Some(Self {
            is_tls: u32_at(body, 0, big)? == TLS_KEY_LOG,
            length: u32_at(body, 4, big)? as usize,
        })
    }
}

impl SecretsTally {
    /// Takes a block whose body is there as a whole.
    pub fn block(&mut self, place: u64, body: &[u8], big: bool, sink: &KeyLineSink<'_>) {
        let Some(head) = SecretsHead::parse(body, big) else {
            return self.fault(place, SecretsFault::Length);
        };
        if !head.is_tls {
            self.foreign += 1;
            return;
        }
        match body.get(SECRETS_HEAD..).and_then(|rest| rest.get(..head.length)) {
            Some(secrets) => {
                let mut lines = KeyLines::default();
                lines.feed(secrets, sink);
                self.ended(place, lines, sink);
            }
            None => self.fault(place, SecretsFault::Length),
        }
    }

    /// Takes what there is of a block that the source ends in.
    pub fn cut(&mut self, place: u64, body: &[u8], big: bool, sink: &KeyLineSink<'_>) {
        self.cut = Some(place);
        let is_tls = SecretsHead::parse(body, big).is_some_and(|head| head.is_tls);
        if let (true, Some(secrets)) = (is_tls, body.get(SECRETS_HEAD..)) {
            // What comes after the last line's end may be half a secret, or padding.
            KeyLines::default().feed(secrets, sink);
        }
    }

    /// Takes the end of a block's lines.
    pub fn ended(&mut self, place: u64, lines: KeyLines, sink: &KeyLineSink<'_>) {
        match lines.finish(sink) {
            Lines { all: 0, .. } => self.fault(place, SecretsFault::Empty),
            Lines { wrong: 0, .. } => {}
            Lines { wrong, .. } => self.fault(place, SecretsFault::Lines(wrong)),
        }
    }

    /// Counts a block from which something is missing.
    pub fn fault(&mut self, place: u64, fault: SecretsFault) {
        self.faulty += 1;
        self.first_fault.get_or_insert((place, fault));
    }
}

/// Splits the text of a block into lines. Memory: one line of at most [`MAX_LINE_LEN`] bytes.
#[derive(Default)]
pub(crate) struct KeyLines {
    /// The beginning of a line whose end has not come.
    begun: Vec<u8>,
    /// The line that has begun is longer than any of a key log: a comment, or nonsense.
    is_too_long: bool,
    lines: Lines,
}

/// How many lines there were, and how many of them are none of a key log.
#[derive(Clone, Copy, Default)]
struct Lines {
    all: u64,
    wrong: u64,
}

impl KeyLines {
    /// Takes the next bytes of the text.
    pub fn feed(&mut self, mut text: &[u8], sink: &KeyLineSink<'_>) {
        while let Some(end) = text.iter().position(|byte| *byte == b'\n') {
            self.extend(&text[..end]);
            self.line(sink);
            text = &text[end + 1..];
        }
        self.extend(text);
    }

    /// The text is over: its last line may have no end.
    fn finish(mut self, sink: &KeyLineSink<'_>) -> Lines {
        if !self.begun.is_empty() {
            self.line(sink);
        }
        self.lines
    }

    fn extend(&mut self, part: &[u8]) {
        let room = MAX_LINE_LEN - self.begun.len();
        self.is_too_long |= part.len() > room;
        self.begun.extend_from_slice(&part[..part.len().min(room)]);
    }

    fn line(&mut self, sink: &KeyLineSink<'_>) {
        let is_too_long = std::mem::take(&mut self.is_too_long);
        let is_comment = self.begun.starts_with(b"#");
        let is_right = is_comment || (!is_too_long && sink(&self.begun));
        self.lines.all += 1;
        self.lines.wrong += u64::from(!is_right);
        self.begun.clear();
    }
}

/// "TLSK": the key log of TLS.
const TLS_KEY_LOG: u32 = 0x544c_534b;
/// Bytes of a block's body before the secrets: their type and length.
pub(crate) const SECRETS_HEAD: usize = 8;
/// A line has a label, 32 bytes and at most 64 bytes in hexadecimal digits.
const MAX_LINE_LEN: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    #[test]
    fn lines_are_the_same_however_the_text_is_split() {
        let long = "x".repeat(2 * MAX_LINE_LEN);
        let text = format!("# {long}\none\r\n\ntwo\n{long}\nlast");
        for size in [1, 3, 4096, usize::MAX] {
            let seen = RefCell::new(Vec::new());
            let sink = |line: &[u8]| {
                seen.borrow_mut().push(String::from_utf8_lossy(line).into_owned());
                line != b"two"
            };
            let mut lines = KeyLines::default();
            text.as_bytes()
                .chunks(size)
                .for_each(|part| lines.feed(part, &sink));
            let lines = lines.finish(&sink);
            assert_eq!(seen.take(), ["one\r", "", "two", "last"], "{size}");
            // Wrong: the one that was refused, and the one that is too long.
            assert_eq!((lines.all, lines.wrong), (6, 2), "{size}");
        }
    }
}
