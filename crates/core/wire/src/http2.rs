//! Decoder of HTTP/2, and of gRPC inside it.
//!
//! Sources: RFC 9113, RFC 7541 (HPACK), gRPC's PROTOCOL-HTTP2.md.
//!
//! - Each stream is an exchange of its own ([`model::Message::stream`]), answered in any order.
//! - Frames of the connection (preface, SETTINGS, PING, WINDOW_UPDATE, GOAWAY), PRIORITY and pushed
//!   streams belong to no exchange ([`model::Message::CONTROL_STREAM`]).
//! - A response before the request's end completes it, as in HTTP/1.
//! - gRPC has no method. If a call's client goes on after a message of the server, its next message
//!   is the next request on the stream; messages of the server without a request are events.
//! - In the middle of a connection, and after lost bytes, names that only the lost header blocks had
//!   are unknown.

mod calls;
mod emission;
mod flow;
mod frames;
mod head;
mod hpack;
mod huffman;
mod ping;
mod static_table;
mod streams;

pub use ping::{OPENING, PingClient, PingFault, SETTINGS, SETTINGS_ACK, error_name};

use crate::decoding::decoder::{DecodeError, Decoder, MessageSink};
use crate::decoding::fault::fault;
use crate::decoding::framing::{Frame, FramePlan, Framer, HeaderFault, Input};
use crate::decoding::resume::{self, Resumption};
use crate::protocols::ProtocolRow;
use calls::Calls;
use emission::{ERROR_CODE, Passed, aside, numbered};
use flow::Flow;
use frames::{FRAME_HEADER, FrameHeader, Kind, MAX_BLOCK};
use head::Head;
use hpack::Hpack;
use model::{Content, Direction, PerDirection, Protocol, Timestamp};
use streams::{FrameRole, StreamState, Streams};

pub const ROW: ProtocolRow = ProtocolRow {
    asks_alone: true,
    ..ProtocolRow::new(Protocol::Http2, frames::detect, |openings| {
        Box::new(Http2Decoder::new(
            openings[Direction::ClientToServer].starts_with(frames::PREFACE),
        ))
    })
};

/// Decodes one connection. Holds at most a header block of [`MAX_BLOCK`] and a table per direction, and
/// 1024 streams.
#[derive(Debug)]
pub struct Http2Decoder {
    framers: PerDirection<Framer>,
    connection: Connection,
}

#[derive(Debug)]
struct Connection {
    tables: PerDirection<Hpack>,
    blocks: PerDirection<Option<Block>>,
    streams: Streams,
    /// Before, DATA could be a request or a reply.
    are_sides_known: bool,
    /// By sender; `None` in the middle of a connection and after lost bytes.
    flows: Option<PerDirection<Flow>>,
    calls: Calls,
}

/// A header block, until the frame that ends it.
#[derive(Debug)]
struct Block {
    header: FrameHeader,
    fragments: Vec<u8>,
    is_cut: bool,
    bytes: u64,
    started: Timestamp,
}

impl Http2Decoder {
    /// `from_start` unless the first bytes are from the middle of a connection.
    pub fn new(from_start: bool) -> Self {
        Self {
            framers: PerDirection::from_fn(|direction| Framer::new(Protocol::Http2.name(), direction)),
            connection: Connection {
                tables: PerDirection::from_fn(|_| Hpack::new(from_start)),
                blocks: PerDirection::default(),
                streams: Streams::default(),
                are_sides_known: from_start,
                flows: from_start.then(|| PerDirection::from_fn(|_| Flow::new())),
                calls: Calls::default(),
            },
        }
    }

    /// After `Upgrade: h2c`: stream 1 waits for its reply.
    pub(crate) fn upgraded() -> Self {
        let mut made = Self::new(true);
        made.connection.open(1, StreamState::unseen());
        made
    }
}

impl Decoder for Http2Decoder {
    fn process_input(
        &mut self,
        direction: Direction,
        mut input: Input<'_>,
        sink: &mut MessageSink<'_>,
    ) -> Result<(), DecodeError> {
        let Self { framers, connection } = self;
        let framer = &mut framers[direction];
        loop {
            let Some(frame) = framer.next(&mut input, FRAME_HEADER, |header| {
                connection.plan(direction, header)
            })?
            else {
                return Ok(());
            };
            if let Err(fault) = connection.frame(direction, &frame, sink) {
                return Err(framer.fault(fault));
            }
        }
    }

    fn pending(&self, direction: Direction) -> u64 {
        let block = self.connection.blocks[direction].as_ref();
        self.framers[direction].pending() + block.map_or(0, |block| block.bytes)
    }

    fn restart(&mut self, direction: Direction) -> bool {
        self.desync(direction);
        true
    }

    fn find(&self, _: Direction, bytes: &[u8], whole: bool) -> Resumption {
        resume::find(bytes, whole, |bytes, _| frames::shape(bytes))
    }

    fn desync(&mut self, direction: Direction) {
        self.framers[direction].restart();
        self.connection.blocks[direction] = None;
        self.connection.tables[direction].lose();
        self.connection.flows = None;
        self.connection.calls.lose(direction);
    }

    fn has_pending_reply(&self) -> bool {
        self.connection.streams.is_reply_expected()
    }

    fn clear_pending(&mut self) {
        self.connection.streams.clear();
        self.connection.calls.clear();
    }

    fn dialect(&self) -> Option<Protocol> {
        self.connection.calls.dialect()
    }
}

impl Connection {
    fn plan(&self, direction: Direction, header: &[u8]) -> Result<FramePlan, HeaderFault> {
        let plan = frames::plan(header)?;
        let keep = plan.keep + self.calls.room(direction, header);
        Ok(FramePlan { keep, ..plan })
    }

    fn frame(
        &mut self,
        direction: Direction,
        frame: &Frame<'_>,
        sink: &mut MessageSink<'_>,
    ) -> Result<(), HeaderFault> {
        let Some(header) = FrameHeader::parse(frame.header) else {
            return Ok(());
        };
        let passed = Passed {
            started: frame.started,
            ended: frame.ended,
            bytes: frame.bytes,
        };
        let is_continued = self.blocks[direction].is_some();
        if is_continued != (header.kind == Kind::Continuation) {
            return Err(fault("a header block", "a frame of another kind"));
        }
        match header.kind {
            Kind::Headers | Kind::PushPromise | Kind::Continuation => {
                return self.block(direction, header, frame, sink);
            }
            Kind::Data => {
                self.calls.add_body(direction, header, frame.body);
                self.data(direction, header, passed, sink);
            }
            Kind::Reset => {
                let code = frame
                    .body
                    .first_chunk()
                    .map_or(0, |code| u32::from_be_bytes(*code));
                self.reset(direction, header.stream, code, passed, sink);
            }
            Kind::Settings | Kind::WindowUpdate => {
                self.widen(direction, header, frame);
                aside(direction, passed, sink);
            }
            Kind::Preface | Kind::Priority | Kind::Ping | Kind::GoAway | Kind::Unknown => {
                aside(direction, passed, sink);
            }
        }
        Ok(())
    }

    fn block(
        &mut self,
        direction: Direction,
        header: FrameHeader,
        frame: &Frame<'_>,
        sink: &mut MessageSink<'_>,
    ) -> Result<(), HeaderFault> {
        let mut block = self.blocks[direction].take().unwrap_or(Block {
            header,
            fragments: Vec::new(),
            is_cut: false,
            bytes: 0,
            started: frame.started,
        });
        if block.header.stream != header.stream {
            return Err(fault("a header block's stream", "another stream"));
        }
        block.bytes += frame.bytes;
        block.is_cut |= frame.holed || (frame.body.len() as u64) < header.length;
        let fragment = frames::fragment(header, frame.body);
        if !block.is_cut {
            let fragment = fragment.ok_or_else(|| fault("padding within its frame", "more"))?;
            block.is_cut = block.fragments.len() + fragment.len() > MAX_BLOCK;
            if !header.ends_headers() && !block.is_cut {
                block.fragments.extend_from_slice(fragment);
            }
        }
        if !header.ends_headers() {
            self.blocks[direction] = Some(block);
            return Ok(());
        }
        let mut head = Head::default();
        let table = &mut self.tables[direction];
        match (block.is_cut, fragment) {
            (false, Some(fragment)) if block.fragments.is_empty() => table.decode(fragment, &mut head)?,
            (false, Some(fragment)) => {
                block.fragments.extend_from_slice(fragment);
                table.decode(&block.fragments, &mut head)?;
            }
            _ => table.lose(),
        }
        let passed = Passed {
            started: block.started,
            ended: frame.ended,
            bytes: block.bytes,
        };
        self.are_sides_known |= head.sender == Some(direction);
        match (block.header.kind, direction) {
            (Kind::Headers, _) if head.sender == Some(direction.reverse()) => {
                return Err(fault("a head of this side", "one of the other side"));
            }
            (Kind::Headers, Direction::ClientToServer) => {
                self.client_head(block.header, &mut head, passed, sink)
            }
            (Kind::Headers, Direction::ServerToClient) => self.server_head(block.header, &head, passed, sink),
            _ => aside(direction, passed, sink),
        }
        Ok(())
    }

    fn client_head(
        &mut self,
        header: FrameHeader,
        head: &mut Head,
        passed: Passed,
        sink: &mut MessageSink<'_>,
    ) {
        if self.streams.get(header.stream).is_some() {
            return self.data(Direction::ClientToServer, header, passed, sink);
        }
        let state = self.open(header.stream, StreamState::from_head(head));
        state.passed[Direction::ClientToServer] = passed.ended;
        if head.is_grpc && !header.ends_stream() {
            state.path = head.path.as_slice().into();
        }
        let part = state.client_sends(header.ends_stream());
        let sender = (header.stream, Direction::ClientToServer);
        let mut name = std::mem::take(&mut self.calls.name);
        let content = match self.calls.name_head(header, head, &mut name) {
            Some(content) => content,
            None => {
                let is_named_by_path = head.is_grpc || head.path.is_empty();
                Content::HttpRequest {
                    method: if is_named_by_path { b"" } else { &head.method },
                    target: &head.path,
                    request: head.identifiers.id(),
                    span: head.identifiers.span(),
                }
            }
        };
        self.emit(sender, part, content, passed, sink);
        self.calls.name = name;
    }

    fn server_head(&mut self, header: FrameHeader, head: &Head, passed: Passed, sink: &mut MessageSink<'_>) {
        let mut code = [0; ERROR_CODE];
        let content = match (head.grpc_status, head.status) {
            (Some(status @ 1..), _) => Content::Error {
                code: numbered("grpc-status ", u32::from(status), &mut code),
                text: b"",
            },
            (_, Some(status)) if !head.is_interim() => Content::HttpResponse { status },
            _ => Content::Other,
        };
        if let Content::HttpResponse { status } = content {
            self.calls.keep_reply(header, status, head);
        }
        self.server_sends(header, true, content, passed, sink);
    }

    fn data(
        &mut self,
        direction: Direction,
        header: FrameHeader,
        passed: Passed,
        sink: &mut MessageSink<'_>,
    ) {
        if direction == Direction::ServerToClient {
            return self.server_sends(header, false, Content::Other, passed, sink);
        }
        let state = match self.streams.get(header.stream) {
            Some(state) => state,
            None if header.stream % 2 == 1 && self.are_sides_known => {
                self.streams.insert(header.stream, StreamState::default())
            }
            None => return aside(direction, passed, sink),
        };
        let part = state.client_sends(header.ends_stream());
        self.wait(direction, header, part, passed, sink);
        let Some(state) = self.streams.get(header.stream) else {
            return;
        };
        state.passed[direction] = passed.ended;
        let is_next = matches!(part, FrameRole::NextRequest | FrameRole::NextRequestPart);
        let path = if is_next {
            std::mem::take(&mut state.path)
        } else {
            Box::default()
        };
        let content = match path.is_empty() {
            true => Content::Other,
            false => Content::HttpRequest {
                method: b"",
                target: &path,
                request: None,
                span: None,
            },
        };
        self.emit_request(header, part, content, passed, sink);
        if let Some(state) = self.streams.get(header.stream).filter(|_| !path.is_empty()) {
            state.path = path;
        }
        self.streams.forget_ended(header.stream);
    }

    fn server_sends(
        &mut self,
        header: FrameHeader,
        is_head: bool,
        content: Content<'_>,
        passed: Passed,
        sink: &mut MessageSink<'_>,
    ) {
        if header.stream.is_multiple_of(2) {
            return aside(Direction::ServerToClient, passed, sink);
        }
        let state = match self.streams.get(header.stream) {
            Some(state) => state,
            None if self.are_sides_known => self.streams.insert(header.stream, StreamState::unseen()),
            None => return aside(Direction::ServerToClient, passed, sink),
        };
        let part = state.server_sends(is_head, header.ends_stream());
        if let Some(flows) = self.flows.as_mut().filter(|_| is_head) {
            let sender = Direction::ServerToClient;
            flows[sender].begin(&mut state.flows[sender]);
        } else if !is_head {
            self.wait(Direction::ServerToClient, header, part, passed, sink);
        }
        if let Some(state) = self.streams.get(header.stream) {
            state.passed[Direction::ServerToClient] = passed.ended;
        }
        let outcome = self.calls.take_outcome(header.stream, part);
        let is_silent = matches!(content, Content::Other);
        let content = if is_silent { outcome.content() } else { content };
        self.emit(
            (header.stream, Direction::ServerToClient),
            part,
            content,
            passed,
            sink,
        );
        if header.ends_stream() {
            self.calls.forget(header.stream);
        }
        self.streams.forget_ended(header.stream);
    }

    fn reset(
        &mut self,
        direction: Direction,
        stream: u32,
        error: u32,
        passed: Passed,
        sink: &mut MessageSink<'_>,
    ) {
        let mut code = [0; ERROR_CODE];
        let content = Content::Error {
            code: numbered("RST_STREAM ", error, &mut code),
            text: b"",
        };
        let part = match (self.streams.get(stream), direction) {
            (None, _) => FrameRole::Aside,
            (Some(state), Direction::ClientToServer) => state.client_resets(),
            (Some(state), Direction::ServerToClient) => {
                state.client_ended |= state.replied;
                let part = state.server_sends(false, true);
                state.client_ended = true;
                part
            }
        };
        self.emit((stream, direction), part, content, passed, sink);
        self.calls.forget(stream);
        self.streams.forget_ended(stream);
    }
}
