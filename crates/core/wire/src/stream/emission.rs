//! Emits messages without a decoder: opaque and truncated ones, and the PROXY header.

use super::proxied::HeaderPassed;
use super::{State, Stream};
use crate::decoding::decoder::MessageSink;
use crate::decoding::framing::Input;
use model::{Content, Direction, Message, Phase, Protocol, Role, Timestamp};

impl Stream {
    /// Emits a truncated message, of protocols whose requests are over with their server. In others
    /// a whole message may wait for the client's bytes, until the connection's end.
    pub(super) fn emit_truncated(&mut self, at: Timestamp, direction: Direction, sink: &mut MessageSink<'_>) {
        let bytes = self.given[direction].saturating_sub(self.handed_out[direction]);
        let State::Decoding(decoder) = &mut self.state else {
            return;
        };
        if bytes == 0 || !self.protocol.carries_requests() || direction == Direction::ClientToServer {
            return;
        }
        decoder.desync(direction);
        self.opaque[direction] = true;
        self.handed_out[direction] = self.given[direction];
        sink(&Message {
            stream: 0,
            protocol: self.protocol,
            direction,
            started: self.began[direction],
            ended: at,
            bytes,
            role: Role::ReplyPart,
            phase: Phase::Work,
            content: Content::Other,
        });
    }

    pub(super) fn emit_raw(&mut self, direction: Direction, input: Input<'_>, sink: &mut MessageSink<'_>) {
        let given = &mut self.given[direction];
        *given = given.saturating_add(input.length());
        let content = match self.row {
            None if direction == Direction::ClientToServer => Content::Undecoded { start: input.bytes() },
            _ => Content::Other,
        };
        self.emit_opaque_with(direction, [input.at(); 2], content, sink);
    }

    pub(super) fn emit_preface(&mut self, header: Option<HeaderPassed>, sink: &mut MessageSink<'_>) {
        let Some(header) = header else { return };
        let direction = Direction::ClientToServer;
        for counted in [&mut self.given, &mut self.handed_out] {
            counted[direction] += header.bytes;
        }
        sink(&Message {
            stream: 0,
            protocol: Protocol::Unknown,
            direction,
            started: header.started,
            ended: header.ended,
            bytes: header.bytes,
            role: Role::OneWay,
            phase: Phase::Connect,
            content: Content::Other,
        });
    }

    pub(super) fn emit_opaque(
        &mut self,
        direction: Direction,
        started: Timestamp,
        ended: Timestamp,
        sink: &mut MessageSink<'_>,
    ) {
        self.emit_opaque_with(direction, [started, ended], Content::Other, sink);
    }

    fn emit_opaque_with(
        &mut self,
        direction: Direction,
        [started, ended]: [Timestamp; 2],
        content: Content<'_>,
        sink: &mut MessageSink<'_>,
    ) {
        let bytes = self.given[direction].saturating_sub(self.handed_out[direction]);
        if bytes == 0 {
            return;
        }
        self.handed_out[direction] = self.given[direction];
        sink(&Message {
            stream: 0,
            protocol: Protocol::Unknown,
            direction,
            started,
            ended,
            bytes,
            role: Role::Opaque,
            phase: Phase::Work,
            content: match self.cut {
                true => Content::Cut,
                false => content,
            },
        });
    }
}
