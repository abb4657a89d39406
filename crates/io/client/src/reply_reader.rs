//! Counts replies without keeping their rows.
//!
//! For clients that request more than they could keep, or faster than they could decode.
//! Observation and analysis use the decoders of `wire`.

use crate::ErrorReply;

/// Reads the replies of one connection. Announce each request first (by a method per database),
/// then pass all received bytes.
pub trait ReplyReader: Default {
    fn asked(&self) -> u64;
    /// Takes received bytes, cut anywhere.
    ///
    /// # Errors
    /// [`ReplyFault`]; the following bytes must not be read.
    fn process_bytes(&mut self, bytes: &[u8]) -> Result<(), ReplyFault>;
    fn rows(&self) -> u64;
    fn expected_replies(&self) -> u64;
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReplyFault {
    Refused(ErrorReply),
    /// The bytes violate the protocol.
    Malformed {
        /// Description of the received bytes.
        found: &'static str,
    },
}

/// Cuts received bytes into messages, each a header of fixed size and a body. Only the beginning of
/// the body is kept.
#[derive(Debug)]
pub(crate) struct MessageCutter<const HEADER: usize> {
    header: [u8; HEADER],
    filled: usize,
    left: usize,
    body: Vec<u8>,
}

impl<const HEADER: usize> Default for MessageCutter<HEADER> {
    fn default() -> Self {
        Self {
            header: [0; HEADER],
            filled: 0,
            left: 0,
            body: Vec::new(),
        }
    }
}

impl<const HEADER: usize> MessageCutter<HEADER> {
    pub const fn header(&self) -> [u8; HEADER] {
        self.header
    }

    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// Takes from `bytes` up to the end of a message, and returns whether the end was reached.
    /// `length` reads the body's length from a header. `wanted` is the number of bytes to keep, by
    /// the header and the first byte of the body, which is always kept.
    pub fn next_message(
        &mut self,
        bytes: &mut &[u8],
        length: impl Fn([u8; HEADER]) -> Option<usize>,
        wanted: impl Fn([u8; HEADER], Option<u8>) -> usize,
    ) -> Result<bool, ReplyFault> {
        if self.filled < HEADER {
            let (part, rest) = bytes.split_at(bytes.len().min(HEADER - self.filled));
            let end = self.filled + part.len();
            if let Some(place) = self.header.get_mut(self.filled..end) {
                place.copy_from_slice(part);
            }
            (self.filled, *bytes) = (end, rest);
            if end < HEADER {
                return Ok(false);
            }
            self.left = length(self.header).ok_or(ReplyFault::Malformed {
                found: "a message of no length",
            })?;
            self.body.clear();
        }
        let (part, rest) = bytes.split_at(bytes.len().min(self.left));
        let first = self.body.first().or(part.first()).copied();
        let room = wanted(self.header, first).max(1).saturating_sub(self.body.len());
        self.body.extend_from_slice(part.get(..room).unwrap_or(part));
        self.left -= part.len();
        *bytes = rest;
        if self.left == 0 {
            self.filled = 0;
        }
        Ok(self.left == 0)
    }
}
