//! Frames as messages.

use crate::decoding::decoder::MessageSink;
use model::{Content, Direction, Message, Phase, Protocol, Role, Timestamp};
use std::io::Write;

/// Times and bytes of a message that passed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Passed {
    pub(super) started: Timestamp,
    pub(super) ended: Timestamp,
    pub(super) bytes: u64,
}

pub(super) fn message<'a>(
    stream: u32,
    direction: Direction,
    role: Role,
    content: Content<'a>,
    passed: Passed,
) -> Message<'a> {
    Message {
        protocol: Protocol::Http2,
        direction,
        stream,
        started: passed.started,
        ended: passed.ended,
        bytes: passed.bytes,
        role,
        phase: Phase::Work,
        content,
    }
}

/// A frame of no exchange.
pub(super) fn aside(direction: Direction, passed: Passed, sink: &mut MessageSink<'_>) {
    let role = match direction {
        Direction::ClientToServer => Role::OneWay,
        Direction::ServerToClient => Role::Notice,
    };
    sink(message(
        Message::CONTROL_STREAM,
        direction,
        role,
        Content::Other,
        passed,
    ));
}

/// `name` and `number` as a text in `out`.
pub(super) fn numbered<'a>(name: &str, number: u32, out: &'a mut [u8; ERROR_CODE]) -> &'a [u8] {
    let mut rest = out.as_mut_slice();
    write!(rest, "{name}{number}").ok();
    let left = rest.len();
    out.get(..ERROR_CODE - left).unwrap_or_default()
}

pub(super) const ERROR_CODE: usize = 24;
