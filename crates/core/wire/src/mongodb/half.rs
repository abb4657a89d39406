//! Cuts one direction into messages, and reads them while they pass.

use super::header::{HEADER, Header, OP_COMPRESSED};
use super::walk::Walk;
use crate::decoding::fault::{HeaderFault, fault};
use crate::decoding::framing::Input;
use model::Timestamp;

#[derive(Debug, Default)]
pub(super) struct HalfConnection {
    header: [u8; HEADER],
    filled: usize,
    begun: Option<Begun>,
    /// The first bytes of a body that came in pieces.
    kept: Vec<u8>,
    started: Timestamp,
    taken: u64,
    offset: u64,
    walk: Walk,
}

#[derive(Debug, Clone, Copy)]
struct Begun {
    header: Header,
    left: u64,
    /// Bytes to keep are missing.
    is_holed: bool,
}

/// One message with the beginning of its body.
#[derive(Debug)]
pub(super) struct Whole<'a> {
    pub(super) header: Header,
    pub(super) body: &'a [u8],
    pub(super) is_holed: bool,
    pub(super) walk: &'a mut Walk,
    pub(super) started: Timestamp,
    pub(super) ended: Timestamp,
    pub(super) bytes: u64,
}

impl HalfConnection {
    /// Returns the next message, or `None` when `input` is used up.
    pub(super) fn next<'a, 'i: 'a>(
        &'a mut self,
        input: &mut Input<'i>,
    ) -> Result<Option<Whole<'a>>, HeaderFault> {
        if self.begun.is_some_and(|begun| begun.left == 0) {
            self.end();
        }
        let mut begun = match self.begun {
            Some(begun) => begun,
            None => {
                let Some(header) = self.take_header(input)? else {
                    return Ok(None);
                };
                self.walk.begin(header.opcode, u64::from(header.body));
                Begun {
                    header,
                    left: u64::from(header.body),
                    is_holed: false,
                }
            }
        };
        let keep = match begun.header.opcode {
            OP_COMPRESSED => MAX_COMPRESSED,
            _ => MAX_KEPT,
        };
        let is_first = begun.left == u64::from(begun.header.body);
        let part = input.take_bytes(usize::try_from(begun.left).unwrap_or(usize::MAX));
        begun.left -= part.len() as u64;
        self.taken += part.len() as u64;
        self.walk.feed(part);
        let is_direct = is_first && begun.left == 0;
        if !is_direct && !begun.is_holed {
            let room = keep.saturating_sub(self.kept.len());
            self.kept.extend_from_slice(part.get(..room).unwrap_or(part));
        }
        let unseen = input.pass(if input.bytes().is_empty() { begun.left } else { 0 });
        if unseen > 0 {
            begun.is_holed |= self.kept.len() < keep;
            begun.left -= unseen;
            self.taken += unseen;
            self.walk.pass_unseen(unseen);
        }
        self.begun = Some(begun);
        if begun.left > 0 {
            return Ok(None);
        }
        Ok(Some(Whole {
            header: begun.header,
            body: if is_direct {
                part.get(..keep).unwrap_or(part)
            } else {
                &self.kept
            },
            is_holed: begun.is_holed,
            walk: &mut self.walk,
            started: self.started,
            ended: input.at(),
            bytes: self.taken,
        }))
    }

    /// Offset behind the last message.
    pub(super) fn next_offset(&self) -> u64 {
        match self.begun {
            Some(Begun { left: 0, .. }) => self.offset + self.taken,
            _ => self.offset,
        }
    }

    /// Bytes of an unfinished message.
    pub(super) fn pending(&self) -> u64 {
        match self.begun {
            Some(Begun { left: 0, .. }) => 0,
            _ => self.taken,
        }
    }

    /// Drops an unfinished message.
    pub(super) fn end(&mut self) {
        self.offset += std::mem::take(&mut self.taken);
        self.filled = 0;
        self.begun = None;
        self.kept.clear();
        self.kept.shrink_to(KEPT_BETWEEN_MESSAGES);
    }

    fn take_header(&mut self, input: &mut Input<'_>) -> Result<Option<Header>, HeaderFault> {
        if self.filled == 0 {
            self.started = input.at();
        }
        let part = input.take_bytes(HEADER - self.filled);
        self.header[self.filled..][..part.len()].copy_from_slice(part);
        self.filled += part.len();
        self.taken += part.len() as u64;
        if self.filled == HEADER {
            return Header::from_bytes(&self.header).map(Some);
        }
        match input.unseen_count() {
            0 => Ok(None),
            lost => Err(fault(
                "the header of a message",
                format!("{lost} bytes that were not captured"),
            )),
        }
    }
}

/// Of a body, in bytes.
const MAX_KEPT: usize = 64 * 1024;
/// Of a compressed body.
pub(super) const MAX_COMPRESSED: usize = 1 << 20;
const KEPT_BETWEEN_MESSAGES: usize = 4096;
