//! The state of one session: requests of the client, and answers that the server owes.

mod reply;

use super::LAST_PACKET;
use super::calls::{self, Call, Handle, Returns};
use super::login;
use super::messages::packet;
use super::tokens::Tokens;
use crate::decoding::decoder::MessageSink;
use crate::decoding::fault::fault;
use crate::decoding::framing::{Frame, HeaderFault};
use model::{
    Content, Direction, Message, PendingReplies, Phase, Protocol, Role, StatementId, Timestamp,
    TransactionState,
};
use std::collections::HashMap;

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

    /// Drops the unfinished message of `direction`.
    pub(super) fn restart(&mut self, direction: Direction) {
        match direction {
            Direction::ClientToServer => {
                self.request = Part::default();
                self.said.clear();
            }
            Direction::ServerToClient => {
                self.reply = Part::default();
                self.tokens.restart();
            }
        }
    }

    pub(super) fn clear_pending(&mut self) {
        self.pending.clear();
        self.stops = false;
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
        sink(&Message {
            stream: 0,
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

const IGNORE: u8 = 0x02;
const TLS_HANDSHAKE: u8 = 0x16;
const MAXIMUM_OWED: usize = 65_536;
const MAXIMUM_HANDLES: usize = 16_384;
const KEPT_BETWEEN: usize = 4096;
const MAXIMUM_KEPT: usize = 132 * 1024;
