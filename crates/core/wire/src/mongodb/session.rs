//! Content of requests and replies.

use super::bson::{document_length, elements};
use super::commands::{self, Kind};
use super::contents::{command, legacy, opened};
use super::fields::Fields;
use super::half::Whole;
use super::header::{MORE_TO_COME, OP_DELETE, OP_INSERT, OP_KILL_CURSORS, OP_MSG, OP_UPDATE};
use super::text::{self, Command};
use crate::decoding::decoder::MessageSink;
use crate::decoding::fault::{HeaderFault, fault};
use foldhash::quality::FixedState;
use model::{
    Content, Direction, Message, PendingReplies, Phase, Protocol, Role, StatementId, TransactionState,
};
use std::collections::HashMap;
use std::hash::BuildHasher;

#[derive(Debug, Default)]
pub(super) struct Session {
    pending: PendingReplies<PendingReply, MAX_PENDING>,
    is_introduced: bool,
    /// Requests were seen, so a reply to another one was not requested.
    has_requests: bool,
    /// The last reply that is followed by further ones.
    streams: Option<PendingReply>,
    statements: HashMap<u64, StatementId, FixedState>,
    cursors: HashMap<i64, StatementId>,
    text: Vec<u8>,
    values: Vec<u8>,
}

#[derive(Debug, Clone, Copy)]
struct PendingReply {
    id: i32,
    kind: Kind,
    phase: Phase,
    statement: Option<StatementId>,
    transaction: Option<TransactionState>,
    cursor: Option<i64>,
}

impl Session {
    pub(super) fn request(
        &mut self,
        message: Whole<'_>,
        sink: &mut MessageSink<'_>,
    ) -> Result<(), HeaderFault> {
        self.pending.check()?;
        self.has_requests = true;
        let mut inflated = Vec::new();
        let opcode = message.header.opcode;
        let (opcode, body) = opened(
            opcode,
            message.body,
            message.is_holed,
            message.walk,
            &mut inflated,
        );
        let default;
        let fields = match message.walk.fields() {
            Some(fields) => fields,
            None => {
                default = Fields::default();
                &default
            }
        };
        let is_one_way = match opcode {
            OP_MSG => message.walk.flags() & MORE_TO_COME != 0,
            _ => matches!(opcode, OP_UPDATE | OP_INSERT | OP_DELETE | OP_KILL_CURSORS),
        };
        let role = if is_one_way { Role::OneWay } else { Role::Request };
        let (mut pending_reply, content) = self.describe(message.header.id, opcode, body, fields);
        if message.walk.fields().is_none() {
            pending_reply.transaction = None;
        }
        sink(&Message {
            stream: 0,
            protocol: Protocol::Mongodb,
            direction: Direction::ClientToServer,
            started: message.started,
            ended: message.ended,
            bytes: message.bytes,
            role,
            phase: pending_reply.phase,
            content,
        });
        if !is_one_way {
            self.pending.push(pending_reply)?;
        }
        Ok(())
    }

    fn describe<'a>(
        &'a mut self,
        id: i32,
        opcode: u32,
        body: &'a [u8],
        fields: &Fields,
    ) -> (PendingReply, Content<'a>) {
        self.text.clear();
        self.values.clear();
        let mut pending_reply = PendingReply {
            id,
            kind: Kind::Other,
            phase: Phase::Work,
            statement: None,
            transaction: None,
            cursor: None,
        };
        let Some(command) = command(opcode, body) else {
            legacy(opcode, body, &mut self.text);
            let content = match self.text.is_empty() {
                true => Content::Other,
                false => Content::Statement { text: &self.text },
            };
            return (pending_reply, content);
        };
        let first = elements(command.body).next();
        let name = first.map_or(&b""[..], |first| first.name);
        let known = commands::find(name);
        let kind = known.map_or(Kind::Other, |known| known.kind);
        pending_reply.kind = kind;
        pending_reply.transaction = Some(match fields.is_in_transaction && kind != Kind::End {
            true => TransactionState::Open,
            false => TransactionState::Idle,
        });
        match kind {
            Kind::Login => {
                pending_reply.phase = Phase::Login;
                return (pending_reply, Content::Other);
            }
            Kind::Hello => {
                let (phase, content) = self.hello(&command);
                pending_reply.phase = phase;
                pending_reply.transaction = None;
                return (pending_reply, content);
            }
            Kind::Close => pending_reply.phase = Phase::Close,
            Kind::Fetch => {
                pending_reply.cursor = fields.get_more;
                pending_reply.statement = fields
                    .get_more
                    .and_then(|cursor| self.cursors.get(&cursor).copied());
                if pending_reply.statement.is_some() {
                    let content = Content::Fetch {
                        statement: pending_reply.statement,
                        fetch_rows: fields.batch_size,
                        fetch_bytes: None,
                    };
                    return (pending_reply, content);
                }
            }
            Kind::Read | Kind::Count | Kind::Write | Kind::End | Kind::BuildInfo | Kind::Other => {}
        }
        text::write(command, first, known, &mut self.text);
        if !matches!(kind, Kind::Read | Kind::Count | Kind::Write) {
            return (pending_reply, Content::Statement { text: &self.text });
        }
        pending_reply.statement = self.statement(kind);
        let content = Content::Run {
            statement: pending_reply.statement,
            text: &self.text,
            fetch_rows: first_batch(kind, fields),
            sets: u32::try_from(fields.sets.max(1)).unwrap_or(u32::MAX),
            values: values(command.body, kind, &mut self.values),
        };
        (pending_reply, content)
    }

    /// The first one introduces the client. Further ones watch the server, under a name.
    fn hello<'a>(&'a mut self, command: &Command<'_>) -> (Phase, Content<'a>) {
        let field = |document: &'_ [u8], name: &[u8]| {
            let found = elements(document).find(|element| element.name == name);
            found.map(|element| element.value.to_vec())
        };
        let awaits = field(command.body, b"topologyVersion").is_some();
        if std::mem::replace(&mut self.is_introduced, true) || awaits {
            let name = if awaits { AWAITABLE } else { HEARTBEAT };
            return (Phase::Work, Content::Command { name, number: None });
        }
        let Some(driver) = field(command.body, b"client").and_then(|client| field(&client, b"driver")) else {
            return (Phase::Login, Content::Other);
        };
        for name in [&b"name"[..], b"version"] {
            let text = elements(&driver).find(|element| element.name == name);
            if let Some(text) = text.and_then(|text| text.text()) {
                self.text
                    .extend_from_slice(if self.text.is_empty() { b"" } else { b" " });
                self.text.extend_from_slice(text);
            }
        }
        (Phase::Login, Content::Client { text: &self.text })
    }

    /// Numbers a read, as its result may be fetched.
    fn statement(&mut self, kind: Kind) -> Option<StatementId> {
        if kind != Kind::Read {
            return None;
        }
        let hash = self.statements.hasher().hash_one(&self.text);
        let next = StatementId(u32::try_from(self.statements.len()).ok()?);
        if self.statements.len() >= MAX_STATEMENTS {
            return self.statements.get(&hash).copied();
        }
        Some(*self.statements.entry(hash).or_insert(next))
    }

    pub(super) fn reply(
        &mut self,
        message: Whole<'_>,
        sink: &mut MessageSink<'_>,
    ) -> Result<(), HeaderFault> {
        let mut inflated = Vec::new();
        let opcode = message.header.opcode;
        opened(
            opcode,
            message.body,
            message.is_holed,
            message.walk,
            &mut inflated,
        );
        let goes_on = message.walk.flags() & MORE_TO_COME != 0;
        let (pending_reply, is_further) = self.answered(message.header.responds_to)?;
        let phase = pending_reply.map_or(Phase::Work, |reply| reply.phase);
        let is_hello = pending_reply.is_some_and(|reply| reply.kind == Kind::Hello);
        let role = match pending_reply {
            None if self.has_requests => Role::Notice,
            Some(_) if is_hello && is_further => Role::Notice,
            Some(_) if goes_on && !is_hello => Role::ReplyPart,
            Some(_) | None => Role::Reply,
        };
        self.streams = pending_reply.filter(|_| goes_on);
        let template = Message {
            stream: 0,
            protocol: Protocol::Mongodb,
            direction: Direction::ServerToClient,
            started: message.started,
            ended: message.ended,
            bytes: message.bytes,
            role,
            phase,
            content: Content::Other,
        };
        let Some((fields, reply)) = message.walk.fields().zip(pending_reply) else {
            sink(&template);
            return Ok(());
        };
        self.follow_cursor(fields, reply);
        emit_reply(fields, reply, template, sink);
        Ok(())
    }

    /// The request of a reply, and whether it had a reply before. `None` if it was not seen.
    fn answered(&mut self, responds_to: i32) -> Result<(Option<PendingReply>, bool), HeaderFault> {
        if let Some(stream) = self.streams.take() {
            return Ok((Some(stream), true));
        }
        match self.pending.front() {
            Some(front) if front.id == responds_to => Ok((self.pending.pop(), false)),
            Some(_) if self.pending.iter().any(|reply| reply.id == responds_to) => {
                Err(fault("the reply to the oldest request", "a reply to another one"))
            }
            // FerretDB answers writes that are not acknowledged.
            Some(_) | None => Ok((None, false)),
        }
    }

    /// Remembers the statement of an open result.
    fn follow_cursor(&mut self, fields: &Fields, reply: PendingReply) {
        let Some(cursor) = fields.cursor else { return };
        if let Some(fetched) = reply.cursor.filter(|_| cursor == 0) {
            self.cursors.remove(&fetched);
        }
        if let Some(statement) = reply
            .statement
            .filter(|_| cursor != 0 && self.cursors.len() < MAX_CURSORS)
        {
            self.cursors.insert(cursor, statement);
        }
    }

    pub(super) fn has_pending_reply(&self) -> bool {
        !self.pending.is_empty()
    }

    pub(super) fn clear_pending(&mut self) {
        self.pending.clear();
        self.streams = None;
        self.has_requests = false;
    }
}

fn emit_reply(fields: &Fields, reply: PendingReply, template: Message<'_>, sink: &mut MessageSink<'_>) {
    let digits;
    let code = match (fields.ok, fields.write_error) {
        (Some(false), _) if is_word(&fields.code_name) => Some(&fields.code_name[..]),
        (Some(false), _) => {
            digits = fields.code.unwrap_or(0).to_string();
            Some(digits.as_bytes())
        }
        (_, Some(code)) => {
            digits = code.to_string();
            Some(digits.as_bytes())
        }
        (_, None) => None,
    };
    let failed = code.map(|code| Content::Error { code, text: b"" });
    let open = reply.transaction == Some(TransactionState::Open);
    if let Some(content) = failed.filter(|_| open) {
        sink(&Message {
            stream: 0,
            role: Role::ReplyPart,
            bytes: 0,
            content,
            ..template
        });
    }
    let transaction = match failed {
        Some(_) if open => Some(TransactionState::Failed),
        Some(_) | None => reply.transaction,
    };
    let rows = match reply.kind {
        Kind::Read | Kind::Fetch => fields.rows,
        Kind::Write => fields.n,
        Kind::Count => Some(1),
        Kind::End | Kind::Hello | Kind::Login | Kind::Close | Kind::BuildInfo | Kind::Other => None,
    };
    let content = match (failed, reply.phase) {
        (Some(error), _) if !open => error,
        (None, _) if reply.kind == Kind::BuildInfo => Content::ServerVersion {
            text: &fields.version,
        },
        (_, Phase::Work) => Content::Done { rows, transaction },
        (_, Phase::Connect | Phase::Tls | Phase::Login | Phase::Close) => Content::Other,
    };
    sink(&Message { content, ..template });
}

fn is_word(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(u8::is_ascii_alphanumeric)
}

/// Documents of the first reply: 101 unless the client says otherwise, or wants fewer in all.
fn first_batch(kind: Kind, fields: &Fields) -> Option<u32> {
    let default = (kind == Kind::Read && fields.limit.is_none_or(|limit| limit == 0)).then_some(FIRST_BATCH);
    fields.batch_size.or(default)
}

/// Parameters of a read without its session. `None` for a write, and beyond [`MAX_VALUES`].
fn values<'a>(body: &[u8], kind: Kind, out: &'a mut Vec<u8>) -> Option<&'a [u8]> {
    let length = document_length(body).and_then(|length| usize::try_from(length).ok())?;
    if kind == Kind::Write || length > body.len() {
        return None;
    }
    for element in elements(body) {
        if ENVELOPE.contains(&element.name) {
            continue;
        }
        if out.len() + element.value.len() > MAX_VALUES {
            return None;
        }
        out.push(element.kind);
        out.extend_from_slice(element.name);
        out.push(0);
        out.extend_from_slice(element.value);
    }
    Some(out)
}

const AWAITABLE: &str = "awaitable hello";
const HEARTBEAT: &str = "heartbeat hello";

const ENVELOPE: [&[u8]; 6] = [
    b"lsid",
    b"$clusterTime",
    b"txnNumber",
    b"readConcern",
    b"comment",
    b"startTransaction",
];
const FIRST_BATCH: u32 = 101;
const MAX_VALUES: usize = 4096;
const MAX_PENDING: usize = 64 * 1024;
const MAX_STATEMENTS: usize = 4096;
const MAX_CURSORS: usize = 4096;
