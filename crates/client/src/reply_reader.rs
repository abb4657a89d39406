//! Replies read as far as a client needs to know them, without keeping their rows.
//!
//! For clients that ask for more than they could keep, or faster than they could decode. What observes and
//! explains is the decoders of `wire`.

use crate::ErrorReply;

/// Reads the replies of one connection. First say what is asked for (each database has its own words for
/// that), then give it all that comes.
pub trait ReplyReader: Default {
    /// Requests that were asked so far.
    fn asked(&self) -> u64;
    /// Bytes came, cut anywhere.
    ///
    /// # Errors
    /// [`ReplyFault`]; what follows it must not be read.
    fn process_bytes(&mut self, bytes: &[u8]) -> Result<(), ReplyFault>;
    /// Rows that came.
    fn rows(&self) -> u64;
    /// Requests that are not answered yet.
    fn expected_replies(&self) -> u64;
}

/// Why a reply is not what was requested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReplyFault {
    /// The server refused a request.
    Refused(ErrorReply),
    /// Its protocol does not have that there.
    Malformed {
        /// What came.
        found: &'static str,
    },
}

/// Cuts the received bytes into messages, each a header of a fixed number of bytes and a body, of which only
/// the beginning is kept.
#[derive(Debug)]
pub(crate) struct MessageCutter<const HEADER: usize> {
    header: [u8; HEADER],
    /// How much of the header is there.
    filled: usize,
    /// Bytes of the body that are still to come.
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
    /// The header of the message that is complete, or in progress.
    pub const fn header(&self) -> [u8; HEADER] {
        self.header
    }

    /// The beginning of its body.
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// Takes from `bytes` up to the end of a message: whether that is there. `length` reads the length of the
    /// body from a header, `wanted` says how many bytes of the body are kept, by the header and the first
    /// byte of the body, which always is.
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
