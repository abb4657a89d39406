//! Passes the packets of both directions to the session.

use super::messages::packet;
use super::opening::MAXIMUM_PACKET;
use super::session::{MAXIMUM_KEPT, Packet, Session};
use crate::decoding::decoder::{DecodeError, Decoder, MessageSink};
use crate::decoding::fault::fault;
use crate::decoding::framing::{FramePlan, Framer, HeaderFault, Input};
use crate::decoding::resume::{MessageShape, Resumption, find};
use model::{Direction, PerDirection};

/// Decodes one Oracle Net connection, from the start or from the middle.
///
/// Holds [`MAXIMUM_KEPT`] of an unfinished packet per direction, as much of a request, 8 KiB of a
/// response, and 16,384 cursors.
#[derive(Debug)]
pub struct TnsDecoder {
    framers: PerDirection<Framer>,
    session: Session,
}

impl TnsDecoder {
    pub fn new() -> Self {
        Self {
            framers: PerDirection::from_fn(framer),
            session: Session::default(),
        }
    }

    fn advance(
        &mut self,
        direction: Direction,
        input: &mut Input<'_>,
        sink: &mut MessageSink<'_>,
    ) -> Result<(), DecodeError> {
        let framer = &mut self.framers[direction];
        loop {
            if framer.pending() == 0
                && direction == Direction::ClientToServer
                && self.session.has_long_lengths()
                && input.bytes().first() == Some(&OUT_OF_BAND)
            {
                input.take_bytes(1);
                self.session.out_of_band(input.at(), sink);
                continue;
            }
            let long = self.session.has_long_lengths();
            let Some(frame) = framer.next(input, HEADER, |header| plan(header, long))? else {
                return Ok(());
            };
            let packet = Packet {
                kind: frame.header.get(4).copied().unwrap_or(0),
                started: frame.started,
                ended: frame.ended,
                bytes: frame.bytes,
                body: frame.body,
                is_holed: frame.holed,
            };
            let passed = match direction {
                Direction::ClientToServer => self.session.client_sent(packet, sink),
                Direction::ServerToClient => self.session.server_sent(packet, sink),
            };
            if let Err(fault) = passed {
                return Err(framer.fault(fault));
            }
        }
    }
}

impl Default for TnsDecoder {
    fn default() -> Self {
        Self::new()
    }
}

fn framer(direction: Direction) -> Framer {
    Framer::new("oracle", direction)
}

/// Reads a header: 16 bits of length and 16 of checksum, or 32 bits of length after an ACCEPT of
/// version 315 or later.
fn plan(header: &[u8], long: bool) -> Result<FramePlan, HeaderFault> {
    let &[first, second, third, fourth, kind, ..] = header else {
        return Err(fault("a header of eight bytes", header.len().to_string()));
    };
    let length = if long || (first, second) == (0, 0) {
        u32::from_be_bytes([first, second, third, fourth])
    } else {
        u32::from(u16::from_be_bytes([first, second]))
    };
    if !(packet::CONNECT..=packet::LAST).contains(&kind) {
        return Err(fault("a packet of Oracle Net", format!("type {kind}")));
    }
    if !(HEADER as u32..MAXIMUM_PACKET).contains(&length) {
        return Err(fault("a length of 8 to 4194303 bytes", length.to_string()));
    }
    Ok(FramePlan {
        body: u64::from(length) - HEADER as u64,
        keep: MAXIMUM_KEPT,
    })
}

impl Decoder for TnsDecoder {
    fn process_input(
        &mut self,
        direction: Direction,
        mut input: Input<'_>,
        sink: &mut MessageSink<'_>,
    ) -> Result<(), DecodeError> {
        if input.is_empty() {
            return Ok(());
        }
        self.session.speaks(direction, sink);
        let result = self.advance(direction, &mut input, sink);
        if result.is_err() {
            self.session.emit_buffered(sink);
        }
        result
    }

    fn pending(&self, direction: Direction) -> u64 {
        self.framers[direction].pending() + self.session.held_back(direction)
    }

    fn restart(&mut self, direction: Direction) -> bool {
        if self.session.is_encrypted() {
            return false;
        }
        self.framers[direction] = framer(direction);
        true
    }

    fn find(&self, _: Direction, bytes: &[u8], whole: bool) -> Resumption {
        let long = self.session.has_long_lengths();
        find(bytes, whole, |bytes, _| match bytes.get(..HEADER) {
            None => MessageShape::Cut,
            Some(header) => match plan(header, long) {
                Ok(plan) if header.get(6..) == Some(&[0, 0]) => {
                    MessageShape::Sure(HEADER + usize::try_from(plan.body).unwrap_or(usize::MAX))
                }
                Ok(_) | Err(_) => MessageShape::Wrong,
            },
        })
    }

    fn desync(&mut self, _: Direction) {
        self.session.desync();
    }

    fn has_pending_reply(&self) -> bool {
        self.session.has_pending_reply()
    }

    fn clear_pending(&mut self) {
        self.session.clear_pending();
    }

    fn finish(&mut self, sink: &mut MessageSink<'_>) {
        self.session.emit_buffered(sink);
    }
}

const HEADER: usize = 8;
/// A byte between packets by which a client interrupts a call out of band.
const OUT_OF_BAND: u8 = b'!';
