//! Frames as messages.

use super::Connection;
use super::frames::{FrameHeader, Kind};
use super::streams::{FrameRole, StreamState};
use crate::decoding::decoder::MessageSink;
use crate::decoding::framing::Frame;
use model::{Content, Direction, Message, PerDirection, Phase, Protocol, Role, Timestamp};
use std::io::Write;

/// Times and bytes of a message that passed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Passed {
    pub(super) started: Timestamp,
    pub(super) ended: Timestamp,
    pub(super) bytes: u64,
}

impl Passed {
    pub(super) const fn nothing(at: Timestamp) -> Self {
        Self {
            started: at,
            ended: at,
            bytes: 0,
        }
    }
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

/// A message between frames, for roles that none of them has.
fn nothing(stream: u32, direction: Direction, role: Role, at: Timestamp) -> Message<'static> {
    message(stream, direction, role, Content::Other, Passed::nothing(at))
}

/// A frame of no exchange.
pub(super) fn aside(direction: Direction, passed: Passed, sink: &mut MessageSink<'_>) {
    let role = match direction {
        Direction::ClientToServer => Role::OneWay,
        Direction::ServerToClient => Role::Notice,
    };
    sink(&message(
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

impl Connection {
    pub(super) fn open(&mut self, stream: u32, mut state: StreamState) -> &mut StreamState {
        if let Some(flows) = &mut self.flows {
            let is_alone = self.streams.is_empty();
            state.flows = PerDirection::from_fn(|sender| flows[sender].open(is_alone));
        }
        self.streams.insert(stream, state)
    }

    /// SETTINGS or WINDOW_UPDATE of a receiver.
    pub(super) fn widen(&mut self, receiver: Direction, header: FrameHeader, frame: &Frame<'_>) {
        let Some(flows) = &mut self.flows else { return };
        let sender = receiver.reverse();
        let flow = &mut flows[sender];
        if frame.holed || (frame.body.len() as u64) < header.length {
            self.flows = None;
        } else if header.kind == Kind::Settings {
            let Some(initial) = initial_window(frame.body) else {
                return;
            };
            let difference = flow.resize(initial);
            self.streams.resize_windows(sender, difference);
        } else if let Some(increment) = frame.body.first_chunk() {
            let increment = u32::from_be_bytes(*increment) & 0x7FFF_FFFF;
            let stream = self.streams.get(header.stream);
            if header.stream == 0 || stream.is_some() {
                flow.update(
                    stream.map(|stream| &mut stream.flows[sender]),
                    increment,
                    frame.ended,
                );
            }
        }
    }

    /// DATA that waited for a WINDOW_UPDATE: the frames before are a round trip of their own.
    pub(super) fn wait(
        &mut self,
        sender: Direction,
        header: FrameHeader,
        part: FrameRole,
        passed: Passed,
        sink: &mut MessageSink<'_>,
    ) {
        let (Some(flows), Some(state)) = (&mut self.flows, self.streams.get(header.stream)) else {
            return;
        };
        let before = state.passed[sender].min(passed.started);
        let waits = flows[sender].send(&mut state.flows[sender], header.length);
        let Some(waits) = waits.filter(|_| part.may_wait()) else {
            return;
        };
        let until = waits.until.clamp(before, passed.started);
        for _ in 0..waits.count {
            let (client, server) = match sender {
                Direction::ClientToServer => (before, until),
                Direction::ServerToClient => (until, before),
            };
            let asked = nothing(header.stream, Direction::ClientToServer, Role::Request, client);
            let paused = nothing(header.stream, Direction::ServerToClient, Role::ReplyPause, server);
            match sender {
                Direction::ClientToServer => [&asked, &paused].into_iter().for_each(&mut *sink),
                Direction::ServerToClient => [&paused, &asked].into_iter().for_each(&mut *sink),
            }
        }
    }

    pub(super) fn emit(
        &mut self,
        (stream, direction): (u32, Direction),
        part: FrameRole,
        content: Content<'_>,
        passed: Passed,
        sink: &mut MessageSink<'_>,
    ) {
        let (client, server) = (Direction::ClientToServer, Direction::ServerToClient);
        if matches!(part, FrameRole::EarlyReply | FrameRole::EarlyReplyPart) {
            let sent = self
                .streams
                .get(stream)
                .map_or(passed.started, |state| state.passed[client]);
            self.emit_answered(stream, sent, sink);
        }
        let (sender, role) = match part {
            FrameRole::RequestPart | FrameRole::NextRequestPart => (client, Role::RequestPart),
            FrameRole::Request | FrameRole::NextRequest => (client, Role::Request),
            FrameRole::Cancel => (client, Role::OneWay),
            FrameRole::ReplyPart | FrameRole::EarlyReplyPart => (server, Role::ReplyPart),
            FrameRole::Reply | FrameRole::EarlyReply => (server, Role::Reply),
            FrameRole::Aside => return aside(direction, passed, sink),
        };
        sink(&Message {
            protocol: self.calls.protocol(stream),
            ..message(stream, sender, role, content, passed)
        });
    }
}

/// SETTINGS_INITIAL_WINDOW_SIZE among the settings.
fn initial_window(settings: &[u8]) -> Option<u32> {
    let entries = settings.as_chunks::<6>().0.iter();
    entries.rev().find_map(|[high, low, value @ ..]| {
        (u16::from_be_bytes([*high, *low]) == INITIAL_WINDOW_SIZE).then(|| u32::from_be_bytes(*value))
    })
}

/// RFC 9113 section 6.5.2.
const INITIAL_WINDOW_SIZE: u16 = 4;
pub(super) const ERROR_CODE: usize = 24;
