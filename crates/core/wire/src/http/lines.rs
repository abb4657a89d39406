//! Lines of a head.

use memchr::memchr;

/// Length of a whole head at the beginning of `bytes`, with the empty line. Empty lines before a
/// head belong to it (RFC 9112 section 2.2). The first `looked_at` bytes were inspected before.
pub(crate) fn end(bytes: &[u8], looked_at: usize) -> Option<usize> {
    let first = bytes.iter().position(|byte| !matches!(byte, b'\r' | b'\n'))?;
    let mut from = first.max(looked_at.saturating_sub(2));
    while let Some(newline) = memchr(b'\n', bytes.get(from..)?) {
        let behind = from + newline + 1;
        match bytes.get(behind..) {
            Some([b'\n', ..]) => return Some(behind + 1),
            Some([b'\r', b'\n', ..]) => return Some(behind + 2),
            _ => from = behind,
        }
    }
    None
}

/// The lines of a head up to the empty one.
#[derive(Debug, Clone)]
pub(crate) struct Lines<'a> {
    rest: &'a [u8],
    length: usize,
    is_whole: bool,
}

impl<'a> Lines<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        let first = bytes.iter().position(|byte| !matches!(byte, b'\r' | b'\n'));
        Self {
            rest: bytes.get(first.unwrap_or(bytes.len())..).unwrap_or_default(),
            length: bytes.len(),
            is_whole: false,
        }
    }

    pub(super) fn length(mut self) -> Option<usize> {
        if !self.is_whole {
            self.by_ref().for_each(drop);
        }
        self.is_whole.then_some(self.length)
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        let Some(newline) = memchr(b'\n', self.rest) else {
            let last = std::mem::take(&mut self.rest);
            return Some(last.strip_suffix(b"\r").unwrap_or(last)).filter(|_| !last.is_empty());
        };
        let (line, behind) = (&self.rest[..newline], &self.rest[newline + 1..]);
        self.rest = behind;
        match line {
            [] | [b'\r'] => {
                self.length -= std::mem::take(&mut self.rest).len();
                self.is_whole = true;
                None
            }
            [line @ .., b'\r'] | line => Some(line),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_head_is_found_in_pieces() {
        let head = b"\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\nmore";
        let whole = head.len() - 4;
        assert_eq!(end(head, 0), Some(whole));
        for looked_at in 0..whole {
            assert_eq!(end(&head[..looked_at], 0), None);
            assert_eq!(end(head, looked_at), Some(whole), "{looked_at}");
        }
        assert_eq!(end(b"GET / HTTP/1.0\n\n", 0), Some(16));
    }

    #[test]
    fn lines_end_where_the_head_does() {
        let heads: [&[u8]; 7] = [
            b"\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\nmore\r\n\r\n",
            b"GET / HTTP/1.0\n\nmore",
            b"GET / HTTP/1.0\r\n\n",
            b"GET / HTTP/1.0\r\n\r\r\n\r\n",
            b"GET / HTTP/1.0\r\nHost: a\r",
            b"\r\n\r\n",
            b"",
        ];
        for head in heads {
            for length in 0..=head.len() {
                let head = &head[..length];
                let mut lines = Lines::new(head);
                lines.next();
                assert_eq!(Lines::new(head).length(), end(head, 0), "{head:?}");
                assert_eq!(lines.length(), end(head, 0), "{head:?}");
            }
        }
        assert_eq!(
            Lines::new(heads[0]).collect::<Vec<_>>(),
            [&b"GET / HTTP/1.1"[..], b"Host: a"]
        );
        assert_eq!(Lines::new(heads[4]).last(), Some(&b"Host: a"[..]));
    }
}
