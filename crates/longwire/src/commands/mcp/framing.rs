//! Reads messages from stdin, one per line, of bounded length.

use std::io::{self, BufRead, Read};

#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    Complete(Vec<u8>),
    /// Skipped, as longer than [`MAX_MESSAGE_LEN`].
    TooLong,
}

/// Returns the next non-empty line, or `None` at the end of the input.
pub fn next_line(input: &mut impl BufRead) -> io::Result<Option<Line>> {
    loop {
        let mut line = Vec::new();
        let limit = MAX_MESSAGE_LEN as u64 + 1;
        if input.by_ref().take(limit).read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        let is_whole = line.last() == Some(&b'\n');
        if !is_whole && line.len() > MAX_MESSAGE_LEN {
            pass_over(input)?;
            return Ok(Some(Line::TooLong));
        }
        if !line.trim_ascii().is_empty() {
            return Ok(Some(Line::Complete(line.trim_ascii().to_vec())));
        }
    }
}

/// Skips the rest of the line without buffering it.
fn pass_over(input: &mut impl BufRead) -> io::Result<()> {
    loop {
        let buffered = input.fill_buf()?;
        let (used, is_end) = match buffered.iter().position(|byte| *byte == b'\n') {
            Some(at) => (at + 1, true),
            None => (buffered.len(), buffered.is_empty()),
        };
        input.consume(used);
        if is_end {
            return Ok(());
        }
    }
}

/// Maximum length in bytes. Requests are small, but responses may be larger.
pub const MAX_MESSAGE_LEN: usize = 1 << 20;
