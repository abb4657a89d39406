//! Messages on stdin: one a line, of bounded size.

use std::io::{self, BufRead, Read};

/// A line of the input.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    /// A line, without its end.
    Complete(Vec<u8>),
    /// One that was longer than [`MAX_MESSAGE_LEN`] and was passed over.
    TooLong,
}

/// The next line that is not empty; absent at the end of the input.
///
/// # Errors
/// When `input` fails.
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

/// Everything up to the end of this line, without keeping it.
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

/// Bytes of a message: requests are small, answers may be larger.
pub const MAX_MESSAGE_LEN: usize = 1 << 20;
