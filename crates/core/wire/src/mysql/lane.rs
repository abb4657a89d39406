//! Joins the frames of one direction to messages.
//!
//! A frame is a 3-byte length, a sequence number, and up to 0xFFFFFF bytes; a frame of exactly that
//! length is continued by the next. Only the wanted part of a message's head is kept.

use super::conversation::Conversation;
use super::unit::{Arrival, FULL_FRAME, Interest, MessageStart, Unit};
use crate::decoding::decoder::MessageSink;
use crate::decoding::fault::fault;
use crate::decoding::framing::HeaderFault;
use model::{Direction, Timestamp};

#[derive(Debug, Default)]
pub(super) struct HalfConnection {
    header: [u8; 4],
    header_have: usize,
    /// Remaining body bytes of the current frame; valid once the header is complete.
    frame_left: u32,
    frame_is_full: bool,
    unfinished: Option<Unfinished>,
    head: Vec<u8>,
}

#[derive(Debug, Clone, Copy)]
struct Unfinished {
    opening: MessageStart,
    /// `None` until the first body byte (or an empty body) was seen.
    interest: Option<Interest>,
    length: u64,
    bytes: u64,
    started: Timestamp,
}

impl HalfConnection {
    pub fn drain(
        &mut self,
        conversation: &mut Conversation,
        arrival: Arrival,
        bytes: &[u8],
        meter: &mut Meter,
        handed: &mut u64,
        sink: &mut MessageSink<'_>,
    ) -> Result<(), HeaderFault> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let taken = self.step(conversation, arrival, rest, meter, handed, sink)?;
            rest = rest.get(taken..).unwrap_or_default();
        }
        Ok(())
    }

    /// Takes at least one byte and at most to the end of a message, and returns how many. `bytes`
    /// must not be empty.
    pub fn step(
        &mut self,
        conversation: &mut Conversation,
        arrival: Arrival,
        bytes: &[u8],
        meter: &mut Meter,
        handed: &mut u64,
        sink: &mut MessageSink<'_>,
    ) -> Result<usize, HeaderFault> {
        if self.unfinished.is_none()
            && let Some((header, rest)) = bytes.split_first_chunk::<4>()
        {
            let length = frame_length(header);
            if length != FULL_FRAME
                && let Some(body) = rest.get(..length as usize)
            {
                let opening = MessageStart {
                    length,
                    sequence: header[3],
                    first: body.first().copied(),
                };
                let taken = header.len() + body.len();
                if arrival.direction == Direction::ServerToClient && conversation.is_row(opening) {
                    let bytes = meter.charge(taken as u64);
                    conversation.row(arrival, bytes, sink);
                    *handed += bytes;
                    return Ok(taken);
                }
                let interest = conversation.interest(arrival.direction, opening);
                if interest.watch {
                    conversation.watch(body);
                }
                let unit = Unit {
                    opening,
                    head: body.get(..interest.like).unwrap_or(body),
                    length: u64::from(length),
                    bytes: meter.charge(taken as u64),
                    started: arrival.started,
                    ended: arrival.ended,
                };
                conversation.message(arrival.direction, unit, sink)?;
                *handed += unit.bytes;
                return Ok(taken);
            }
        }
        let taken = self.assemble(conversation, arrival, bytes, meter);
        self.finish(conversation, arrival, handed, sink)?;
        Ok(taken)
    }

    pub fn abandon(&mut self) -> Option<Timestamp> {
        let started = self.unfinished.map(|unfinished| unfinished.started);
        *self = Self::default();
        started
    }

    pub fn skip(
        &mut self,
        conversation: &mut Conversation,
        arrival: Arrival,
        count: u64,
        meter: &mut Meter,
        handed: &mut u64,
        sink: &mut MessageSink<'_>,
    ) -> Result<(), HeaderFault> {
        if count == 0 {
            return Ok(());
        }
        let lost = || {
            fault(
                "every byte outside a message's body",
                format!("{count} bytes not captured"),
            )
        };
        let short = u32::try_from(count)
            .ok()
            .filter(|&short| short <= self.frame_left)
            .ok_or_else(lost)?;
        let unfinished = self.unfinished.as_mut().ok_or_else(lost)?;
        let interest = unfinished.interest.as_mut().ok_or_else(lost)?;
        let body = usize::try_from(unfinished.length).unwrap_or(usize::MAX);
        if self.head.len() < interest.need.min(body) {
            return Err(lost());
        }
        interest.like = self.head.len();
        if interest.watch {
            interest.watch = false;
            conversation.lost_sight();
        }
        unfinished.bytes += meter.charge(count);
        self.frame_left -= short;
        self.finish(conversation, arrival, handed, sink)
    }

    fn assemble(
        &mut self,
        conversation: &mut Conversation,
        arrival: Arrival,
        bytes: &[u8],
        meter: &mut Meter,
    ) -> usize {
        let unfinished = self.unfinished.get_or_insert_with(|| Unfinished {
            opening: MessageStart::default(),
            interest: None,
            length: 0,
            bytes: 0,
            started: arrival.started,
        });
        if self.header_have < self.header.len() {
            let wanted = self.header.get_mut(self.header_have..).unwrap_or_default();
            let taken = wanted.len().min(bytes.len());
            for (place, &byte) in wanted.iter_mut().zip(bytes) {
                *place = byte;
            }
            self.header_have += taken;
            unfinished.bytes += meter.charge(taken as u64);
            if self.header_have == self.header.len() {
                self.frame_left = frame_length(&self.header);
                self.frame_is_full = self.frame_left == FULL_FRAME;
                if unfinished.length == 0 {
                    unfinished.opening = MessageStart {
                        length: self.frame_left,
                        sequence: self.header[3],
                        first: None,
                    };
                }
                unfinished.length += u64::from(self.frame_left);
            }
            return taken;
        }
        let taken = bytes.len().min(self.frame_left as usize);
        let piece = bytes.get(..taken).unwrap_or(bytes);
        let interest = *unfinished.interest.get_or_insert_with(|| {
            unfinished.opening.first = piece.first().copied();
            conversation.interest(arrival.direction, unfinished.opening)
        });
        if interest.watch {
            conversation.watch(piece);
        }
        let missing = interest.like.saturating_sub(self.head.len());
        self.head.extend_from_slice(piece.get(..missing).unwrap_or(piece));
        unfinished.bytes += meter.charge(taken as u64);
        self.frame_left -= taken as u32;
        taken
    }

    fn finish(
        &mut self,
        conversation: &mut Conversation,
        arrival: Arrival,
        handed: &mut u64,
        sink: &mut MessageSink<'_>,
    ) -> Result<(), HeaderFault> {
        if self.header_have < self.header.len() || self.frame_left > 0 {
            return Ok(());
        }
        self.header_have = 0;
        if self.frame_is_full {
            return Ok(());
        }
        let Some(unfinished) = self.unfinished.take() else {
            return Ok(());
        };
        if unfinished.interest.is_none() {
            conversation.interest(arrival.direction, unfinished.opening);
        }
        let unit = Unit {
            opening: unfinished.opening,
            head: &self.head,
            length: unfinished.length,
            bytes: unfinished.bytes,
            started: unfinished.started,
            ended: arrival.ended,
        };
        conversation.message(arrival.direction, unit, sink)?;
        *handed += unit.bytes;
        self.head.clear();
        Ok(())
    }
}

/// Converts bytes of the protocol to the stream bytes that carried them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Meter {
    inner_total: u64,
    outer_total: u64,
    inner: u64,
    outer: u64,
}

impl Meter {
    pub const fn plain() -> Self {
        Self::block(1, 1)
    }

    /// For a block that carries `inner_total` bytes (not 0) in `outer_total` (less than 2^24 + 7).
    pub const fn block(inner_total: u32, outer_total: u32) -> Self {
        Self {
            inner_total: inner_total as u64,
            outer_total: outer_total as u64,
            inner: 0,
            outer: 0,
        }
    }

    pub fn charge(&mut self, bytes: u64) -> u64 {
        if self.inner_total == self.outer_total {
            return bytes;
        }
        self.inner = self.inner.saturating_add(bytes).min(self.inner_total);
        let outer = self.inner * self.outer_total / self.inner_total.max(1);
        let share = outer - self.outer;
        self.outer = outer;
        share
    }
}

fn frame_length(header: &[u8; 4]) -> u32 {
    u32::from_le_bytes([header[0], header[1], header[2], 0])
}
