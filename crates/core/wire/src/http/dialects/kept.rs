//! Head and beginning of the body of a request, and the body of a reply.

use super::reply::{Outcome, Reads};
use super::{Dialect, Encoding, Fit, ReplyClues};

#[derive(Debug)]
pub(in crate::http) struct Kept {
    pub(in crate::http) dialect: &'static Dialect,
    pub(in crate::http) fit: Fit,
    pub(in crate::http) head: Vec<u8>,
    pub(in crate::http) body: KeptBody,
}

impl Kept {
    pub(in crate::http) fn new(dialect: &'static Dialect, fit: Fit, head: &[u8]) -> Self {
        Self {
            dialect,
            fit,
            head: head.to_vec(),
            body: KeptBody::default(),
        }
    }
}

#[derive(Debug)]
pub(in crate::http) struct KeptReply {
    reads: Reads,
    encoding: Encoding,
    /// As its head says.
    of_head: Outcome,
    pub(in crate::http) body: KeptBody,
}

impl KeptReply {
    /// `None` if nothing of the reply says more than its status.
    pub(in crate::http) fn new(reads: Reads, clues: ReplyClues) -> Option<Self> {
        let of_head = Outcome {
            error: clues.exception.map(|code| code.to_string().into_bytes()),
            rows: clues.rows.filter(|_| matches!(reads, Reads::ContentRange)),
        };
        let is_needed = of_head != Outcome::default() || !matches!(reads, Reads::Nothing);
        is_needed.then(|| Self {
            reads,
            encoding: clues.encoding,
            of_head,
            body: reads.body(),
        })
    }

    pub(in crate::http) fn outcome(mut self) -> Outcome {
        if self.encoding != Encoding::Plain {
            // Rows of a beginning would be too few, and its end is not the body's.
            self.body = KeptBody {
                bytes: self.encoding.open(&self.body.bytes).into_owned(),
                is_cut: true,
                ..KeptBody::default()
            };
        }
        let of_body = self.reads.outcome(&self.body);
        Outcome {
            error: self.of_head.error.or(of_body.error),
            rows: self.of_head.rows.or(of_body.rows),
        }
    }
}

/// The beginning of a body, and its end.
#[derive(Debug, Default)]
pub(in crate::http) struct KeptBody {
    pub(in crate::http) bytes: Vec<u8>,
    pub(in crate::http) is_cut: bool,
    /// At least the last [`MAX_END`] bytes.
    end: Vec<u8>,
    keeps_end: bool,
}

impl KeptBody {
    pub(in crate::http) fn with_end() -> Self {
        Self {
            keeps_end: true,
            ..Self::default()
        }
    }

    pub(super) fn end(&self) -> &[u8] {
        &self.end[self.end.len().saturating_sub(MAX_END)..]
    }

    /// Adds `bytes`, the seen ones of `passed`.
    pub(in crate::http) fn add(&mut self, bytes: &[u8], passed: u64) {
        if self.keeps_end {
            if self.end.len() > 2 * MAX_END {
                self.end.drain(..self.end.len() - MAX_END);
            }
            self.end
                .extend_from_slice(&bytes[bytes.len().saturating_sub(MAX_END)..]);
        }
        if self.is_cut {
            return;
        }
        let room = MAX_BODY - self.bytes.len();
        self.bytes.extend_from_slice(&bytes[..room.min(bytes.len())]);
        self.is_cut = bytes.len() > room || passed > bytes.len() as u64;
    }
}

const MAX_BODY: usize = 16 * 1024;
const MAX_END: usize = 4 * 1024;
