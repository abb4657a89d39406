//! Converts packets to messages, and tracks pending replies.

mod packets;
mod reply;

use super::call::{Call, Calls, Execution};
use super::ending::Age;
use super::introduction;
use super::messages::packet;
use crate::decoding::decoder::MessageSink;
use crate::decoding::fault::fault;
use crate::decoding::framing::HeaderFault;
use model::{Content, Direction, Message, PendingReplies, Phase, Role, StatementId, Timestamp};
pub(super) use packets::Packet;
use packets::{BufferedPackets, FLAG_END_OF_FILE, FLAG_END_OF_REQUEST, FLAGS, flags};
use std::collections::HashMap;

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
        sink(&held.message(
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
            sink(&held.message(
                Direction::ClientToServer,
                Role::OneWay,
                self.phase(),
                Content::Other,
            ));
            return Ok(());
        }
        if flags & FLAG_END_OF_FILE != 0 && packet.body.len() <= FLAGS {
            self.request_is_over(sink);
            sink(&BufferedPackets::from_packet(packet).message(
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
            return sink(&held.request(Role::Request, Phase::Connect, Content::Other));
        }
        match self.calls.parse_call(said) {
            Call::Login => {
                self.owe(PendingReply::from_phase(Phase::Login, Asks::Login), goes_on);
                self.program = introduction::program_of_login(said).or(self.program.take());
                let program = self.program.as_deref().filter(|_| introduction::is_last(said));
                let client = introduction::driver(said).or(program.map(str::as_bytes));
                let content = client.map_or(Content::Other, |text| Content::Client { text });
                sink(&held.request(Role::Request, Phase::Login, content));
            }
            Call::Services => {
                self.owe(PendingReply::from_phase(Phase::Login, Asks::Services), goes_on);
                sink(&held.request(Role::Request, Phase::Login, Content::Other));
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
                sink(&held.request(Role::Request, Phase::Work, content));
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
        sink(&held.request(Role::Request, phase, content));
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
                sink(&held.request(
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
        sink(&Message {
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
        sink(&Message {
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
}

/// The parameters of an execution; `None` if it is longer than the kept part, or if they cannot be
/// distinguished from the rest.
fn values<'a>(execution: &Execution, said: &'a [u8]) -> Option<&'a [u8]> {
    let at = said.len().checked_sub(execution.values)?;
    (said.len() < MAXIMUM_KEPT && execution.values > 0).then(|| said.get(at..))?
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

fn encrypted() -> HeaderFault {
    fault(
        "messages in plain",
        "native network encryption or checksums".to_owned(),
    )
}

const KEPT_BETWEEN: usize = 4096;
const MAXIMUM_CURSORS: usize = 16_384;
const MAXIMUM_OWED: usize = 65_536;
pub const MAXIMUM_KEPT: usize = 64 * 1024;
