//! Converts packets to messages, and tracks pending replies.

use super::answer::refusal;
use super::call::{Call, Calls, Execution};
use super::decoder::{MAXIMUM_KEPT, NEVER, fault};
use super::ending::{Age, Ending, NO_MORE_ROWS, Summary, TRANSACTION, ending, named_error};
use super::introduction;
use super::messages::message::END_OF_RESPONSE;
use super::messages::packet;
use crate::decoding::decoder::MessageSink;
use crate::decoding::framing::HeaderFault;
use model::{
    Content, Direction, Message, PendingReplies, Phase, Protocol, Role, StatementId, Timestamp,
    TransactionState,
};
use std::collections::HashMap;

#[derive(Debug, Clone, Copy)]
pub(super) struct Packet<'a> {
    pub kind: u8,
    pub started: Timestamp,
    pub ended: Timestamp,
    pub bytes: u64,
    pub body: &'a [u8],
    pub is_holed: bool,
}

#[derive(Debug, Default)]
pub(super) struct Session {
    long_lengths: bool,
    age: Age,
    encrypted: bool,
    marks_ends: bool,
    /// The last reply was paused: the client's next message continues it.
    paused: bool,
    request: BufferedPackets,
    /// One packet of the server, held until the next event shows its role.
    reply: BufferedPackets,
    said: Vec<u8>,
    answered: Vec<u8>,
    pending: PendingReplies<PendingReply, MAXIMUM_OWED>,
    calls: Calls,
    cursors: HashMap<u32, Cursor>,
    /// Statements of cursors opened before observation, or while bytes were lost.
    unseen: HashMap<u32, StatementId>,
    /// A statement with an unseen cursor, because bytes were lost.
    unnumbered: Option<StatementId>,
    /// Bytes were lost, so an unknown cursor may have reported rows before.
    lost: bool,
    next_statement: u32,
    program: Option<String>,
}

#[derive(Debug, Default)]
struct BufferedPackets {
    packets: u64,
    bytes: u64,
    span: Option<(Timestamp, Timestamp)>,
    /// Type of a request's first packet, or of a response's only one.
    kind: u8,
    is_holed: bool,
    /// The last packet of a response is marked as such.
    is_marked: bool,
}

#[derive(Debug, Clone, Copy)]
struct PendingReply {
    phase: Phase,
    /// The statement of a response, and whether it starts over.
    statement: Option<StatementId>,
    cursor: u32,
    begins: bool,
    asks: Asks,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asks {
    Connection,
    Services,
    Login,
    Rows,
    Other,
}

#[derive(Debug, Clone, Copy)]
struct Cursor {
    /// `None` if the bytes that named it were lost.
    statement: Option<StatementId>,
    rows: u64,
}

impl Session {
    pub(super) const fn has_long_lengths(&self) -> bool {
        self.long_lengths
    }

    pub(super) const fn is_encrypted(&self) -> bool {
        self.encrypted
    }

    pub(super) const fn held_back(&self, direction: Direction) -> u64 {
        match direction {
            Direction::ClientToServer => self.request.bytes,
            Direction::ServerToClient => self.reply.bytes,
        }
    }

    pub(super) const fn desync(&mut self) {
        self.lost = true;
    }

    pub(super) fn has_pending_reply(&self) -> bool {
        self.pending.len() > usize::from(self.reply.packets > 0)
    }

    pub(super) fn clear_pending(&mut self) {
        let unnumbered = |pending_reply: &PendingReply| {
            pending_reply
                .statement
                .filter(|_| pending_reply.begins && pending_reply.cursor == 0)
        };
        self.unnumbered = self.pending.iter().rev().find_map(unnumbered).or(self.unnumbered);
        self.pending.clear();
        self.paused = false;
    }

    /// `direction` speaks, which completes the other direction's message.
    pub(super) fn speaks(&mut self, direction: Direction, sink: &mut MessageSink<'_>) {
        match direction {
            Direction::ClientToServer => self.reply_is_over(sink),
            Direction::ServerToClient => self.request_is_over(sink),
        }
    }

    pub(super) fn emit_buffered(&mut self, sink: &mut MessageSink<'_>) {
        self.reply_is_over(sink);
        self.request_is_over(sink);
    }

    /// A byte between two packets that interrupts a call.
    pub(super) fn out_of_band(&mut self, at: Timestamp, sink: &mut MessageSink<'_>) {
        self.request_is_over(sink);
        let held = BufferedPackets {
            bytes: 1,
            span: Some((at, at)),
            ..BufferedPackets::default()
        };
        sink(held.message(
            Direction::ClientToServer,
            Role::OneWay,
            self.phase(),
            Content::Other,
        ));
    }

    pub(super) fn client_sent(
        &mut self,
        packet: Packet<'_>,
        sink: &mut MessageSink<'_>,
    ) -> Result<(), HeaderFault> {
        let is_data = packet.kind == packet::DATA;
        if is_data && self.encrypted {
            return Err(encrypted());
        }
        let flags = if is_data { flags(packet.body) } else { 0 };
        let interrupts = packet.kind == packet::MARKER && !self.paused;
        if interrupts && (self.request.packets > 0 || !self.pending.is_empty()) {
            self.request_is_over(sink);
            let held = BufferedPackets::from_packet(packet);
            sink(held.message(
                Direction::ClientToServer,
                Role::OneWay,
                self.phase(),
                Content::Other,
            ));
            return Ok(());
        }
        if flags & FLAG_END_OF_FILE != 0 && packet.body.len() <= FLAGS {
            self.request_is_over(sink);
            sink(BufferedPackets::from_packet(packet).message(
                Direction::ClientToServer,
                Role::OneWay,
                Phase::Close,
                Content::Other,
            ));
            return Ok(());
        }
        self.pending.check()?;
        let body = match packet.kind {
            packet::DATA => packet.body.get(FLAGS..).unwrap_or_default(),
            packet::CONNECT => packet.body,
            _ => &[],
        };
        let room = MAXIMUM_KEPT.saturating_sub(self.said.len());
        self.said.extend_from_slice(body.get(..room).unwrap_or(body));
        self.request.add(packet);
        if flags & FLAG_END_OF_REQUEST != 0 {
            self.request_is_over(sink);
        }
        Ok(())
    }

    pub(super) fn server_sent(
        &mut self,
        packet: Packet<'_>,
        sink: &mut MessageSink<'_>,
    ) -> Result<(), HeaderFault> {
        let is_data = packet.kind == packet::DATA;
        if is_data && self.encrypted {
            return Err(encrypted());
        }
        if self.reply.packets > 0 {
            let role = if self.pending.is_empty() {
                Role::Notice
            } else {
                Role::ReplyPart
            };
            let held = std::mem::take(&mut self.reply);
            sink(held.message(Direction::ServerToClient, role, self.phase(), Content::Other));
        }
        if packet.kind == packet::ACCEPT && !packet.is_holed {
            let version = packet
                .body
                .first_chunk()
                .map(|&version| u16::from_be_bytes(version));
            self.long_lengths = version.is_some_and(|version| version >= VERSION_WITH_LONG_LENGTHS);
            self.age = match version {
                Some(version) if version < VERSION_WITH_LONG_LENGTHS => Age::Before12,
                Some(_) | None => Age::Since12,
            };
        }
        self.reply.add(packet);
        self.answer(match packet.kind {
            packet::DATA => packet.body.get(FLAGS..).unwrap_or_default(),
            packet::REFUSE => packet.body.get(REFUSE_FIELDS..).unwrap_or_default(),
            _ => &[],
        });
        if self.reply.is_marked {
            self.marks_ends = true;
            self.reply_is_over(sink);
        }
        Ok(())
    }

    fn answer(&mut self, body: &[u8]) {
        let last = body.len().saturating_sub(KEPT_OF_ANSWER);
        let body = body.get(last..).unwrap_or_default();
        let surplus = (self.answered.len() + body.len()).saturating_sub(KEPT_OF_ANSWER);
        self.answered.drain(..surplus.min(self.answered.len()));
        self.answered.extend_from_slice(body);
    }

    fn phase(&self) -> Phase {
        self.pending
            .front()
            .map_or(Phase::Work, |pending_reply| pending_reply.phase)
    }

    fn request_is_over(&mut self, sink: &mut MessageSink<'_>) {
        let held = std::mem::take(&mut self.request);
        if held.packets == 0 {
            return;
        }
        let goes_on = std::mem::take(&mut self.paused);
        let said = std::mem::take(&mut self.said);
        let told = if held.is_holed { &[][..] } else { &said };
        self.emit_request(&held, told, goes_on, sink);
        self.said = said;
        self.said.clear();
        self.said.shrink_to(KEPT_BETWEEN);
    }

    fn emit_request(
        &mut self,
        held: &BufferedPackets,
        said: &[u8],
        goes_on: bool,
        sink: &mut MessageSink<'_>,
    ) {
        if held.kind == packet::CONNECT {
            self.program = introduction::program(said);
            self.owe(
                PendingReply::from_phase(Phase::Connect, Asks::Connection),
                goes_on,
            );
            return sink(held.request(Role::Request, Phase::Connect, Content::Other));
        }
        match self.calls.parse_call(said) {
            Call::Login => {
                self.owe(PendingReply::from_phase(Phase::Login, Asks::Login), goes_on);
                self.program = introduction::program_of_login(said).or(self.program.take());
                let program = self.program.as_deref().filter(|_| introduction::is_last(said));
                let client = introduction::driver(said).or(program.map(str::as_bytes));
                let content = client.map_or(Content::Other, |text| Content::Client { text });
                sink(held.request(Role::Request, Phase::Login, content));
            }
            Call::Services => {
                self.owe(PendingReply::from_phase(Phase::Login, Asks::Services), goes_on);
                sink(held.request(Role::Request, Phase::Login, Content::Other));
            }
            Call::Execute(execution) => self.emit_execution(held, (execution, said), goes_on, sink),
            Call::Fetch { cursor, rows } => {
                let statement = self.statement_of(held, cursor, sink);
                self.owe(PendingReply::rows(statement, cursor, false), goes_on);
                let content = Content::Fetch {
                    statement,
                    fetch_rows: (rows > 0).then_some(rows),
                    fetch_bytes: None,
                };
                sink(held.request(Role::Request, Phase::Work, content));
            }
            Call::Commit => self.emit_other(
                held,
                Phase::Work,
                Content::Statement { text: b"commit" },
                goes_on,
                sink,
            ),
            Call::Rollback => {
                self.emit_other(
                    held,
                    Phase::Work,
                    Content::Statement { text: b"rollback" },
                    goes_on,
                    sink,
                );
            }
            Call::Logoff => self.emit_other(held, Phase::Close, Content::Other, goes_on, sink),
            Call::Other => {
                let phase = if goes_on { self.phase() } else { Phase::Work };
                self.emit_other(held, phase, Content::Other, goes_on, sink);
            }
        }
    }

    fn emit_other(
        &mut self,
        held: &BufferedPackets,
        phase: Phase,
        content: Content<'_>,
        goes_on: bool,
        sink: &mut MessageSink<'_>,
    ) {
        self.owe(PendingReply::from_phase(phase, Asks::Other), goes_on);
        sink(held.request(Role::Request, phase, content));
    }

    fn emit_execution(
        &mut self,
        held: &BufferedPackets,
        (execution, said): (Execution, &[u8]),
        goes_on: bool,
        sink: &mut MessageSink<'_>,
    ) {
        let statement = match &execution.text {
            None => self.statement_of(held, execution.cursor, sink),
            Some(text) => {
                let statement = StatementId(self.next_statement);
                self.next_statement = self.next_statement.saturating_add(1);
                sink(held.request(
                    Role::RequestPart,
                    Phase::Work,
                    Content::Prepare { statement, text },
                ));
                Some(statement)
            }
        };
        self.owe(PendingReply::rows(statement, execution.cursor, true), goes_on);
        let content = Content::Execute {
            statement,
            fetch_rows: execution.rows,
            fetch_bytes: None,
            sets: execution.sets,
            values: values(&execution, said),
        };
        let bytes = if execution.text.is_some() { 0 } else { held.bytes };
        sink(Message {
            bytes,
            ..held.request(Role::Request, Phase::Work, content)
        });
    }

    /// Finds the statement of a cursor. A new cursor belongs to the statement with an unseen
    /// cursor. Without such a statement its preparation was not seen, and it is announced.
    fn statement_of(
        &mut self,
        held: &BufferedPackets,
        number: u32,
        sink: &mut MessageSink<'_>,
    ) -> Option<StatementId> {
        if let Some(statement) = self.cursors.get(&number).and_then(|cursor| cursor.statement) {
            return Some(statement);
        }
        if !self.cursors.contains_key(&number) {
            let unnumbered = self.unnumbered.take().filter(|_| number != 0);
            if unnumbered.is_some() {
                return unnumbered;
            }
        }
        if let Some(statement) = self.unseen.get(&number) {
            return Some(*statement);
        }
        if number == 0 || self.unseen.len() >= MAXIMUM_CURSORS {
            return None;
        }
        let statement = StatementId(self.next_statement);
        self.next_statement = self.next_statement.saturating_add(1);
        self.unseen.insert(number, statement);
        sink(Message {
            bytes: 0,
            ..held.request(
                Role::RequestPart,
                Phase::Work,
                Content::Unseen {
                    statement,
                    name: number.to_string().as_bytes(),
                    parameters: None,
                },
            )
        });
        Some(statement)
    }

    /// A request that continues a paused reply has no reply itself.
    fn owe(&mut self, pending_reply: PendingReply, goes_on: bool) {
        if !goes_on || self.pending.is_empty() {
            // Room was checked before the request, which has one reply.
            self.pending.push(pending_reply).ok();
        }
    }

    /// The response is complete, unless the server waits for the client or for more requests.
    fn reply_is_over(&mut self, sink: &mut MessageSink<'_>) {
        let held = std::mem::take(&mut self.reply);
        if held.packets == 0 {
            return;
        }
        let Some(pending_reply) = self.pending.front().copied() else {
            self.answered.clear();
            return sink(held.reply(Role::Notice, Phase::Work, Content::Other));
        };
        if matches!(held.kind, packet::MARKER | packet::RESEND) {
            self.paused = true;
            self.answered.clear();
            return sink(held.reply(Role::ReplyPause, pending_reply.phase, Content::Other));
        }
        if self.marks_ends && self.pending.len() > 1 && !held.is_marked {
            return sink(held.reply(Role::ReplyPart, pending_reply.phase, Content::Other));
        }
        self.pending.pop();
        let answered = std::mem::take(&mut self.answered);
        self.emit_reply(&held, pending_reply, &answered, sink);
        self.answered = answered;
        self.answered.clear();
    }

    fn emit_reply(
        &mut self,
        held: &BufferedPackets,
        pending_reply: PendingReply,
        answered: &[u8],
        sink: &mut MessageSink<'_>,
    ) {
        match pending_reply.asks {
            Asks::Connection if held.kind != packet::ACCEPT => emit_refusal(held, answered, sink),
            Asks::Connection => sink(held.reply(Role::Reply, pending_reply.phase, Content::Other)),
            Asks::Services => {
                self.encrypted = introduction::services_are_on(answered);
                sink(held.reply(Role::Reply, pending_reply.phase, Content::Other));
            }
            Asks::Login | Asks::Rows | Asks::Other => self.emit_ending(held, pending_reply, answered, sink),
        }
    }

    fn emit_ending(
        &mut self,
        held: &BufferedPackets,
        pending_reply: PendingReply,
        answered: &[u8],
        sink: &mut MessageSink<'_>,
    ) {
        let reply = |content: Content<'_>, sink: &mut MessageSink<'_>| {
            sink(held.reply(Role::Reply, pending_reply.phase, content))
        };
        let end = ending(answered, self.age);
        let failed = match end {
            Some(Ending { summary, .. }) => summary
                .filter(|summary| !matches!(summary.error, 0 | NO_MORE_ROWS))
                .map(|summary| (summary.error, summary.text)),
            None => named_error(answered).filter(|(number, _)| *number != NO_MORE_ROWS),
        };
        if let Some((number, text)) = failed {
            let code = format!("ORA-{number:05}");
            return reply(
                Content::Error {
                    code: code.as_bytes(),
                    text,
                },
                sink,
            );
        }
        if pending_reply.asks == Asks::Login {
            let version = introduction::server_version(answered);
            return match &version {
                Some(version) => reply(
                    Content::ServerVersion {
                        text: version.as_bytes(),
                    },
                    sink,
                ),
                None => reply(Content::Other, sink),
            };
        }
        let summary = end.and_then(|end| end.summary);
        let rows = summary.and_then(|summary| self.rows_of(pending_reply, &summary));
        let transaction = end.and_then(|end| transaction(end.status));
        if end.is_none() {
            return reply(Content::Other, sink);
        }
        reply(Content::Done { rows, transaction }, sink);
    }

    /// Rows of this response: the server counts those of the whole execution.
    fn rows_of(&mut self, pending_reply: PendingReply, summary: &Summary<'_>) -> Option<u64> {
        if pending_reply.asks != Asks::Rows {
            return None;
        }
        let cursor = if summary.cursor == 0 {
            pending_reply.cursor
        } else {
            u32::from(summary.cursor)
        };
        let known = self.cursors.get(&cursor).filter(|_| !pending_reply.begins);
        let is_untold = known.is_none() && !pending_reply.begins && self.lost;
        let before = known.map_or(0, |cursor| cursor.rows);
        let has_room = self.cursors.len() < MAXIMUM_CURSORS || self.cursors.contains_key(&cursor);
        if cursor != 0 && has_room && (pending_reply.statement.is_some() || self.lost) {
            let (statement, rows) = (pending_reply.statement, summary.rows);
            self.cursors.insert(cursor, Cursor { statement, rows });
        }
        if is_untold {
            return None;
        }
        summary.rows.checked_sub(before)
    }
}

/// The parameters of an execution; `None` if it is longer than the kept part, or if they cannot be
/// distinguished from the rest.
fn values<'a>(execution: &Execution, said: &'a [u8]) -> Option<&'a [u8]> {
    let at = said.len().checked_sub(execution.values)?;
    (said.len() < MAXIMUM_KEPT && execution.values > 0).then(|| said.get(at..))?
}

fn emit_refusal(held: &BufferedPackets, answered: &[u8], sink: &mut MessageSink<'_>) {
    let told = refusal(&String::from_utf8_lossy(answered));
    let version = told.version.map(|version| version.to_string());
    match (told.error, &version) {
        (Some(number), _) if number != 0 => {
            let code = format!("ORA-{number:05}");
            let text = b"the listener refused the connection";
            sink(held.reply(
                Role::Reply,
                Phase::Connect,
                Content::Error {
                    code: code.as_bytes(),
                    text,
                },
            ));
        }
        (_, Some(version)) => {
            let text = version.as_bytes();
            sink(held.reply(Role::Reply, Phase::Connect, Content::ServerVersion { text }));
        }
        (_, None) => sink(held.reply(Role::Reply, Phase::Connect, Content::Other)),
    }
}

impl PendingReply {
    const fn from_phase(phase: Phase, asks: Asks) -> Self {
        Self {
            phase,
            statement: None,
            cursor: 0,
            begins: false,
            asks,
        }
    }

    const fn rows(statement: Option<StatementId>, cursor: u32, begins: bool) -> Self {
        Self {
            phase: Phase::Work,
            statement,
            cursor,
            begins,
            asks: Asks::Rows,
        }
    }
}

impl BufferedPackets {
    fn from_packet(packet: Packet<'_>) -> Self {
        let mut held = Self::default();
        held.add(packet);
        held
    }

    fn add(&mut self, packet: Packet<'_>) {
        if self.packets == 0 {
            self.kind = packet.kind;
        }
        let started = self.span.map_or(packet.started, |(started, _)| started);
        self.span = Some((started, packet.ended));
        self.packets += 1;
        self.bytes += packet.bytes;
        self.is_holed |= packet.is_holed;
        self.is_marked = is_marked(packet);
    }

    fn request<'a>(&self, role: Role, phase: Phase, content: Content<'a>) -> Message<'a> {
        self.message(Direction::ClientToServer, role, phase, content)
    }

    fn reply<'a>(&self, role: Role, phase: Phase, content: Content<'a>) -> Message<'a> {
        self.message(Direction::ServerToClient, role, phase, content)
    }

    fn message<'a>(
        &self,
        direction: Direction,
        role: Role,
        phase: Phase,
        content: Content<'a>,
    ) -> Message<'a> {
        let (started, ended) = self.span.unwrap_or((NEVER, NEVER));
        Message {
            protocol: Protocol::Oracle,
            direction,
            started,
            ended,
            bytes: self.bytes,
            role,
            phase,
            content,
        }
    }
}

fn is_marked(packet: Packet<'_>) -> bool {
    packet.kind == packet::DATA
        && (flags(packet.body) & FLAG_END_OF_RESPONSE != 0
            || packet.body.get(FLAGS..) == Some(&[END_OF_RESPONSE]))
}

/// The state of the transaction by a call's status; servers without it write 0.
fn transaction(status: u32) -> Option<TransactionState> {
    match status {
        0 => None,
        open if open & TRANSACTION != 0 => Some(TransactionState::Open),
        _ => Some(TransactionState::Idle),
    }
}

fn flags(body: &[u8]) -> u16 {
    body.first_chunk().map_or(0, |&flags| u16::from_be_bytes(flags))
}

fn encrypted() -> HeaderFault {
    fault(
        "messages in plain",
        "native network encryption or checksums".to_owned(),
    )
}

const FLAGS: usize = 2;
const FLAG_END_OF_FILE: u16 = 0x0040;
const FLAG_END_OF_REQUEST: u16 = 0x0800;
const FLAG_END_OF_RESPONSE: u16 = 0x2000;
const REFUSE_FIELDS: usize = 4;
const VERSION_WITH_LONG_LENGTHS: u16 = 315;
const KEPT_OF_ANSWER: usize = 8 * 1024;
const KEPT_BETWEEN: usize = 4096;
const MAXIMUM_CURSORS: usize = 16_384;
const MAXIMUM_OWED: usize = 65_536;
