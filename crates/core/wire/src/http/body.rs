//! Bodies, counted to their end.

use super::dialects::KeptBody;
use crate::decoding::fault::fault;
use crate::decoding::framing::{HeaderFault, Input};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Body {
    Length(u64),
    ChunkSize {
        size: u64,
        digits: u8,
        ended: bool,
        length: u16,
    },
    /// In a chunk, or in the CRLF after it. Bytes left, including the CRLF.
    ChunkData(u64),
    Trailer {
        line: u32,
        length: u32,
    },
    UntilClose,
}

impl Body {
    pub(super) const CHUNKED: Self = Self::ChunkSize {
        size: 0,
        digits: 0,
        ended: false,
        length: 0,
    };

    pub(super) fn known_length(self) -> Option<usize> {
        match self {
            Self::Length(length) => usize::try_from(length).ok(),
            Self::ChunkSize { .. } | Self::ChunkData(_) | Self::Trailer { .. } | Self::UntilClose => None,
        }
    }

    /// Whether the body has ended. `kept` takes its content.
    pub(super) fn process_input(
        &mut self,
        input: &mut Input<'_>,
        mut kept: Option<&mut KeptBody>,
    ) -> Result<bool, HeaderFault> {
        while !input.is_empty() {
            match self {
                Self::Length(left) => {
                    *left -= pass_content(*left, input, kept);
                    return Ok(*left == 0);
                }
                Self::UntilClose => {
                    pass_content(u64::MAX, input, kept.as_deref_mut());
                }
                Self::ChunkData(left) => {
                    *left -= pass_content(left.saturating_sub(CRLF), input, kept.as_deref_mut());
                    *left -= match *left {
                        ..=CRLF => input.pass(*left),
                        _ => 0,
                    };
                    if *left == 0 {
                        *self = Self::CHUNKED;
                    }
                }
                Self::ChunkSize { .. } => self.chunk_size(line_byte(input)?)?,
                Self::Trailer { line, length } => {
                    let byte = line_byte(input)?;
                    *length += 1;
                    match byte {
                        b'\n' if *line == 0 => return Ok(true),
                        b'\n' => *line = 0,
                        b'\r' => {}
                        _ => *line += 1,
                    }
                    if *length > MAXIMUM_TRAILER {
                        return Err(fault("a trailer of at most 64 KiB", "a longer one"));
                    }
                }
            }
        }
        Ok(false)
    }

    fn chunk_size(&mut self, byte: u8) -> Result<(), HeaderFault> {
        let Self::ChunkSize {
            size,
            digits,
            ended,
            length,
        } = self
        else {
            return Ok(());
        };
        *length += 1;
        match (byte as char).to_digit(16) {
            Some(digit) if !*ended => {
                *digits += 1;
                *size = *size << 4 | u64::from(digit);
            }
            None if *digits == 0 => return Err(fault("the size of a chunk", "no hexadecimal digit")),
            _ if byte == b'\n' => {
                *self = match *size {
                    0 => Self::Trailer { line: 0, length: 0 },
                    size => Self::ChunkData(size + CRLF),
                };
                return Ok(());
            }
            _ => *ended = true,
        }
        if *digits > MAXIMUM_DIGITS || *length > MAXIMUM_LINE {
            return Err(fault("the size of a chunk", "a longer line"));
        }
        Ok(())
    }
}

fn pass_content(most: u64, input: &mut Input<'_>, kept: Option<&mut KeptBody>) -> u64 {
    let bytes = input.bytes();
    let passed = input.pass(most);
    if let Some(kept) = kept {
        let seen = bytes.len() - input.bytes().len();
        kept.add(&bytes[..seen], passed);
    }
    passed
}

fn line_byte(input: &mut Input<'_>) -> Result<u8, HeaderFault> {
    input
        .take_bytes(1)
        .first()
        .copied()
        .ok_or_else(|| fault("a line of a chunked body", "bytes that were not captured"))
}

const CRLF: u64 = 2;
/// A chunk of 2^60 bytes, so sums of sizes do not overflow.
const MAXIMUM_DIGITS: u8 = 15;
const MAXIMUM_LINE: u16 = 16 * 1024;
const MAXIMUM_TRAILER: u32 = 64 * 1024;

#[cfg(test)]
mod tests {
    use super::*;
    use model::Timestamp;

    fn length(mut body: Body, bytes: &[u8]) -> Result<Option<usize>, HeaderFault> {
        let mut input = Input::seen(Timestamp::default(), bytes);
        let done = body.process_input(&mut input, None)?;
        Ok(done.then(|| bytes.len() - input.bytes().len()))
    }

    #[test]
    fn chunked_bodies_end_behind_their_trailer() {
        let plain = b"5\r\nhello\r\n0\r\n\r\nGET";
        assert_eq!(
            length(Body::CHUNKED, plain).expect("valid"),
            Some(plain.len() - 3)
        );
        let rich = b"a;name=value\r\n0123456789\r\n0\r\nName: value\r\n\r\n";
        assert_eq!(length(Body::CHUNKED, rich).expect("valid"), Some(rich.len()));
        assert_eq!(length(Body::CHUNKED, b"5\r\nhel").expect("not whole"), None);
    }

    #[test]
    fn a_size_that_is_none_is_refused() {
        for bad in [b"\r\n".as_slice(), b"x\r\n", b"fffffffffffffffff\r\n"] {
            length(Body::CHUNKED, bad).expect_err("no size");
        }
    }
}
