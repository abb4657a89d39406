//! CGI head of a reply; only the status is inspected.

use super::MAXIMUM_HEAD;
use crate::http::{HeadLines, head_end};
use std::borrow::Cow;

#[derive(Debug, Default)]
pub(super) struct Head {
    bytes: Vec<u8>,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum State {
    #[default]
    Nothing,
    Begun,
    Done,
}

impl Head {
    pub(super) fn room(&self) -> usize {
        match self.state {
            State::Done => 0,
            State::Nothing | State::Begun => MAXIMUM_HEAD - self.bytes.len(),
        }
    }

    /// Returns the status if the head ends in this record of `content` bytes.
    pub(super) fn add(&mut self, kept: &[u8], content: u16) -> Option<u16> {
        if self.state == State::Done || content == 0 {
            return None;
        }
        self.state = State::Begun;
        let kept = kept.get(..usize::from(content)).unwrap_or(kept);
        let before = self.bytes.len();
        let head = if before == 0 {
            Cow::Borrowed(kept)
        } else {
            self.bytes.extend_from_slice(kept);
            Cow::Owned(std::mem::take(&mut self.bytes))
        };
        if let Some(end) = head_end(&head, before) {
            self.state = State::Done;
            return Some(status(head.get(..end).unwrap_or_default()));
        }
        if kept.len() < usize::from(content) {
            self.state = State::Done;
        } else {
            self.bytes = head.into_owned();
        }
        None
    }

    /// Returns the status if a head has begun without an end.
    pub(super) fn finish(&mut self) -> Option<u16> {
        let head = std::mem::take(self);
        (head.state == State::Begun).then(|| status(&head.bytes))
    }
}

/// Status as web servers derive it (RFC 3875, section 6.3): 200 by default, 302 with only a
/// location.
fn status(head: &[u8]) -> u16 {
    let mut otherwise = OK;
    for line in HeadLines::new(head) {
        let Some(colon) = line.iter().position(|&byte| byte == b':') else {
            continue;
        };
        let (name, value) = line.split_at(colon);
        if name.eq_ignore_ascii_case(b"status") {
            let value = value.get(1..).unwrap_or_default().trim_ascii();
            return digits(value).unwrap_or(OK);
        }
        if name.eq_ignore_ascii_case(b"location") {
            otherwise = FOUND;
        }
    }
    otherwise
}

fn digits(value: &[u8]) -> Option<u16> {
    let text = std::str::from_utf8(value.get(..3)?).ok()?;
    let ends = value.get(3).is_none_or(u8::is_ascii_whitespace);
    text.parse()
        .ok()
        .filter(|status| ends && (100..600).contains(status))
}

const OK: u16 = 200;
const FOUND: u16 = 302;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_is_found_however_the_head_is_cut() {
        let cases: [(&[u8], u16); 5] = [
            (
                b"Status: 404 Not Found\r\nContent-type: text/html\r\n\r\nbody",
                404,
            ),
            (b"Content-type: text/html\r\n\r\nStatus: 500", 200),
            (b"X: y\nstatus:503\n\n", 503),
            (b"Location: /a\r\nX: y\r\n\r\n", 302),
            (b"Status: what\r\n\r\n", 200),
        ];
        for (output, expected) in cases {
            for length in 1..=output.len() {
                let mut head = Head::default();
                let told: Vec<u16> = output
                    .chunks(length)
                    .filter_map(|piece| head.add(piece, piece.len() as u16))
                    .collect();
                assert_eq!(told, [expected], "{length}");
                assert_eq!(head.finish(), None);
            }
        }
    }

    #[test]
    fn a_head_that_does_not_end_is_bounded() {
        let mut head = Head::default();
        for _ in 0..100 {
            let piece = vec![b'x'; 1000.min(head.room())];
            assert_eq!(head.add(&piece, 1000), None);
            assert!(head.bytes.len() <= MAXIMUM_HEAD);
        }
        assert_eq!(head.finish(), None);
        assert_eq!(head.add(b"Status: 403", 11), None);
        assert_eq!(head.finish(), Some(403));
        assert_eq!(head.finish(), None, "nothing was written");
    }
}
