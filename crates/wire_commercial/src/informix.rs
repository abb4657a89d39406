//! Informix SQLI (onsoctcp), as IBM's JDBC driver and others speak it.
//!
//! There is no published specification; what is known and how surely is in `docs/protocols/informix.md`.
//! After a login packet each way, both sides send codes of two bytes with fields of their own, and a group of
//! them ends with [`shape::EOT`]. Only a message's code shows how long it is.
//!
//! How messages become exchanges:
//! 1. A client's group is one request, a server's group its reply: the protocol is strictly half duplex.
//! 2. Where a code or a value is unknown, its message lasts until the other side speaks. Round trips are
//!    still exact.
//! 3. The server numbers prepared statements in its `DESCRIBE`; number 0, where it never gave that, means the
//!    last one.
//! 4. Opening a cursor executes its statement; each fetch asks for a buffer full of rows (`FET_BUF_SIZE`).
//! 5. Login, environment and opening a database are login. Of their texts only the version, the client's
//!    program and settings with harmless names are reported.
//!
//! Start reading at [`InformixDecoder`], then `client` and `server`. `scan` finds where messages end, by
//! `shape`.

mod client;
mod login;
mod opening;
mod scan;
mod server;
mod shape;
mod signature;
mod statements;

pub use opening::{burst, opens};
pub use signature::recognise;

use decoding::decoder::{DecodeError, Decoder, MessageSink};
use decoding::framing::Input;
use model::{Content, Direction, Message, Phase, Protocol, Role, Timestamp, TransactionState};
use scan::Scan;
use shape::Features;
use statements::Statements;

/// Decodes one SQLI connection, from its beginning or from the middle.
///
/// Memory: [`MAXIMUM_TEXT`] of an unfinished statement per direction, 4 KiB of any other message, and 8192
/// numbers of statements.
#[derive(Debug)]
pub struct InformixDecoder {
    halves: [HalfConnection; 2],
    session: Session,
    /// Who spoke last.
    speaker: Option<Direction>,
    /// A message ended where the other side spoke.
    has_cut: bool,
}

/// One direction.
#[derive(Debug)]
struct HalfConnection {
    direction: Direction,
    scan: Scan,
    /// First bytes of a message that spans calls.
    kept: Vec<u8>,
    /// Bytes of it were not seen: nothing behind them is kept.
    holed: bool,
    started: Timestamp,
    last: Timestamp,
    /// Bytes of the message that have passed.
    taken: u64,
}

/// What is known of the conversation, apart from unfinished messages.
#[derive(Debug, Default)]
struct Session {
    features: Features,
    statements: Statements,
    group: Group,
    /// Groups of the client that the server has not answered.
    pending: u32,
    /// Whether a client's message was seen.
    asked: bool,
    /// The server has begun an answer that did not end.
    answering: bool,
    /// Rows of the answer in progress.
    rows: u64,
    transaction: Option<TransactionState>,
    /// The client's program, as it is reported.
    program: String,
}

/// What the client's group in progress, or the one that is being answered, is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Group {
    phase: Option<Phase>,
    /// The statement that was named by its number last.
    selected: Option<u16>,
    /// A statement runs by its text.
    commands: bool,
    /// A statement runs, or its rows are fetched.
    runs: bool,
    /// It has ended: the client's next message is of another.
    complete: bool,
}

impl InformixDecoder {
    /// A decoder for a connection of which nothing was seen yet.
    pub fn new() -> Self {
        Self {
            halves: [Direction::ClientToServer, Direction::ServerToClient].map(HalfConnection::new),
            session: Session::default(),
            speaker: None,
            has_cut: false,
        }
    }
}

impl Default for InformixDecoder {
    fn default() -> Self {
        Self::new()
    }
}

impl HalfConnection {
    fn new(direction: Direction) -> Self {
        Self {
            direction,
            scan: Scan::new(direction),
            kept: Vec::new(),
            holed: false,
            started: Timestamp::default(),
            last: Timestamp::default(),
            taken: 0,
        }
    }

    fn keep(&mut self, part: &[u8], unseen: bool) {
        if !self.holed {
            let room = self.limit().saturating_sub(self.kept.len());
            self.kept.extend_from_slice(part.get(..room).unwrap_or(part));
        }
        self.holed |= unseen;
    }

    /// How much of the message is inspected.
    fn limit(&self) -> usize {
        match (self.direction, self.scan.code()) {
            (Direction::ClientToServer, Some(shape::COMMAND | shape::PREPARE)) => MAXIMUM_TEXT,
            (Direction::ServerToClient, Some(shape::TUPLE)) => 0,
            (_, Some(_) | None) => MAXIMUM_KEPT,
        }
    }

    fn message<'a>(&self, role: Role, phase: Phase, content: Content<'a>) -> Message<'a> {
        Message {
            protocol: Protocol::Informix,
            direction: self.direction,
            started: self.started,
            ended: self.last,
            bytes: self.taken,
            role,
            phase,
            content,
        }
    }

    fn ended(&mut self) {
        self.taken = 0;
        self.holed = false;
        self.kept.clear();
        self.kept.shrink_to(MAXIMUM_KEPT);
        self.scan.ended();
    }
}

impl Decoder for InformixDecoder {
    fn process_input(
        &mut self,
        direction: Direction,
        mut input: Input<'_>,
        sink: &mut MessageSink<'_>,
    ) -> Result<(), DecodeError> {
        if input.is_empty() {
            return Ok(());
        }
        if self.speaker.replace(direction) != Some(direction) {
            self.turn(direction, sink);
        }
        let half = &mut self.halves[direction.index()];
        while !input.is_empty() {
            if half.taken == 0 {
                half.started = input.at();
            }
            half.last = input.at();
            let (before, length) = (input.bytes(), input.length());
            let ended = half.scan.advance(&mut input, self.session.features);
            let taken = length - input.length();
            let part = before
                .get(..before.len() - input.bytes().len())
                .unwrap_or_default();
            let whole = ended && half.taken == 0 && part.len() as u64 == taken;
            half.taken += taken;
            if !whole {
                half.keep(part, part.len() as u64 != taken);
            }
            if !ended {
                continue;
            }
            let kept = if whole { part } else { &half.kept };
            self.session.message(half, kept, sink);
            half.ended();
        }
        Ok(())
    }

    fn pending(&self, direction: Direction) -> u64 {
        self.halves[direction.index()].taken
    }

    fn has_doubts(&self) -> bool {
        self.has_cut
    }

    fn finish(&mut self, sink: &mut MessageSink<'_>) {
        for direction in [Direction::ClientToServer, Direction::ServerToClient] {
            self.cut(direction, sink);
        }
    }
}

impl InformixDecoder {
    /// `direction` begins to speak: what the other one said is over.
    fn turn(&mut self, direction: Direction, sink: &mut MessageSink<'_>) {
        self.cut(direction.reverse(), sink);
        if direction == Direction::ClientToServer && std::mem::take(&mut self.session.answering) {
            self.session.pending = self.session.pending.saturating_sub(1);
            let half = &self.halves[direction.reverse().index()];
            sink(half.message(Role::Reply, self.session.phase(), Content::Other));
        }
    }

    /// Ends a message of `direction` where it is.
    fn cut(&mut self, direction: Direction, sink: &mut MessageSink<'_>) {
        let half = &mut self.halves[direction.index()];
        if half.taken > 0 {
            self.has_cut = true;
            self.session.cut(half, sink);
            half.ended();
        }
    }
}

impl Session {
    /// One whole message of which `kept` is inspected.
    fn message(&mut self, half: &HalfConnection, kept: &[u8], sink: &mut MessageSink<'_>) {
        let code = half.scan.code().unwrap_or_default();
        let body = kept.get(2..).unwrap_or_default();
        match half.direction {
            Direction::ClientToServer => self.client(half, code, body, sink),
            Direction::ServerToClient => self.server(half, code, body, sink),
        }
    }

    /// One that ends where the other side speaks.
    fn cut(&mut self, half: &HalfConnection, sink: &mut MessageSink<'_>) {
        match half.direction {
            Direction::ClientToServer => self.client_cut(half, sink),
            Direction::ServerToClient => {
                let role = self.answered();
                sink(half.message(role, self.phase(), Content::Other));
            }
        }
    }

    fn phase(&self) -> Phase {
        self.group.phase.unwrap_or(Phase::Work)
    }
}

/// Bytes of a message with a statement that are inspected.
pub const MAXIMUM_TEXT: usize = 64 * 1024;
/// Bytes of any other that are inspected.
const MAXIMUM_KEPT: usize = 4096;
