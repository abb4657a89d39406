//! Passes the packets of both directions to their session.

use super::HEADER;
use super::messages::plan;
use super::multiplexing::{self, SMP, SMP_HEADER, Sessions};
use super::session::Session;
use crate::decoding::decoder::{DecodeError, Decoder, MessageSink};
use crate::decoding::framing::{Framer, Input};
use crate::decoding::resume::{MessageShape, Resumption, find};
use model::{Direction, PerDirection};

/// Decodes one TDS connection, from the start or from the middle.
///
/// Holds 64 KiB of an unfinished packet per direction, 132 KiB of a request, 72 KiB of a
/// token, the types of a result's columns, and 16,384 prepared statements; with MARS, this for each
/// of at most 32 sessions.
#[derive(Debug)]
pub struct TdsDecoder {
    framers: PerDirection<Framer>,
    session: Session,
    is_multiplexed: PerDirection<bool>,
    sessions: Sessions,
}

impl TdsDecoder {
    pub fn new() -> Self {
        Self {
            framers: PerDirection::from_fn(framer),
            session: Session::default(),
            is_multiplexed: PerDirection::splat(false),
            sessions: Sessions::default(),
        }
    }

    fn take_packet(
        &mut self,
        direction: Direction,
        input: &mut Input<'_>,
        sink: &mut MessageSink<'_>,
    ) -> Result<bool, DecodeError> {
        let framer = &mut self.framers[direction];
        self.is_multiplexed[direction] |= framer.pending() == 0 && input.bytes().first() == Some(&SMP);
        let (length, passed) = if self.is_multiplexed[direction] {
            let Some(frame) = framer.next(input, SMP_HEADER, multiplexing::plan)? else {
                return Ok(false);
            };
            (
                frame.bytes,
                self.sessions
                    .process_packet(direction, &frame, &mut self.session, sink),
            )
        } else {
            let Some(frame) = framer.next(input, HEADER, |header| plan(direction, header))? else {
                return Ok(false);
            };
            let passed = match direction {
                Direction::ClientToServer => self.session.client_sent(&frame, sink),
                Direction::ServerToClient => self.session.server_sent(&frame, sink),
            };
            (frame.bytes, passed)
        };
        match passed {
            Ok(()) => Ok(length > 0),
            Err(fault) => Err(framer.fault(fault)),
        }
    }

    /// Whether sessions are multiplexed. A lost direction then stays lost: half of its statements
    /// would look like all.
    fn is_mars(&self) -> bool {
        self.is_multiplexed != PerDirection::splat(false)
    }
}

impl Default for TdsDecoder {
    fn default() -> Self {
        Self::new()
    }
}

fn framer(direction: Direction) -> Framer {
    Framer::new("tds", direction)
}

impl Decoder for TdsDecoder {
    fn process_input(
        &mut self,
        direction: Direction,
        mut input: Input<'_>,
        sink: &mut MessageSink<'_>,
    ) -> Result<(), DecodeError> {
        while self.take_packet(direction, &mut input, sink)? {}
        Ok(())
    }

    fn pending(&self, direction: Direction) -> u64 {
        let in_sessions = match direction {
            Direction::ClientToServer => self.sessions.pending(),
            Direction::ServerToClient => self.sessions.pending_of_server(),
        };
        self.framers[direction].pending() + self.session.pending(direction) + in_sessions
    }

    fn restart(&mut self, direction: Direction) -> bool {
        if self.is_mars() {
            return false;
        }
        self.framers[direction] = framer(direction);
        self.session.restart(direction);
        true
    }

    fn find(&self, direction: Direction, bytes: &[u8], whole: bool) -> Resumption {
        if self.is_mars() {
            return Resumption::Nowhere;
        }
        find(bytes, whole, |bytes, _| match bytes.get(..HEADER) {
            None => MessageShape::Cut,
            Some(header) => match plan(direction, header) {
                Ok(plan) if header.get(7) == Some(&0) && header.get(1) <= Some(&HIGHEST_STATUS) => {
                    MessageShape::Sure(HEADER + usize::try_from(plan.body).unwrap_or(usize::MAX))
                }
                Ok(_) | Err(_) => MessageShape::Wrong,
            },
        })
    }

    fn has_pending_reply(&self) -> bool {
        self.session.has_pending_reply() || self.sessions.has_pending_reply()
    }

    fn finish(&mut self, sink: &mut MessageSink<'_>) {
        self.sessions.finish(sink);
    }

    fn clear_pending(&mut self) {
        self.session.clear_pending();
    }
}

const HIGHEST_STATUS: u8 = 0x1f;
