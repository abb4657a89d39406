//! Converts packets to messages: requests of the client, and tokens of the server's responses.

use super::answer;
use super::calls::{self, Call, Handle, Returns};
use super::login;
use super::messages::{PACKETS, packet};
use super::multiplexing::{self, SMP, SMP_HEADER, Sessions};
use super::tokens::{Done, Token, Tokens};
use super::{HEADER, LAST_PACKET};
use crate::decoding::decoder::{DecodeError, Decoder, MessageSink};
use crate::decoding::framing::{Frame, FramePlan, Framer, HeaderFault, Input};
use crate::decoding::resume::{MessageShape, Resumption, find};
use model::{
    Content, Direction, Message, PendingReplies, PerDirection, Phase, Protocol, Role, StatementId, Timestamp,
    TransactionState,
};
use std::collections::HashMap;

/// Decodes one TDS connection, from the start or from the middle.
///
/// Holds 64 KiB of an unfinished packet per direction, [`MAXIMUM_KEPT`] of a request, 72 KiB of a
/// token, the types of a result's columns, and 16,384 prepared statements; with MARS, this for each
/// of at most 32 sessions.
#[derive(Debug)]
pub struct TdsDecoder {
    framers: PerDirection<Framer>,
    session: Session,
    is_multiplexed: PerDirection<bool>,
    sessions: Sessions,
}

#[derive(Debug, Default)]
pub(super) struct Session {
    request: Part,
    said: Vec<u8>,
    reply: Part,
    tokens: Tokens,
    pending: PendingReplies<PendingReply, MAXIMUM_OWED>,
    stops: bool,
    transaction: Option<TransactionState>,
    handles: HashMap<Handle, StatementId>,
    pub(super) next_statement: u32,
}

#[derive(Debug, Clone, Copy, Default)]
struct Part {
    bytes: u64,
    started: Timestamp,
    is_holed: bool,
}

#[derive(Debug, Clone, Copy)]
struct PendingReply {
    phase: Phase,
    is_prelogin: bool,
    /// The statement that the next returned handles belong to.
    statement: Option<StatementId>,
    returns: Returns,
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
        match direction {
            Direction::ClientToServer => {
                self.session.request = Part::default();
                self.session.said.clear();
            }
            Direction::ServerToClient => {
                self.session.reply = Part::default();
                self.session.tokens.restart();
            }
        }
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
        self.session.pending.clear();
        self.session.stops = false;
    }
}

const HIGHEST_STATUS: u8 = 0x1f;

pub(super) fn plan(direction: Direction, header: &[u8]) -> Result<FramePlan, HeaderFault> {
    let &[kind, _, high, low, ..] = header else {
        return Err(fault("a header of eight bytes", header.len().to_string()));
    };
    let is_known = PACKETS
        .find(kind)
        .is_some_and(|row| row.senders.contains(&direction));
    let length = u16::from_be_bytes([high, low]);
    if !is_known {
        let found = match kind {
            0x14..=0x17 => "TLS".to_owned(),
            other => format!("type {other:#04x}"),
        };
        return Err(fault("a packet of TDS", found));
    }
    if usize::from(length) < HEADER {
        return Err(fault("a length of at least 8", length.to_string()));
    }
    Ok(FramePlan {
        body: u64::from(length) - HEADER as u64,
        keep: usize::from(length),
    })
}

impl Session {
    pub(super) fn another(&self) -> Self {
        let mut session = Self {
            transaction: self.transaction.map(|_| TransactionState::Idle),
            ..Self::default()
        };
        session.tokens.short_counts = self.tokens.short_counts;
        session
    }

    pub(super) fn pending(&self, direction: Direction) -> u64 {
        match direction {
            Direction::ClientToServer => self.request.bytes,
            Direction::ServerToClient => self.reply.bytes,
        }
    }

    pub(super) fn has_pending_reply(&self) -> bool {
        !self.pending.is_empty()
    }

    pub(super) fn is_busy(&self) -> bool {
        self.has_pending_reply() || self.request.bytes > 0
    }

    pub(super) fn client_sent(
        &mut self,
        frame: &Frame<'_>,
        sink: &mut MessageSink<'_>,
    ) -> Result<(), HeaderFault> {
        let [kind, status] = [0, 1].map(|place| frame.header.get(place).copied().unwrap_or(0));
        if kind == packet::PRELOGIN && self.said.is_empty() && frame.body.first() == Some(&TLS_HANDSHAKE) {
            return Err(fault("messages in plain", "TLS".to_owned()));
        }
        self.pending.check()?;
        self.request.add(frame);
        let room = MAXIMUM_KEPT.saturating_sub(self.said.len());
        self.said
            .extend_from_slice(frame.body.get(..room).unwrap_or(frame.body));
        if status & LAST_PACKET == 0 {
            return Ok(());
        }
        let said = std::mem::take(&mut self.said);
        let told = if self.request.is_holed { &[][..] } else { &said };
        if status & IGNORE != 0 {
            self.emit_message(frame, Role::OneWay, Phase::Work, Content::Other, sink);
        } else {
            self.request(kind, told, frame, sink);
        }
        self.said = said;
        self.said.clear();
        self.said.shrink_to(KEPT_BETWEEN);
        self.request = Part::default();
        Ok(())
    }

    fn request(&mut self, kind: u8, said: &[u8], frame: &Frame<'_>, sink: &mut MessageSink<'_>) {
        match kind {
            packet::SQL_BATCH => self.call(&calls::batch(said), None, Role::Request, frame, sink),
            packet::TRANSACTION_MANAGER => {
                self.call(&calls::transaction(said), None, Role::Request, frame, sink)
            }
            packet::RPC => {
                let all = calls::procedures(said);
                for (place, asked) in all.iter().enumerate() {
                    let role = if place + 1 == all.len() {
                        Role::Request
                    } else {
                        Role::RequestPart
                    };
                    let whole = said.len() < MAXIMUM_KEPT && !self.request.is_holed;
                    let values = said.get(asked.values.clone()).filter(|_| whole);
                    self.call(&asked.call, values, role, frame, sink);
                }
            }
            packet::ATTENTION if self.pending.is_empty() => {
                self.owe(PendingReply::from_phase(Phase::Work));
                self.emit_message(frame, Role::Request, Phase::Work, Content::Other, sink);
            }
            packet::ATTENTION => {
                self.stops = true;
                self.emit_message(frame, Role::OneWay, Phase::Work, Content::Other, sink);
            }
            packet::PRELOGIN => {
                let pending_reply = PendingReply::from_phase(Phase::Login);
                self.owe(PendingReply {
                    is_prelogin: true,
                    ..pending_reply
                });
                self.emit_message(frame, Role::Request, Phase::Login, Content::Other, sink);
            }
            packet::LOGIN7 => {
                let introduction = login::introduction(said);
                self.tokens.short_counts = introduction.as_ref().is_some_and(|login| login.short_counts);
                let client = introduction.and_then(|login| login.client);
                let content = client.as_ref().map_or(Content::Other, |client| Content::Client {
                    text: client.as_bytes(),
                });
                self.owe(PendingReply::from_phase(Phase::Login));
                self.emit_message(frame, Role::Request, Phase::Login, content, sink);
            }
            packet::BULK_LOAD => {
                self.owe(PendingReply::from_phase(Phase::Work));
                self.emit_message(frame, Role::Request, Phase::Work, Content::Other, sink);
            }
            _ => {
                self.owe(PendingReply::from_phase(Phase::Login));
                self.emit_message(frame, Role::Request, Phase::Login, Content::Other, sink);
            }
        }
    }

    /// Of several calls in a request, the first returns handles, and all share one response.
    fn call(
        &mut self,
        call: &Call,
        values: Option<&[u8]>,
        role: Role,
        frame: &Frame<'_>,
        sink: &mut MessageSink<'_>,
    ) {
        let mut pending_reply = PendingReply::from_phase(Phase::Work);
        match call {
            Call::Other => self.emit_message(frame, role, Phase::Work, Content::Other, sink),
            Call::Close => self.emit_message(frame, role, Phase::Work, Content::Close, sink),
            Call::Statement(text) => {
                let text = text.as_bytes();
                self.emit_message(frame, role, Phase::Work, Content::Statement { text }, sink);
            }
            Call::Prepare { text, returns } => {
                let statement = self.new_statement();
                pending_reply.returned(statement, *returns);
                let text = text.as_bytes();
                self.emit_message(
                    frame,
                    role,
                    Phase::Work,
                    Content::Prepare { statement, text },
                    sink,
                );
            }
            Call::PrepareAndExecute { text, returns, rows } => {
                let statement = self.new_statement();
                pending_reply.returned(statement, *returns);
                let text = text.as_bytes();
                self.emit_message(
                    frame,
                    Role::RequestPart,
                    Phase::Work,
                    Content::Prepare { statement, text },
                    sink,
                );
                self.emit_message(
                    frame,
                    role,
                    Phase::Work,
                    execute(Some(statement), *rows, values),
                    sink,
                );
            }
            Call::Execute { of, returns, rows } => {
                let statement = self.statement(*of, frame, sink);
                if let Some(statement) = statement {
                    pending_reply.returned(statement, *returns);
                }
                self.emit_message(frame, role, Phase::Work, execute(statement, *rows, values), sink);
            }
            Call::Fetch { of, rows } => {
                let content = Content::Fetch {
                    statement: self.statement(*of, frame, sink),
                    fetch_rows: *rows,
                    fetch_bytes: None,
                };
                self.emit_message(frame, role, Phase::Work, content, sink);
            }
        }
        if role == Role::Request {
            self.owe(pending_reply);
        }
    }

    /// Finds the statement of a handle; an unseen one is announced.
    fn statement(
        &mut self,
        of: Handle,
        frame: &Frame<'_>,
        sink: &mut MessageSink<'_>,
    ) -> Option<StatementId> {
        if let Some(known) = self.handles.get(&of) {
            return Some(*known);
        }
        if self.handles.len() >= MAXIMUM_HANDLES {
            return None;
        }
        let statement = self.new_statement();
        self.handles.insert(of, statement);
        let name = match of {
            Handle::Prepared(number) => number.to_string(),
            Handle::Cursor(number) => format!("cursor {number}"),
        };
        let bytes = std::mem::take(&mut self.request.bytes);
        let unseen = Content::Unseen {
            statement,
            name: name.as_bytes(),
            parameters: None,
        };
        self.emit_message(frame, Role::RequestPart, Phase::Work, unseen, sink);
        self.request.bytes = bytes;
        Some(statement)
    }

    fn new_statement(&mut self) -> StatementId {
        let statement = StatementId(self.next_statement);
        self.next_statement = self.next_statement.saturating_add(1);
        statement
    }

    fn owe(&mut self, pending_reply: PendingReply) {
        // Room was checked before the request, which has one reply.
        self.pending.push(pending_reply).ok();
    }

    fn emit_message(
        &mut self,
        frame: &Frame<'_>,
        role: Role,
        phase: Phase,
        content: Content<'_>,
        sink: &mut MessageSink<'_>,
    ) {
        let bytes = std::mem::take(&mut self.request.bytes);
        sink(Message {
            protocol: Protocol::Tds,
            direction: Direction::ClientToServer,
            started: self.request.started,
            ended: frame.ended,
            bytes,
            role,
            phase,
            content,
        });
    }

    pub(super) fn server_sent(
        &mut self,
        frame: &Frame<'_>,
        sink: &mut MessageSink<'_>,
    ) -> Result<(), HeaderFault> {
        let [kind, status] = [0, 1].map(|place| frame.header.get(place).copied().unwrap_or(0));
        if kind == packet::PRELOGIN {
            return Err(fault("messages in plain", "TLS".to_owned()));
        }
        self.reply.add(frame);
        let is_last = status & LAST_PACKET != 0;
        if self
            .pending
            .front()
            .is_some_and(|pending_reply| pending_reply.is_prelogin)
        {
            if is_last {
                self.emit_prelogin(frame, sink);
            }
            return Ok(());
        }
        if frame.holed {
            self.tokens.desync();
        }
        let mut tokens = std::mem::take(&mut self.tokens);
        let mut last_done = None;
        tokens.process_body(frame.body, |token, behind| {
            let ends = is_last && behind == 0;
            last_done = if let Token::Done(done) = &token {
                Some(*done)
            } else {
                None
            };
            self.emit_token(&token, behind as u64, ends, frame, sink);
        });
        let is_over = self.reply.bytes == 0;
        if is_last && !is_over {
            let done = tokens.last_done(frame.body).filter(|_| tokens.is_lost());
            let token = done.map_or(Token::Other, Token::Done);
            self.emit_token(&token, 0, true, frame, sink);
        } else if tokens.is_lost() && !is_over {
            self.emit_token(&Token::Other, 0, false, frame, sink);
        }
        if is_last {
            tokens.restart();
        }
        self.tokens = tokens;
        Ok(())
    }

    fn emit_prelogin(&mut self, frame: &Frame<'_>, sink: &mut MessageSink<'_>) {
        self.pending.pop();
        let answer = answer::options(frame.body).ok();
        let version = answer.and_then(|answer| answer.version);
        let version = version.map(|version| format!("SQL Server {version}"));
        let content = version
            .as_ref()
            .map_or(Content::Other, |version| Content::ServerVersion {
                text: version.as_bytes(),
            });
        self.emit_reply(frame, 0, Role::Reply, Phase::Login, content, sink);
    }

    fn emit_token(
        &mut self,
        token: &Token,
        behind: u64,
        ends: bool,
        frame: &Frame<'_>,
        sink: &mut MessageSink<'_>,
    ) {
        let pending_reply = self.pending.front().copied();
        let phase = pending_reply.map_or(Phase::Work, |pending_reply| pending_reply.phase);
        let mut role = if pending_reply.is_some() {
            Role::ReplyPart
        } else {
            Role::Notice
        };
        if ends && pending_reply.is_some() {
            let answers_stop = matches!(token, Token::Done(done) if done.is_attention);
            if !self.stops || answers_stop {
                role = Role::Reply;
                self.stops = false;
            }
        }
        self.record_token(token);
        let code;
        let content = match token {
            Token::Other | Token::Returned { .. } | Token::Transaction(_) => Content::Other,
            Token::Row => Content::Row,
            Token::Done(done) => self.done(*done),
            Token::Error { number, text } => {
                code = number.to_string();
                Content::Error {
                    code: code.as_bytes(),
                    text: text.as_bytes(),
                }
            }
            Token::Accepted { version } => Content::ServerVersion {
                text: version.as_bytes(),
            },
        };
        self.emit_reply(frame, behind, role, phase, content, sink);
        if role == Role::Reply {
            self.pending.pop();
        }
    }

    fn done(&self, done: Done) -> Content<'static> {
        Content::Done {
            rows: done.rows,
            transaction: self.transaction.filter(|_| !done.has_more),
        }
    }

    fn record_token(&mut self, token: &Token) {
        match token {
            Token::Transaction(state) => self.transaction = Some(*state),
            Token::Accepted { .. } => self.transaction = Some(TransactionState::Idle),
            Token::Returned { value } => self.returned(*value),
            Token::Other | Token::Row | Token::Done(_) | Token::Error { .. } => {}
        }
    }

    fn returned(&mut self, value: Option<u32>) {
        let Some(pending_reply) = self.pending.front_mut() else {
            return;
        };
        let (handle, next): (fn(u32) -> Handle, Returns) = match pending_reply.returns {
            Returns::Nothing => return,
            Returns::Prepared => (Handle::Prepared, Returns::Nothing),
            Returns::Cursor => (Handle::Cursor, Returns::Nothing),
            Returns::PreparedAndCursor => (Handle::Prepared, Returns::Cursor),
        };
        pending_reply.returns = next;
        if let Some((handle, statement)) = value.map(handle).zip(pending_reply.statement)
            && (self.handles.len() < MAXIMUM_HANDLES || self.handles.contains_key(&handle))
        {
            self.handles.insert(handle, statement);
        }
    }

    /// Emits the response up to `behind` bytes before its end.
    fn emit_reply(
        &mut self,
        frame: &Frame<'_>,
        behind: u64,
        role: Role,
        phase: Phase,
        content: Content<'_>,
        sink: &mut MessageSink<'_>,
    ) {
        let bytes = self.reply.bytes.saturating_sub(behind);
        let started = self.reply.started;
        self.reply = Part {
            bytes: self.reply.bytes - bytes,
            started: frame.started,
            is_holed: false,
        };
        sink(Message {
            protocol: Protocol::Tds,
            direction: Direction::ServerToClient,
            started,
            ended: frame.ended,
            bytes,
            role,
            phase,
            content,
        });
    }
}

fn execute(statement: Option<StatementId>, fetch_rows: Option<u32>, values: Option<&[u8]>) -> Content<'_> {
    Content::Execute {
        statement,
        fetch_rows,
        fetch_bytes: None,
        sets: 1,
        values,
    }
}

impl PendingReply {
    const fn from_phase(phase: Phase) -> Self {
        Self {
            phase,
            is_prelogin: false,
            statement: None,
            returns: Returns::Nothing,
        }
    }

    const fn returned(&mut self, statement: StatementId, returns: Returns) {
        self.statement = Some(statement);
        self.returns = returns;
    }
}

impl Part {
    fn add(&mut self, frame: &Frame<'_>) {
        if self.bytes == 0 {
            self.started = frame.started;
        }
        self.bytes += frame.bytes;
        self.is_holed |= frame.holed;
    }
}

pub(super) fn fault(expected: &'static str, found: String) -> HeaderFault {
    HeaderFault { expected, found }
}

const IGNORE: u8 = 0x02;
const TLS_HANDSHAKE: u8 = 0x16;
const MAXIMUM_OWED: usize = 65_536;
const MAXIMUM_HANDLES: usize = 16_384;
const KEPT_BETWEEN: usize = 4096;
pub const MAXIMUM_KEPT: usize = 132 * 1024;
