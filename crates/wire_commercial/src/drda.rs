//! DRDA: Db2, Derby, and Informix's drsoctcp.
//!
//! Source: The Open Group, "DRDA, Version 5, Volume 1" and "Volume 3: Distributed Data Management
//! Architecture"; checked against Derby 10.16. Bytes travel in data stream structures (DSS: a length, a magic
//! byte, a format, a correlation number), each with one or more objects (a length and a code point), of which
//! each is a message here.
//!
//! How messages become exchanges:
//! 1. Structures that are chained are one request, or one reply: a batch of a thousand rows is one exchange.
//! 2. A reply's objects belong to the command that has their correlation number.
//! 3. A prepared statement is known by its package and section.
//! 4. Opening a query executes its statement; each `CNTQRY` asks for another block.
//! 5. Rows are counted by the query's description, where that is one longwire can read; otherwise they are
//!    absent.
//! 6. Of the login, only the release levels and the client's program are reported.
//!
//! Start reading at [`DrdaDecoder`], then `client` and `server`. `lane` finds where objects end.

mod client;
mod codepoint;
mod ebcdic;
mod lane;
mod opening;
mod rows;
mod sections;
mod server;
mod signature;
mod values;

pub use opening::opens;
pub use signature::recognise;

use decoding::decoder::{DecodeError, Decoder, MessageSink};
use decoding::framing::{HeaderFault, Input};
use decoding::pending_replies::PendingReplies;
use decoding::resume::{Resumption, find};
use lane::{HalfConnection, Object};
use model::{Content, Direction, Message, Phase, Protocol, Role, StatementId};
use sections::Sections;
use values::Encoding;

/// Decodes one DRDA connection, from its beginning or from the middle.
///
/// Memory: [`MAXIMUM_TEXT`] of an unfinished statement per direction, 8192 names of sections of 64 bytes,
/// notes of 64 Ki commands, and the columns of 64 open queries.
#[derive(Debug)]
pub struct DrdaDecoder {
    halves: [HalfConnection; 2],
    session: Session,
}

/// What is known of the conversation, apart from unfinished objects.
#[derive(Debug, Default)]
struct Session {
    sections: Sections,
    /// How each side writes numbers and texts.
    encodings: [Encoding; 2],
    /// The command whose data follows.
    command: Command,
    /// An execution that is not reported yet.
    execution: Option<Execution>,
    /// Commands of the chains that are not answered, oldest first.
    pending_reply: PendingReplies<PendingReply, MAXIMUM_DUE>,
    /// Chains that are not answered.
    pending: u32,
    /// Bytes of the client were lost since it last had to wait.
    lost_request: bool,
    phase: Option<Phase>,
    /// A text that is assembled to be reported.
    text: String,
}

/// A command of the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Command {
    what: What,
    section: Option<u32>,
}

/// What a command is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum What {
    /// Anything not listed.
    #[default]
    Other,
    /// A statement is prepared.
    Prepare,
    /// A statement runs by its text.
    Immediate,
    /// A prepared statement runs, or a query is opened or goes on.
    Run,
}

/// An execution whose values may follow.
#[derive(Debug, Clone, Copy)]
struct Execution {
    statement: Option<StatementId>,
    fetch_rows: Option<u32>,
    fetch_bytes: Option<u32>,
    sets: u32,
}

/// A command that is to be answered.
#[derive(Debug, Clone, Copy)]
struct PendingReply {
    correlation: u16,
    command: Command,
    is_login: bool,
}

impl DrdaDecoder {
    /// A decoder for a connection of which nothing was seen yet.
    pub fn new() -> Self {
        Self {
            halves: [Direction::ClientToServer, Direction::ServerToClient].map(HalfConnection::new),
            session: Session::default(),
        }
    }
}

impl Default for DrdaDecoder {
    fn default() -> Self {
        Self::new()
    }
}

impl Decoder for DrdaDecoder {
    fn process_input(
        &mut self,
        direction: Direction,
        mut input: Input<'_>,
        sink: &mut MessageSink<'_>,
    ) -> Result<(), DecodeError> {
        let half = &mut self.halves[direction.index()];
        let session = &mut self.session;
        while !input.is_empty() {
            let rows = &mut |object: &Object, bytes: Option<&[u8]>| session.rows(object, bytes);
            if !half.advance(&mut input, rows)? {
                continue;
            }
            match direction {
                Direction::ClientToServer => {
                    if let Err(fault) = session.pending_reply.check() {
                        let HeaderFault { expected, found } = fault.into();
                        return Err(half.error(expected, found));
                    }
                    session.client(half, sink);
                }
                Direction::ServerToClient => session.server(half, sink),
            }
            half.ended();
        }
        Ok(())
    }

    fn pending(&self, direction: Direction) -> u64 {
        self.halves[direction.index()].pending()
    }

    fn restart(&mut self, direction: Direction) -> bool {
        self.halves[direction.index()].restart();
        true
    }

    fn find(&self, _: Direction, bytes: &[u8], whole: bool) -> Option<Resumption> {
        Some(find(bytes, whole, |bytes, _| lane::shape(bytes)))
    }

    fn has_pending_reply(&self) -> bool {
        self.session.pending > 0
    }

    fn desync(&mut self, direction: Direction) {
        self.session.lost_request |= direction == Direction::ClientToServer;
    }

    fn clear_pending(&mut self) {
        self.session.lost_request = false;
        self.session.pending_reply.clear();
        self.session.pending = 0;
    }
}

/// The message that `lane` has just completed.
fn message<'a>(half: &HalfConnection, role: Role, phase: Phase, content: Content<'a>) -> Message<'a> {
    Message {
        protocol: Protocol::Drda,
        direction: half.direction,
        started: half.started,
        ended: half.last,
        bytes: half.taken,
        role,
        phase,
        content,
    }
}

/// Bytes of a statement that are inspected.
pub const MAXIMUM_TEXT: usize = 64 * 1024;
/// Notes of commands that are to be answered.
const MAXIMUM_DUE: usize = 64 * 1024;
