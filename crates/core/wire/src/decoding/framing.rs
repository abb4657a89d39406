//! Cuts one direction of a stream into messages (a header with the body's length, then the body),
//! for any split into calls.
//!
//! A message inside one call is emitted without a copy. Otherwise only bytes that the decoder keeps
//! are copied; an unneeded body is never stored.
//!
//! A decoder holds one [`Framer`] per direction next to (not inside) its state, and calls
//! [`Framer::next`] in a loop, passing each frame to the state.

use super::fault::DecodeError;
pub use super::fault::HeaderFault;
use model::{Direction, Timestamp};

/// Input of one `feed` or `skip`.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    at: Timestamp,
    bytes: &'a [u8],
    unseen: u64,
}

impl<'a> Input<'a> {
    /// Bytes that passed at `at`.
    pub const fn seen(at: Timestamp, bytes: &'a [u8]) -> Self {
        Self { at, bytes, unseen: 0 }
    }

    /// `count` uncaptured bytes at `at`.
    pub const fn unseen(at: Timestamp, count: u64) -> Self {
        Self {
            at,
            bytes: &[],
            unseen: count,
        }
    }

    /// When the bytes passed.
    pub const fn at(&self) -> Timestamp {
        self.at
    }

    /// Bytes not consumed yet.
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Consumes up to `most` seen bytes.
    pub fn take_bytes(&mut self, most: usize) -> &'a [u8] {
        let (taken, rest) = self.bytes.split_at(most.min(self.bytes.len()));
        self.bytes = rest;
        taken
    }

    /// Consumes up to `most` bytes, returning their number.
    pub fn pass(&mut self, most: u64) -> u64 {
        let seen = self.take_bytes(usize::try_from(most).unwrap_or(usize::MAX)).len() as u64;
        let unseen = self.unseen.min(most - seen);
        self.unseen -= unseen;
        seen + unseen
    }

    /// Unavailable bytes not consumed yet.
    pub const fn unseen_count(&self) -> u64 {
        self.unseen
    }

    /// Unconsumed bytes, seen or not.
    pub const fn length(&self) -> u64 {
        self.bytes.len() as u64 + self.unseen
    }

    /// Whether everything is consumed.
    pub const fn is_empty(&self) -> bool {
        self.bytes.is_empty() && self.unseen == 0
    }
}

/// Sizes announced by a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FramePlan {
    /// Length of the body.
    pub body: u64,
    /// Maximum leading bytes of the body to store.
    pub keep: usize,
}

/// A message with header and body.
#[derive(Debug, Clone, Copy)]
pub struct Frame<'a> {
    /// When the first byte passed.
    pub started: Timestamp,
    /// When the last byte passed.
    pub ended: Timestamp,
    /// Bytes on the stream, header included.
    pub bytes: u64,
    /// Bytes of the header.
    pub header: &'a [u8],
    /// The first bytes of the body, at most [`FramePlan::keep`].
    pub body: &'a [u8],
    /// Whether planned bytes are missing from `body`, because they were not seen.
    pub holed: bool,
}

/// Cuts one direction into messages. Holds at most [`MAX_HEADER`] and the planned bytes.
#[derive(Debug)]
pub struct Framer {
    protocol: &'static str,
    direction: Direction,
    offset: u64,
    /// Bytes taken of the current message.
    taken: u64,
    started: Timestamp,
    header: [u8; MAX_HEADER],
    header_filled: usize,
    header_length: usize,
    /// Set once the header is complete.
    plan: Option<FramePlan>,
    body_left: u64,
    kept: Vec<u8>,
    holed: bool,
    handed_out: bool,
}

impl Framer {
    /// Starts at a stream's beginning.
    pub const fn new(protocol: &'static str, direction: Direction) -> Self {
        Self {
            protocol,
            direction,
            offset: 0,
            taken: 0,
            started: Timestamp::from_nanos(0),
            header: [0; MAX_HEADER],
            header_filled: 0,
            header_length: 0,
            plan: None,
            body_left: 0,
            kept: Vec::new(),
            holed: false,
            handed_out: false,
        }
    }

    /// Returns the next message, or `None` when `input` is used up.
    ///
    /// `header_length` (1 to [`MAX_HEADER`]) is used at a message's start, `plan` is called at the
    /// header's end. Neither may depend on the split into calls.
    ///
    /// # Errors
    /// If `plan` refuses the header, or header bytes were not seen.
    #[inline]
    pub fn next<'a, 'i: 'a>(
        &'a mut self,
        input: &mut Input<'i>,
        header_length: usize,
        plan: impl FnOnce(&[u8]) -> Result<FramePlan, HeaderFault>,
    ) -> Result<Option<Frame<'a>>, DecodeError> {
        self.forget_handed_out();
        if self.taken > 0 {
            return self.resume(input, plan);
        }
        let Some((header, rest)) = input.bytes.split_at_checked(header_length) else {
            return self.begin(input, header_length, plan);
        };
        let planned = plan(header).map_err(|fault| self.fault(fault))?;
        let whole = usize::try_from(planned.body)
            .ok()
            .and_then(|body| rest.split_at_checked(body));
        let Some((body, rest)) = whole else {
            return self.begin(input, header_length, |_| Ok(planned));
        };
        input.bytes = rest;
        let bytes = header_length as u64 + planned.body;
        self.offset += bytes;
        Ok(Some(Frame {
            started: input.at,
            ended: input.at,
            bytes,
            header,
            body: body.get(..planned.keep).unwrap_or(body),
            holed: false,
        }))
    }

    /// Drops an unfinished message.
    pub fn restart(&mut self) {
        self.handed_out = true;
        self.forget_handed_out();
    }

    /// Bytes of an unfinished message.
    pub const fn pending(&self) -> u64 {
        if self.handed_out { 0 } else { self.taken }
    }

    /// Offset after the last message.
    pub const fn offset(&self) -> u64 {
        if self.handed_out {
            self.offset + self.taken
        } else {
            self.offset
        }
    }

    /// Creates the error for the current message.
    pub fn fault(&self, fault: HeaderFault) -> DecodeError {
        DecodeError {
            protocol: self.protocol,
            direction: match self.direction {
                Direction::ClientToServer => "client-to-server",
                Direction::ServerToClient => "server-to-client",
            },
            offset: self.offset(),
            expected: fault.expected,
            found: fault.found,
        }
    }

    fn forget_handed_out(&mut self) {
        if !self.handed_out {
            return;
        }
        self.handed_out = false;
        self.offset += self.taken;
        self.taken = 0;
        self.header_filled = 0;
        self.plan = None;
        self.holed = false;
        self.kept.clear();
        self.kept.shrink_to(KEPT_BETWEEN_MESSAGES);
    }

    fn begin<'a, 'i: 'a>(
        &'a mut self,
        input: &mut Input<'i>,
        header_length: usize,
        plan: impl FnOnce(&[u8]) -> Result<FramePlan, HeaderFault>,
    ) -> Result<Option<Frame<'a>>, DecodeError> {
        if input.is_empty() {
            return Ok(None);
        }
        self.started = input.at;
        self.header_length = header_length.min(MAX_HEADER);
        self.resume(input, plan)
    }

    fn resume<'a, 'i: 'a>(
        &'a mut self,
        input: &mut Input<'i>,
        plan: impl FnOnce(&[u8]) -> Result<FramePlan, HeaderFault>,
    ) -> Result<Option<Frame<'a>>, DecodeError> {
        let planned = match self.plan {
            Some(planned) => planned,
            None => {
                if !self.fill_header(input)? {
                    return Ok(None);
                }
                let header = self.header.get(..self.header_length).unwrap_or(&self.header);
                let planned = plan(header).map_err(|fault| self.fault(fault))?;
                self.plan = Some(planned);
                self.body_left = planned.body;
                planned
            }
        };
        self.fill_body(input, planned.keep);
        if self.body_left > 0 {
            return Ok(None);
        }
        self.handed_out = true;
        Ok(Some(Frame {
            started: self.started,
            ended: input.at,
            bytes: self.taken,
            header: self.header.get(..self.header_length).unwrap_or(&self.header),
            body: &self.kept,
            holed: self.holed,
        }))
    }

    fn fill_header(&mut self, input: &mut Input<'_>) -> Result<bool, DecodeError> {
        while self.header_filled < self.header_length {
            let Some((&byte, rest)) = input.bytes.split_first() else {
                if input.unseen == 0 {
                    return Ok(false);
                }
                return Err(self.fault(HeaderFault {
                    expected: "the header of a message",
                    found: format!("{} bytes that were not captured", input.unseen),
                }));
            };
            if let Some(place) = self.header.get_mut(self.header_filled) {
                *place = byte;
            }
            self.header_filled += 1;
            self.taken += 1;
            input.bytes = rest;
        }
        Ok(true)
    }

    fn fill_body(&mut self, input: &mut Input<'_>, keep: usize) {
        let there = input
            .bytes
            .len()
            .min(usize::try_from(self.body_left).unwrap_or(usize::MAX));
        let (part, rest) = input.bytes.split_at(there);
        input.bytes = rest;
        self.body_left -= there as u64;
        self.taken += there as u64;
        if !self.holed {
            let room = keep.saturating_sub(self.kept.len());
            self.kept.extend_from_slice(part.get(..room).unwrap_or(part));
        }
        let lost = input.unseen.min(self.body_left);
        if input.bytes.is_empty() && lost > 0 {
            self.holed |= self.kept.len() < keep;
            input.unseen -= lost;
            self.body_left -= lost;
            self.taken += lost;
        }
    }
}

/// In bytes, without the body.
pub const MAX_HEADER: usize = 16;

const KEPT_BETWEEN_MESSAGES: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    const AT: Timestamp = Timestamp::from_nanos(7);

    /// One length byte, then the body, of which three bytes are kept.
    fn plan(header: &[u8]) -> Result<FramePlan, HeaderFault> {
        match header {
            [0xFF] => Err(HeaderFault {
                expected: "a length below 255",
                found: "255".to_owned(),
            }),
            [length] => Ok(FramePlan {
                body: u64::from(*length),
                keep: 3,
            }),
            _ => unreachable!("the header is one byte"),
        }
    }

    fn frames(inputs: &[Input<'_>]) -> Result<Vec<(u64, Vec<u8>, bool)>, DecodeError> {
        let mut framer = Framer::new("test", Direction::ClientToServer);
        let mut found = Vec::new();
        for input in inputs {
            let mut input = *input;
            while let Some(frame) = framer.next(&mut input, 1, plan)? {
                found.push((frame.bytes, frame.body.to_vec(), frame.holed));
            }
        }
        Ok(found)
    }

    #[test]
    fn every_split_gives_the_same_frames() {
        let stream = b"\x02ab\x00\x05hello\x03xyz";
        let whole = frames(&[Input::seen(AT, stream)]).expect("valid");
        assert_eq!(whole.len(), 4);
        assert_eq!(whole[2], (6, b"hel".to_vec(), false));
        for first in 0..stream.len() {
            for second in first..stream.len() {
                let parts = [
                    Input::seen(AT, &stream[..first]),
                    Input::seen(AT, &stream[first..second]),
                    Input::seen(AT, &stream[second..]),
                ];
                assert_eq!(frames(&parts).expect("valid"), whole, "{first} {second}");
            }
        }
    }

    #[test]
    fn unseen_bytes_inside_a_body_are_counted() {
        let after_kept = [
            Input::seen(AT, b"\x05hel"),
            Input::unseen(AT, 2),
            Input::seen(AT, b"\x01a"),
        ];
        let found = frames(&after_kept).expect("the hole is in a part that is not kept");
        assert_eq!(found, [(6, b"hel".to_vec(), false), (2, b"a".to_vec(), false)]);
        let in_kept = [
            Input::seen(AT, b"\x05h"),
            Input::unseen(AT, 2),
            Input::seen(AT, b"lo"),
        ];
        assert_eq!(
            frames(&in_kept).expect("still framed"),
            [(6, b"h".to_vec(), true)]
        );
    }

    #[test]
    fn unseen_bytes_in_a_header_lose_the_place() {
        let error =
            frames(&[Input::seen(AT, b"\x01a"), Input::unseen(AT, 9)]).expect_err("a header is missing");
        assert_eq!(error.offset, 2);
        assert_eq!(error.found, "9 bytes that were not captured");
    }

    #[test]
    fn a_refused_header_names_its_offset() {
        let error = frames(&[Input::seen(AT, b"\x01a\xFF")]).expect_err("refused");
        assert_eq!(
            error.to_string(),
            "test client-to-server at stream offset 2: expected a length below 255, found 255"
        );
    }
}
