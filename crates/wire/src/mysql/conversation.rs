//! What client and server say to each other: which reply each command gets, and how far it has progressed.

use super::bulk::SetCounter;
use super::capabilities::{COMPRESS, COMPRESS_ZSTD, Capabilities};
use super::lane::{Interest, MessageStart, Unit};
use super::statements::Statements;
use decoding::decoder::MessageSink;
use decoding::framing::HeaderFault;
use decoding::pending_replies::PendingReplies;
use model::{Content, Direction, Message, Phase, Protocol, Role, StatementId};

/// How far a connection has progressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum ConversationPhase {
    /// Nothing was seen: a greeting follows, or the observation began in the middle.
    #[default]
    Start,
    /// The server has greeted.
    Greeted,
    /// The client has answered the greeting.
    Login,
    /// Logged in, as far as can be determined.
    Work,
}

/// The reply that is owed for a request.
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
    /// To `COM_STMT_PREPARE`.
    Preparation(StatementId),
    /// To `COM_STMT_FETCH`: rows, and their end.
    Rows,
    /// To `COM_FIELD_LIST`: definitions, and their end.
    Definitions,
    /// To `COM_BINLOG_DUMP`: events without end.
    Events,
}

/// How far the oldest owed reply has progressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Progress {
    /// The first message of a result (or of the reply) comes next.
    #[default]
    Start,
    /// This many column definitions of a result come next.
    Columns(u64),
    /// The end of the column definitions, or the first row, comes next.
    AfterColumns,
    /// Rows come next, or their end.
    Rows,
    /// Of a preparation: this many parameter definitions come next, and later this many column definitions.
    ParameterDefinitions(u16, u16),
    /// Of a preparation: the end of the parameter definitions comes next if there is one.
    AfterParameters(u16),
    /// Of a preparation: this many column definitions come next.
    ColumnDefinitions(u16),
    /// Of a preparation: the end of all definitions comes next.
    AfterDefinitions,
}

/// What a reply shows about a prepared statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shown {
    pub(super) statement: StatementId,
    /// The server's number for it and its parameters, where it was prepared in sight.
    pub(super) prepared: Option<(u32, u16)>,
    pub(super) columns: u16,
}

/// State of one connection above its frames.
#[derive(Debug)]
pub(super) struct Conversation {
    pub(super) stage: ConversationPhase,
    /// What the server offers, then what both agreed on.
    pub(super) capabilities: Capabilities,
    pub(super) statements: Statements,
    /// The client's software, until it is emitted with the message that named it.
    pub(super) introduced: Option<Vec<u8>>,
    /// A statement whose preparation was not seen, and the server's number for it, until the command that
    /// uses it is emitted.
    pub(super) unseen: Option<(StatementId, u32)>,
    /// What a reply shows about a prepared statement, until the message that shows it is emitted.
    pub(super) shown: Option<Shown>,
    /// The execution whose reply shows how many columns its results have.
    pub(super) inspected: Option<StatementId>,
    pub(super) pending: PendingReplies<PendingReply, MAX_OWED>,
    /// More replies were expected than are remembered: beyond those in `owed` they cannot be distinguished.
    pub(super) too_many_owed: bool,
    pub(super) progress: Progress,
    /// Rows of the current result.
    pub(super) rows: u64,
    /// The client sends the content of a file.
    pub(super) sends_file: bool,
    /// Whether definitions end without an EOF of their own (`CLIENT_DEPRECATE_EOF`). `None` until it shows,
    /// on a connection whose login was not seen.
    pub(super) omits_eof: Option<bool>,
    /// Sequence number an EOF would have that still belongs to the preparation just answered.
    pub(super) late_eof: Option<u8>,
    pub(super) sets: SetCounter,
    /// Per direction: the next message was assumed to be a beginning, which has to be checked.
    pub(super) resumes: [bool; 2],
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
            too_many_owed: false,
            progress: Progress::default(),
            rows: 0,
            sends_file: false,
            omits_eof: None,
            late_eof: None,
            sets: SetCounter::default(),
            resumes: [false; 2],
            has_tls: false,
            has_compression: false,
        }
    }
}

impl Conversation {
    /// The observation began in the middle of a connection that compresses.
    pub fn joins_compressed(&mut self) {
        self.stage = ConversationPhase::Work;
        self.capabilities = Capabilities::ALL;
        self.has_compression = true;
    }

    /// Whether neither a greeting nor a command was seen yet.
    pub fn is_at_start(&self) -> bool {
        self.stage == ConversationPhase::Start
    }

    /// Whether login has succeeded, as far as can be determined.
    pub fn is_logged_in(&self) -> bool {
        self.stage == ConversationPhase::Work
    }

    /// Whether the server owes a reply.
    pub fn has_pending_reply(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Bytes of `direction` were not captured, and with them the place. A login that they were part of has
    /// succeeded, as far as can be determined; one more request is owed a reply when the client's were lost.
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

    /// The reply that begins behind lost bytes is not one to requests that are answered otherwise.
    pub(super) fn skip_answered_otherwise(&mut self, unit: &Unit<'_>) {
        while let Some(pending) = self.pending.front() {
            let fits = match (pending, unit.opening.first) {
                (_, Some(0xff)) => true,
                (PendingReply::Preparation(_), first) => first == Some(0x00) && unit.length >= PREPARED,
                (PendingReply::Single, first) => matches!(first, Some(0x00 | 0xfe)),
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

    /// What the server still sends for the requests so far cannot be distinguished.
    pub fn lose_replies(&mut self) {
        while !self.pending.is_empty() {
            self.lose_reply();
        }
        self.too_many_owed = false;
        self.progress = Progress::Start;
        self.late_eof = None;
        self.rows = 0;
    }

    /// Whether the client is still sending a file cannot be determined.
    pub const fn lose_file(&mut self) {
        self.sends_file = false;
    }

    /// The next message of `direction` begins a request or a reply, if the place is what it seems to be.
    pub const fn resume(&mut self, direction: Direction) {
        self.resumes[direction.index()] = true;
    }

    /// Whether the bytes that follow are in blocks of the compressed protocol.
    pub const fn is_compressed(&self) -> bool {
        self.has_compression
    }

    /// Whether the client has requested TLS: its next byte belongs to that.
    pub const fn tls_follows(&self) -> bool {
        self.has_tls
    }

    /// What follows was inside TLS: the client's introduction again, this time whole.
    pub const fn go_on_inside(&mut self) {
        self.has_tls = false;
    }

    /// How much of the message that begins here has to be seen. Called exactly once for each message.
    pub fn interest(&mut self, direction: Direction, opening: MessageStart) -> Interest {
        match direction {
            Direction::ClientToServer => self.request_interest(opening),
            Direction::ServerToClient => self.reply_interest(opening),
        }
    }

    /// Bytes of a body that [`Interest::watch`] was requested.
    pub fn watch(&mut self, bytes: &[u8]) {
        self.sets.feed(bytes, &self.statements);
    }

    /// Bytes of a watched body were not seen.
    pub fn lost_sight(&mut self) {
        self.sets.desync();
    }

    /// Takes a complete message and emits exactly one.
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

    /// Remembers that the server owes a reply.
    pub(super) fn owe(&mut self, pending: PendingReply) {
        if !self.too_many_owed {
            self.too_many_owed = self.pending.push(pending).is_err();
        }
    }

    /// The oldest owed reply is complete.
    pub(super) fn resolve_reply(&mut self) {
        self.pending.pop();
        self.progress = Progress::Start;
        self.rows = 0;
    }
}

/// What a message plays and says.
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

    /// The message made of `unit` that plays this part.
    pub const fn message(self, direction: Direction, unit: &Unit<'_>) -> Message<'a> {
        Message {
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

/// Bytes of the answer to a preparation, at least.
const PREPARED: u64 = 9;
/// Replies that may be owed at once; a pipelined batch of statements owes one for each.
const MAX_OWED: usize = 65_536;
