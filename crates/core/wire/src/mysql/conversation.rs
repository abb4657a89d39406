//! State of the conversation: the reply to each command, and its progress.

use super::bulk::SetCounter;
use super::capabilities::{COMPRESS, COMPRESS_ZSTD, Capabilities};
use super::messages::reply::{EOF, ERR, OK};
use super::statements::Statements;
use super::unit::{Interest, MessageStart, Unit};
use crate::decoding::decoder::MessageSink;
use crate::decoding::framing::HeaderFault;
use model::{Content, Direction, Message, PendingReplies, PerDirection, Phase, Protocol, Role, StatementId};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum ConversationPhase {
    #[default]
    Start,
    Greeted,
    Login,
    Work,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PendingReply {
    /// To a leg of authentication: success, failure, or a demand for another leg.
    Login,
    /// One message (`COM_PING`, `COM_INIT_DB`, ...).
    Single,
    /// One message of text (`COM_STATISTICS`).
    Text,
    /// To a statement that runs: OK, LOCAL INFILE, or results, or several of these.
    Results,
    Preparation(StatementId),
    /// Rows and their end, to `COM_STMT_FETCH`.
    Rows,
    /// Definitions and their end, to `COM_FIELD_LIST`.
    Definitions,
    /// Endless events, to `COM_BINLOG_DUMP`.
    Events,
}

/// Progress of the oldest pending reply: the message that comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Progress {
    #[default]
    Start,
    Columns(u64),
    /// End of the column definitions, or the first row.
    AfterColumns,
    Rows,
    /// Remaining parameter definitions of a preparation, then this many column definitions.
    ParameterDefinitions(u16, u16),
    /// The end of a preparation's parameter definitions, if there is one.
    AfterParameters(u16),
    ColumnDefinitions(u16),
    AfterDefinitions,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shown {
    pub(super) statement: StatementId,
    /// The server's number and parameter count, if preparation was observed.
    pub(super) prepared: Option<(u32, u16)>,
    pub(super) columns: u16,
}

#[derive(Debug)]
pub(super) struct Conversation {
    pub(super) stage: ConversationPhase,
    pub(super) capabilities: Capabilities,
    pub(super) statements: Statements,
    pub(super) introduced: Option<Vec<u8>>,
    /// A statement with unseen preparation, and the server's number for it, until the command that
    /// uses it is emitted.
    pub(super) unseen: Option<(StatementId, u32)>,
    pub(super) shown: Option<Shown>,
    pub(super) inspected: Option<StatementId>,
    pub(super) pending: PendingReplies<PendingReply, MAX_OWED>,
    /// More replies were expected than are stored: beyond those in `pending` they cannot be
    /// distinguished.
    pub(super) has_too_many_pending: bool,
    pub(super) progress: Progress,
    pub(super) rows: u64,
    pub(super) sends_file: bool,
    /// Whether definitions end without an EOF (`CLIENT_DEPRECATE_EOF`). `None` until known, on a
    /// connection with unseen login.
    pub(super) omits_eof: Option<bool>,
    /// Sequence number of an EOF that would still belong to the preparation just answered.
    pub(super) late_eof: Option<u8>,
    pub(super) sets: SetCounter,
    /// Whether the next message of a direction was assumed to be a beginning and must be checked.
    pub(super) resumes: PerDirection<bool>,
    pub(super) has_tls: bool,
    pub(super) has_compression: bool,
}

impl Default for Conversation {
    fn default() -> Self {
        Self {
            stage: ConversationPhase::default(),
            capabilities: Capabilities::NONE,
            statements: Statements::default(),
            introduced: None,
            unseen: None,
            shown: None,
            inspected: None,
            pending: PendingReplies::default(),
            has_too_many_pending: false,
            progress: Progress::default(),
            rows: 0,
            sends_file: false,
            omits_eof: None,
            late_eof: None,
            sets: SetCounter::default(),
            resumes: PerDirection::splat(false),
            has_tls: false,
            has_compression: false,
        }
    }
}

impl Conversation {
    pub fn joins_compressed(&mut self) {
        self.stage = ConversationPhase::Work;
        self.capabilities = Capabilities::ALL;
        self.has_compression = true;
    }

    pub fn is_at_start(&self) -> bool {
        self.stage == ConversationPhase::Start
    }

    pub fn is_logged_in(&self) -> bool {
        self.stage == ConversationPhase::Work
    }

    pub fn has_pending_reply(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Uncaptured bytes of `direction` lose the position. A login that they were part of is assumed
    /// to have succeeded. If the client's bytes were lost, one more reply is pending.
    pub fn desync(&mut self, direction: Direction) {
        let was_login = !self.is_logged_in();
        self.stage = ConversationPhase::Work;
        self.progress = Progress::Start;
        self.late_eof = None;
        self.rows = 0;
        match direction {
            Direction::ClientToServer => {
                if was_login {
                    self.capabilities = Capabilities::ALL;
                }
                self.sends_file = false;
                self.owe(PendingReply::Results);
            }
            Direction::ServerToClient if was_login => {
                self.has_compression = self.capabilities.has(COMPRESS | COMPRESS_ZSTD);
                self.pending.clear();
            }
            Direction::ServerToClient => {}
        }
    }

    pub(super) fn skip_answered_otherwise(&mut self, unit: &Unit<'_>) {
        while let Some(pending) = self.pending.front() {
            let fits = match (pending, unit.opening.first) {
                (_, Some(ERR)) => true,
                (PendingReply::Preparation(_), first) => first == Some(OK) && unit.length >= PREPARED,
                (PendingReply::Single, first) => matches!(first, Some(OK | EOF)),
                (
                    PendingReply::Login
                    | PendingReply::Text
                    | PendingReply::Results
                    | PendingReply::Rows
                    | PendingReply::Definitions
                    | PendingReply::Events,
                    _,
                ) => true,
            };
            if fits || self.pending.len() == 1 {
                break;
            }
            self.lose_reply();
        }
    }

    fn lose_reply(&mut self) {
        if let Some(PendingReply::Preparation(statement)) = self.pending.pop() {
            self.statements.unanswered(statement);
        }
    }

    pub fn lose_replies(&mut self) {
        while !self.pending.is_empty() {
            self.lose_reply();
        }
        self.has_too_many_pending = false;
        self.progress = Progress::Start;
        self.late_eof = None;
        self.rows = 0;
    }

    pub const fn lose_file(&mut self) {
        self.sends_file = false;
    }

    /// The next message of `direction` begins a request or a reply, if the position is right.
    pub fn resume(&mut self, direction: Direction) {
        self.resumes[direction] = true;
    }

    pub const fn is_compressed(&self) -> bool {
        self.has_compression
    }

    pub const fn tls_follows(&self) -> bool {
        self.has_tls
    }

    /// Inside TLS the client repeats its introduction, this time whole.
    pub const fn go_on_inside(&mut self) {
        self.has_tls = false;
    }

    /// Wanted part of the message that begins here. Called exactly once per message.
    pub fn interest(&mut self, direction: Direction, opening: MessageStart) -> Interest {
        match direction {
            Direction::ClientToServer => self.request_interest(opening),
            Direction::ServerToClient => self.reply_interest(opening),
        }
    }

    pub fn watch(&mut self, bytes: &[u8]) {
        self.sets.feed(bytes, &self.statements);
    }

    pub fn lost_sight(&mut self) {
        self.sets.desync();
    }

    pub fn message(
        &mut self,
        direction: Direction,
        unit: Unit<'_>,
        sink: &mut MessageSink<'_>,
    ) -> Result<(), HeaderFault> {
        match direction {
            Direction::ClientToServer => self.request(unit, sink),
            Direction::ServerToClient => self.reply(unit, sink),
        }
    }

    pub(super) fn owe(&mut self, pending: PendingReply) {
        if !self.has_too_many_pending {
            self.has_too_many_pending = self.pending.push(pending).is_err();
        }
    }

    pub(super) fn resolve_reply(&mut self) {
        self.pending.pop();
        self.progress = Progress::Start;
        self.rows = 0;
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Part<'a> {
    pub role: Role,
    pub phase: Phase,
    pub content: Content<'a>,
}

impl<'a> Part<'a> {
    pub const fn new(role: Role, phase: Phase, content: Content<'a>) -> Self {
        Self { role, phase, content }
    }

    pub const fn message(self, direction: Direction, unit: &Unit<'_>) -> Message<'a> {
        Message {
            stream: 0,
            protocol: Protocol::Mysql,
            direction,
            started: unit.started,
            ended: unit.ended,
            bytes: unit.bytes,
            role: self.role,
            phase: self.phase,
            content: self.content,
        }
    }
}

const PREPARED: u64 = 9;
/// A pipelined batch of statements has one pending reply per statement.
const MAX_OWED: usize = 65_536;
