//! Decoder of HTTP/1.0 and HTTP/1.1.
//!
//! Source: RFC 9112. Heads are inspected up to [`MAXIMUM_HEAD`]; bodies are only counted, except the
//! beginning of those that name a request, and of replies that say whether it failed ([`dialects`]).
//!
//! - Head and body are one message each. The last of them completes the request or the reply.
//! - `Expect: 100-continue`: the head completes a request, `100 Continue` is a pause, and the body
//!   is a further round trip. A body sent without waiting belongs to no request.
//! - If a response arrives while the request's body is being sent, the bytes before it are the
//!   request; the rest belongs to no message. The same holds for an unfinished head (408, 414).
//! - A response without a length ends with the server's FIN or with a reset. A response with a
//!   length that these cut off stays incomplete.
//! - After `101 Switching Protocols` or a successful `CONNECT`, both directions are no longer HTTP/1.
//!   After `Upgrade: h2c`, the reply is stream 1 of HTTP/2: so is the request.

mod body;
mod calls;
pub(crate) mod dialects;
mod fields;
mod head;
mod heads;
mod lines;
mod opening;

pub(crate) use fields::{Field, Identifiers};
pub(crate) use lines::{Lines as HeadLines, end as head_end};

use crate::decoding::decoder::{DecodeError, Decoder, MessageSink, Successor};
use crate::decoding::framing::{HeaderFault, Input};
use crate::decoding::resume::Resumption;
use crate::http2::Http2Decoder;
use crate::protocols::ProtocolRow;
use body::Body;
use dialects::{Dialect, Kept, KeptReply, Reads};
use head::{Method, Request, Response};
use model::{Content, Direction, Message, PendingReplies, PerDirection, Phase, Protocol, Role, Timestamp};

pub const ROW: ProtocolRow = ProtocolRow {
    asks_alone: true,
    ..ProtocolRow::new(
        Protocol::Http,
        |openings, direction| opening::opens(direction, openings[direction]),
        |_| Box::new(HttpDecoder::new()),
    )
};

/// Decodes one HTTP connection. Holds at most [`MAXIMUM_HEAD`] per direction, a request's head, the
/// beginning of a request's and a reply's body, and 1024 notes of requests in flight.
#[derive(Debug, Default)]
pub struct HttpDecoder {
    halves: PerDirection<HalfConnection>,
    waiting: PendingReplies<PendingReply, MAXIMUM_WAITING>,
    body_role: BodyRole,
    is_head_answered: bool,
    left: bool,
    close_requested: Option<Direction>,
    /// After `Upgrade: h2c`.
    successor: Option<Box<Http2Decoder>>,
    dialect: Option<&'static Dialect>,
    /// The request in progress, if its body names it.
    kept: Option<Box<Kept<Vec<u8>>>>,
    /// Of replies that may say more than their status.
    reply: Option<Box<KeptReply>>,
    name: Vec<u8>,
}

#[derive(Debug, Clone, Copy)]
struct PendingReply {
    method: Method,
    protocol: Protocol,
    reads: Reads,
    stream: u32,
}

#[derive(Debug, Default)]
struct HalfConnection {
    head: Vec<u8>,
    body: Option<Body>,
    started: Timestamp,
    last: Timestamp,
    taken: u64,
    offset: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum BodyRole {
    #[default]
    Request,
    Unpermitted,
    /// The response arrived before the body's end.
    Answered,
}

impl HttpDecoder {
    pub fn new() -> Self {
        Self::default()
    }

    fn request(
        &mut self,
        request: &Request<'_>,
        head: &[u8],
        input: &mut Input<'_>,
        sink: &mut MessageSink<'_>,
    ) -> Result<(), HeaderFault> {
        if std::mem::take(&mut self.is_head_answered) {
            self.body_role = BodyRole::Answered;
            self.emit_message(Direction::ClientToServer, Role::OneWay, Content::Other, sink);
            self.halves[Direction::ClientToServer].body = request.body;
            return Ok(());
        }
        self.note_close(request.closes, Direction::ClientToServer);
        self.waiting.push(PendingReply {
            method: request.method,
            protocol: Protocol::Http,
            reads: Reads::Nothing,
            stream: u32::from(request.asks_http2),
        })?;
        let waits = request.expects_continue && request.body.is_some();
        self.body_role = if waits {
            BodyRole::Unpermitted
        } else {
            BodyRole::Request
        };
        let role = if waits || request.body.is_none() {
            Role::Request
        } else {
            Role::RequestPart
        };
        self.halves[Direction::ClientToServer].body = request.body;
        self.emit_request(request, head, role, input, sink);
        Ok(())
    }

    fn response(&mut self, response: &Response, sink: &mut MessageSink<'_>) {
        self.dialect = self.dialect.or(response.clues.dialect);
        let content = Content::HttpResponse {
            status: response.status,
        };
        let request = &self.halves[Direction::ClientToServer];
        if self.waiting.is_empty() && request.body.is_none() && request.taken > 0 {
            self.emit_message(Direction::ClientToServer, Role::Request, Content::Other, sink);
            self.is_head_answered = true;
        }
        let sending = self.waiting.len() == 1 && self.halves[Direction::ClientToServer].body.is_some();
        let role = if response.is_interim() {
            if sending && self.body_role == BodyRole::Unpermitted && response.status == 100 {
                self.body_role = BodyRole::Request;
                Role::ReplyPause
            } else {
                Role::ReplyPart
            }
        } else {
            if sending && self.body_role == BodyRole::Request {
                self.emit_request_end(Role::Request, false, sink);
                self.body_role = BodyRole::Answered;
            }
            self.note_close(response.closes, Direction::ServerToClient);
            self.keep_reply(response);
            match response.body {
                None if !response.begins_http2 => Role::Reply,
                Some(_) | None => Role::ReplyPart,
            }
        };
        self.emit_message(Direction::ServerToClient, role, content, sink);
        self.halves[Direction::ServerToClient].body = response.body;
        self.left |= response.leaves;
        if response.begins_http2 {
            self.waiting.clear();
            self.successor = Some(Box::new(Http2Decoder::upgraded()));
        }
    }

    fn note_close(&mut self, closes: bool, direction: Direction) {
        self.close_requested = self.close_requested.or(closes.then_some(direction));
    }

    fn body_ends(&mut self, direction: Direction, sink: &mut MessageSink<'_>) {
        self.halves[direction].body = None;
        match direction {
            Direction::ServerToClient => self.emit_reply_end(sink),
            Direction::ClientToServer if self.body_role == BodyRole::Request => {
                self.emit_request_end(Role::Request, true, sink);
            }
            Direction::ClientToServer => self.emit_message(direction, Role::OneWay, Content::Other, sink),
        }
    }

    fn emit_message(
        &mut self,
        direction: Direction,
        role: Role,
        content: Content<'_>,
        sink: &mut MessageSink<'_>,
    ) {
        let half = &mut self.halves[direction];
        let bytes = std::mem::take(&mut half.taken);
        half.offset += bytes;
        let request = match direction {
            Direction::ClientToServer => self.waiting.back_mut(),
            Direction::ServerToClient => self.waiting.front_mut(),
        };
        let stream = request.as_ref().map_or(0, |request| request.stream);
        let carried = || self.dialect.map(|dialect| dialect.protocol);
        let protocol = request.map(|request| request.protocol).or_else(carried);
        if role == Role::Reply {
            self.waiting.pop();
        }
        let half = &self.halves[direction];
        sink(&Message {
            stream,
            protocol: protocol.unwrap_or(Protocol::Http),
            direction,
            started: if bytes == 0 { half.last } else { half.started },
            ended: half.last,
            bytes,
            role,
            phase: Phase::Work,
            content,
        });
    }

    fn error(&self, direction: Direction, fault: HeaderFault) -> DecodeError {
        DecodeError {
            protocol: "http",
            direction: match direction {
                Direction::ClientToServer => "client-to-server",
                Direction::ServerToClient => "server-to-client",
            },
            offset: self.halves[direction].offset,
            expected: fault.expected,
            found: fault.found,
        }
    }
}

impl Decoder for HttpDecoder {
    fn process_input(
        &mut self,
        direction: Direction,
        mut input: Input<'_>,
        sink: &mut MessageSink<'_>,
    ) -> Result<(), DecodeError> {
        while !input.is_empty() && self.successor.is_none() {
            if self.left {
                return Err(self.error(
                    direction,
                    HeaderFault {
                        expected: "a message",
                        found: "another protocol, as agreed on".to_owned(),
                    },
                ));
            }
            let half = &mut self.halves[direction];
            half.last = input.at();
            if half.taken == 0 {
                half.started = input.at();
            }
            if let Some(body) = &mut half.body {
                let before = input.length();
                let kept = match direction {
                    Direction::ClientToServer => self.kept.as_deref_mut().map(|kept| &mut kept.body),
                    Direction::ServerToClient => self.reply.as_deref_mut().and_then(KeptReply::body),
                };
                let taken = body.process_input(&mut input, kept);
                half.taken += before - input.length();
                let done = taken.map_err(|fault| self.error(direction, fault))?;
                if done {
                    self.body_ends(direction, sink);
                }
            } else {
                self.take_head(direction, &mut input, sink)
                    .map_err(|fault| self.error(direction, fault))?;
            }
        }
        Ok(())
    }

    fn reads_content(&self, direction: Direction) -> bool {
        self.halves[direction].body.is_none() || self.kept.is_some()
    }

    fn pending(&self, direction: Direction) -> u64 {
        self.halves[direction].taken
    }

    fn successor(&mut self) -> Option<Successor> {
        let decoder: Box<dyn Decoder + Send> = self.successor.take()?;
        Some((Protocol::Http2, decoder))
    }

    fn restart(&mut self, direction: Direction) -> bool {
        if self.left {
            return false;
        }
        let half = &mut self.halves[direction];
        *half = HalfConnection {
            offset: half.offset,
            ..HalfConnection::default()
        };
        true
    }

    fn find(&self, direction: Direction, bytes: &[u8], whole: bool) -> Resumption {
        if self.left {
            return Resumption::Nowhere;
        }
        if !whole {
            return Resumption::More;
        }
        let begins = |&from: &usize| {
            let starts_line = from == 0
                || bytes.get(from - 1) == Some(&b'\n')
                || bytes.get(from..from + 5) == Some(b"HTTP/");
            starts_line && opening::begins(direction, bytes.get(from..).unwrap_or_default())
        };
        (0..bytes.len())
            .find(begins)
            .map_or(Resumption::Nowhere, Resumption::At)
    }

    fn dialect(&self) -> Option<Protocol> {
        self.dialect.map(|dialect| dialect.protocol)
    }

    fn close_requested(&self) -> Option<Direction> {
        self.close_requested
    }

    fn desync(&mut self, direction: Direction) {
        match direction {
            Direction::ClientToServer => self.kept = None,
            Direction::ServerToClient => self.reply = None,
        }
        let half = &mut self.halves[direction];
        *half = HalfConnection {
            offset: half.offset,
            ..HalfConnection::default()
        };
    }

    fn has_pending_reply(&self) -> bool {
        self.waiting.len() > 1
            || (self.waiting.len() == 1 && self.halves[Direction::ClientToServer].body.is_none())
    }

    fn clear_pending(&mut self) {
        self.waiting.clear();
    }

    fn ends(&mut self, at: Timestamp, direction: Direction, sink: &mut MessageSink<'_>) {
        let half = &mut self.halves[direction];
        if direction == Direction::ClientToServer || (half.body.is_none() && half.taken == 0) {
            return;
        }
        // Until now the client waited for the rest.
        half.last = half.last.max(at);
        if half.taken == 0 {
            half.started = half.last;
        }
        if half.body == Some(Body::UntilClose) {
            self.body_ends(direction, sink);
        } else {
            (half.body, half.head) = (None, Vec::new());
            self.emit_message(direction, Role::ReplyPart, Content::Other, sink);
        }
    }

    fn finish(&mut self, sink: &mut MessageSink<'_>) {
        let server = &self.halves[Direction::ServerToClient];
        if matches!(server.body, Some(Body::UntilClose)) {
            self.body_ends(Direction::ServerToClient, sink);
        }
    }
}

pub const MAXIMUM_HEAD: usize = 64 * 1024;

const MAXIMUM_WAITING: usize = 1024;
