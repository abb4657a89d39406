//! Head and beginning of the body of a request, and the body of a reply.

use super::reply::{Outcome, Reads};
use super::{BodyStart, Dialect, Encoding, Fit, ReplyClues};
use memchr::memrchr;

/// `H` is a head as its version of HTTP has it.
#[derive(Debug)]
pub(crate) struct Kept<H> {
    pub(crate) found: (&'static Dialect, Fit),
    pub(crate) head: H,
    pub(crate) body: KeptBody,
}

impl<H> Kept<H> {
    pub(crate) fn new(found: (&'static Dialect, Fit), head: H) -> Self {
        Self {
            found,
            head,
            body: KeptBody::default(),
        }
    }

    pub(crate) fn body(&self, is_whole: bool) -> BodyStart<'_> {
        BodyStart {
            bytes: &self.body.bytes,
            is_whole: is_whole && !self.body.is_cut,
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct KeptReply {
    is_open: bool,
    reads: Reads,
    encoding: Encoding,
    /// As its head says.
    of_head: Outcome,
    body: KeptBody,
}

impl KeptReply {
    /// Whether a reply says more than its status.
    pub(crate) fn is_needed(reads: Reads, clues: ReplyClues) -> bool {
        clues.exception.is_some() || !matches!(reads, Reads::Nothing)
    }

    pub(crate) fn begin(&mut self, reads: Reads, clues: ReplyClues) {
        // The end of a compressed body cannot be opened.
        let is_closed = reads.is_of_end() && clues.encoding != Encoding::Plain;
        self.reads = if is_closed { Reads::Nothing } else { reads };
        self.encoding = clues.encoding;
        self.of_head = Outcome {
            error: clues.exception.map(|code| code.to_string().into_bytes()),
            rows: clues.rows.filter(|_| matches!(reads, Reads::ContentRange)),
        };
        self.is_open = true;
        self.body.begin(self.reads.is_of_end());
    }

    pub(crate) fn close(&mut self) {
        self.is_open = false;
    }

    /// The body to add to, if it is needed.
    pub(crate) fn body(&mut self) -> Option<&mut KeptBody> {
        self.is_open.then_some(&mut self.body)
    }

    pub(crate) fn end(&mut self) -> Outcome {
        if !std::mem::take(&mut self.is_open) {
            return Outcome::default();
        }
        let of_body = match self.encoding {
            Encoding::Plain => self.reads.outcome(&self.body),
            Encoding::Gzip | Encoding::Other => self.reads.outcome(&KeptBody {
                bytes: self.encoding.open(&self.body.bytes).into_owned(),
                is_cut: true,
                ..KeptBody::default()
            }),
        };
        self.body.begin(false);
        let of_head = std::mem::take(&mut self.of_head);
        Outcome {
            error: of_head.error.or(of_body.error),
            rows: of_head.rows.or(of_body.rows),
        }
    }
}

/// The beginning of a body, or its end.
#[derive(Debug, Default)]
pub(crate) struct KeptBody {
    pub(super) bytes: Vec<u8>,
    pub(super) is_cut: bool,
    is_end: bool,
}

impl KeptBody {
    /// If `is_end`, the last line that is not empty is kept, at most [`MAX_END`] bytes.
    pub(super) fn begin(&mut self, is_end: bool) {
        self.bytes.clear();
        self.bytes.shrink_to(KEPT_BETWEEN_BODIES);
        (self.is_cut, self.is_end) = (false, is_end);
    }

    /// Adds `bytes`, the seen ones of `passed`.
    pub(crate) fn add(&mut self, bytes: &[u8], passed: u64) {
        if self.is_end {
            return self.add_end(bytes);
        }
        if self.is_cut {
            return;
        }
        let room = MAX_BODY - self.bytes.len();
        self.bytes.extend_from_slice(&bytes[..room.min(bytes.len())]);
        self.is_cut = bytes.len() > room || passed > bytes.len() as u64;
    }

    fn add_end(&mut self, bytes: &[u8]) {
        let bytes = &bytes[bytes.len().saturating_sub(MAX_END)..];
        let line = memrchr(b'\n', bytes.trim_ascii_end());
        if line.is_some() || bytes.len() == MAX_END {
            self.bytes.clear();
        }
        self.bytes.extend_from_slice(&bytes[line.unwrap_or(0)..]);
        if self.bytes.len() > 2 * MAX_END {
            self.bytes.drain(..self.bytes.len() - MAX_END);
        }
    }

    pub(super) fn last_line(&self) -> &[u8] {
        let end = &self.bytes[self.bytes.len().saturating_sub(MAX_END)..];
        let end = end.trim_ascii_end();
        &end[memrchr(b'\n', end).map_or(0, |newline| newline + 1)..]
    }
}

pub(crate) const MAX_BODY: usize = 16 * 1024;
const MAX_END: usize = 4 * 1024;
const KEPT_BETWEEN_BODIES: usize = 4 * 1024;
