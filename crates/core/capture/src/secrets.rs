//! Session keys embedded in a capture: pcapng's Decryption Secrets Blocks.
//!
//! Section 4.7 of draft-ietf-opsawg-pcapng defines them. A block has a type, a length, and the
//! secrets. Those of TLS are the text of a key log (RFC 9850); its lines are emitted one by one.
//! Secrets are neither kept here nor printed in warnings. Blocks of other types are counted.

use crate::byte_order::ByteOrder;

/// Receives a line of an embedded key log and returns whether it is valid. The lines are secret.
pub type KeyLineSink<'k> = dyn Fn(&[u8]) -> bool + 'k;

#[derive(Debug, Default)]
pub(crate) struct SecretsTally {
    pub foreign: u64,
    pub faulty: u64,
    /// Offset of the first faulty block in the (decompressed) source, and its fault.
    pub first_fault: Option<(u64, SecretsFault)>,
    /// Offset of a block that the end of the source truncates.
    pub cut: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SecretsFault {
    Empty,
    Length,
    /// Number of lines without the form of a key log.
    Lines(u64),
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct SecretsHead {
    pub is_tls: bool,
    pub length: usize,
}

impl SecretsHead {
    /// Parses the head from a block's body or its first bytes.
    pub fn parse(body: &[u8], order: ByteOrder) -> Option<Self> {
        Some(Self {
            is_tls: order.u32_at(body, 0)? == TLS_KEY_LOG,
            length: order.u32_at(body, 4)? as usize,
        })
    }
}

impl SecretsTally {
    pub fn block(&mut self, place: u64, body: &[u8], order: ByteOrder, sink: &KeyLineSink<'_>) {
        let Some(head) = SecretsHead::parse(body, order) else {
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

    /// Processes a block that is truncated by the end of the source.
    pub fn cut(&mut self, place: u64, body: &[u8], order: ByteOrder, sink: &KeyLineSink<'_>) {
        self.cut = Some(place);
        let is_tls = SecretsHead::parse(body, order).is_some_and(|head| head.is_tls);
        if let (true, Some(secrets)) = (is_tls, body.get(SECRETS_HEAD..)) {
            // The rest after the last line feed may be half a secret, or padding.
            KeyLines::default().feed(secrets, sink);
        }
    }

    pub fn ended(&mut self, place: u64, lines: KeyLines, sink: &KeyLineSink<'_>) {
        match lines.finish(sink) {
            Lines { all: 0, .. } => self.fault(place, SecretsFault::Empty),
            Lines { wrong: 0, .. } => {}
            Lines { wrong, .. } => self.fault(place, SecretsFault::Lines(wrong)),
        }
    }

    pub fn fault(&mut self, place: u64, fault: SecretsFault) {
        self.faulty += 1;
        self.first_fault.get_or_insert((place, fault));
    }
}

/// Splits the text of a block into lines. Keeps one line of at most [`MAX_LINE_LEN`] bytes.
#[derive(Default)]
pub(crate) struct KeyLines {
    begun: Vec<u8>,
    /// The current line is longer than any of a key log: a comment, or garbage.
    is_too_long: bool,
    lines: Lines,
}

#[derive(Clone, Copy, Default)]
struct Lines {
    all: u64,
    wrong: u64,
}

impl KeyLines {
    pub fn feed(&mut self, mut text: &[u8], sink: &KeyLineSink<'_>) {
        while let Some(end) = text.iter().position(|byte| *byte == b'\n') {
            self.extend(&text[..end]);
            self.line(sink);
            text = &text[end + 1..];
        }
        self.extend(text);
    }

    /// The last line may have no line feed.
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

/// "TLSK", the key log of TLS.
const TLS_KEY_LOG: u32 = 0x544c_534b;
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
            // Invalid: the refused line, and the one that is too long.
            assert_eq!((lines.all, lines.wrong), (6, 2), "{size}");
        }
    }
}
