//! Informix SQLI (onsoctcp), as spoken by IBM's JDBC driver and others.
//!
//! There is no published specification; `docs/protocols/informix.md` lists the known facts and
//! their certainty. After a login packet each way, both sides send codes of two bytes, each with
//! its fields. A group of codes ends with [`messages::EOT`]. Only a message's code shows its length.
//!
//! - A client's group is one request, a server's group its reply: the protocol is strictly half
//!   duplex.
//! - After an unknown code or value, the message lasts until the other side speaks. Round trips are
//!   still exact.
//! - The server numbers prepared statements in its `DESCRIBE`; an unassigned number 0 means the
//!   last one.
//! - Opening a cursor executes its statement; each fetch requests a buffer of rows
//!   (`FET_BUF_SIZE`).
//! - Login, environment and opening a database are login. Only the version, the client's program
//!   and settings with harmless names are reported.
//!
//! Start reading at [`InformixDecoder`], then `client` and `server`. `scan` finds the ends of
//! messages by `shape`.

mod client;
mod login;
pub mod messages;
mod opening;
mod scan;
mod server;
mod shape;
mod statements;

use crate::decoding::decoder::{DecodeError, Decoder, MessageSink};
use crate::decoding::framing::Input;
use crate::protocols::ProtocolRow;
use model::{Content, Direction, Message, PerDirection, Phase, Protocol, Role, Timestamp, TransactionState};
use scan::Scan;
use shape::Features;
use statements::Statements;

pub const ROW: ProtocolRow = ProtocolRow {
    burst: opening::burst,
    ..ProtocolRow::new(
        Protocol::Informix,
        |openings, direction| opening::opens(direction, openings[direction]),
        |_| Box::new(InformixDecoder::new()),
    )
};

/// Decodes one SQLI connection, from the start or from the middle.
///
/// Holds [`MAXIMUM_TEXT`] of an unfinished statement per direction, 4 KiB of any other message, and
/// 8192 numbers of statements.
#[derive(Debug)]
pub struct InformixDecoder {
    halves: PerDirection<HalfConnection>,
    session: Session,
    speaker: Option<Direction>,
    has_cut: bool,
}

#[derive(Debug)]
struct HalfConnection {
    direction: Direction,
    scan: Scan,
    kept: Vec<u8>,
    /// Bytes of it were not seen, so the following ones are not kept.
    holed: bool,
    started: Timestamp,
    last: Timestamp,
    taken: u64,
}

#[derive(Debug, Default)]
struct Session {
    features: Features,
    statements: Statements,
    group: Group,
    pending: u32,
    asked: bool,
    answering: bool,
    rows: u64,
    transaction: Option<TransactionState>,
    program: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Group {
    phase: Option<Phase>,
    selected: Option<u16>,
    commands: bool,
    runs: bool,
    /// The group has ended: the client's next message begins another.
    complete: bool,
}

impl InformixDecoder {
    pub fn new() -> Self {
        Self {
            halves: PerDirection::from_fn(HalfConnection::new),
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

    fn limit(&self) -> usize {
        match (self.direction, self.scan.code()) {
            (Direction::ClientToServer, Some(messages::COMMAND | messages::PREPARE)) => MAXIMUM_TEXT,
            (Direction::ServerToClient, Some(messages::TUPLE)) => 0,
            (_, Some(_) | None) => MAXIMUM_KEPT,
        }
    }

    fn message<'a>(&self, role: Role, phase: Phase, content: Content<'a>) -> Message<'a> {
        Message {
            stream: 0,
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
        let half = &mut self.halves[direction];
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
        self.halves[direction].taken
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
    fn turn(&mut self, direction: Direction, sink: &mut MessageSink<'_>) {
        self.cut(direction.reverse(), sink);
        if direction == Direction::ClientToServer && std::mem::take(&mut self.session.answering) {
            self.session.pending = self.session.pending.saturating_sub(1);
            let half = &self.halves[direction.reverse()];
            sink(&half.message(Role::Reply, self.session.phase(), Content::Other));
        }
    }

    fn cut(&mut self, direction: Direction, sink: &mut MessageSink<'_>) {
        let half = &mut self.halves[direction];
        if half.taken > 0 {
            self.has_cut = true;
            self.session.cut(half, sink);
            half.ended();
        }
    }
}

impl Session {
    fn message(&mut self, half: &HalfConnection, kept: &[u8], sink: &mut MessageSink<'_>) {
        let code = half.scan.code().unwrap_or_default();
        let body = kept.get(2..).unwrap_or_default();
        match half.direction {
            Direction::ClientToServer => self.client(half, code, body, sink),
            Direction::ServerToClient => self.server(half, code, body, sink),
        }
    }

    fn cut(&mut self, half: &HalfConnection, sink: &mut MessageSink<'_>) {
        match half.direction {
            Direction::ClientToServer => self.client_cut(half, sink),
            Direction::ServerToClient => {
                let role = self.answered();
                sink(&half.message(role, self.phase(), Content::Other));
            }
        }
    }

    fn phase(&self) -> Phase {
        self.group.phase.unwrap_or(Phase::Work)
    }
}

pub const MAXIMUM_TEXT: usize = 64 * 1024;
const MAXIMUM_KEPT: usize = 4096;
