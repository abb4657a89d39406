//! DRDA, the protocol of Db2, Derby, and Informix's drsoctcp.
//!
//! Source: The Open Group, "DRDA, Version 5, Volume 1" and "Volume 3: Distributed Data Management
//! Architecture"; checked against Derby 10.16. Bytes travel in data stream structures (DSS: length,
//! magic byte, format, correlation number). Each holds objects (length, code point); an object is a
//! message here.
//!
//! - Chained structures are one request, or one reply: a batch of a thousand rows is one exchange.
//! - A reply's objects belong to the command with their correlation number.
//! - A prepared statement is identified by package and section.
//! - Opening a query executes its statement; each `CNTQRY` requests another block.
//! - Rows are counted if the query's description is supported.
//! - Of the login, only the release levels and the client's program are reported.
//!
//! Start reading at [`DrdaDecoder`], then `client` and `server`. `lane` finds the ends of objects.

mod client;
mod codepoint;
mod ebcdic;
mod lane;
mod opening;
mod rows;
mod sections;
mod server;
mod values;

pub use codepoint::name as code_point_name;

use crate::decoding::decoder::{DecodeError, Decoder, MessageSink};
use crate::decoding::framing::{HeaderFault, Input};
use crate::decoding::resume::{Resumption, find};
use crate::protocols::ProtocolRow;
use lane::{HalfConnection, Object};
use model::{Content, Direction, Message, PendingReplies, PerDirection, Phase, Protocol, Role, StatementId};
use sections::Sections;
use values::Encoding;

pub const ROW: ProtocolRow = ProtocolRow::new(
    Protocol::Drda,
    |openings, direction| opening::opens(direction, openings[direction]),
    |_| Box::new(DrdaDecoder::new()),
);

/// Decodes one DRDA connection, from the start or from the middle.
///
/// Holds [`MAXIMUM_TEXT`] of an unfinished statement per direction, 8192 names of sections of 64
/// bytes, notes of 65,536 commands, and the columns of 64 open queries.
#[derive(Debug)]
pub struct DrdaDecoder {
    halves: PerDirection<HalfConnection>,
    session: Session,
}

#[derive(Debug, Default)]
struct Session {
    sections: Sections,
    encodings: PerDirection<Encoding>,
    command: Command,
    execution: Option<Execution>,
    pending_reply: PendingReplies<PendingReply, MAXIMUM_DUE>,
    pending: u32,
    /// Bytes of the client were lost since it last had to wait.
    lost_request: bool,
    phase: Option<Phase>,
    text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Command {
    what: What,
    section: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum What {
    #[default]
    Other,
    Prepare,
    Immediate,
    /// A prepared statement runs, or a query is opened or continued.
    Run,
}

#[derive(Debug, Clone, Copy)]
struct Execution {
    statement: Option<StatementId>,
    fetch_rows: Option<u32>,
    fetch_bytes: Option<u32>,
    sets: u32,
}

#[derive(Debug, Clone, Copy)]
struct PendingReply {
    correlation: u16,
    command: Command,
    is_login: bool,
}

impl DrdaDecoder {
    pub fn new() -> Self {
        Self {
            halves: PerDirection::from_fn(HalfConnection::new),
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
        let half = &mut self.halves[direction];
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
        self.halves[direction].pending()
    }

    fn restart(&mut self, direction: Direction) -> bool {
        self.halves[direction].restart();
        true
    }

    fn find(&self, _: Direction, bytes: &[u8], whole: bool) -> Resumption {
        find(bytes, whole, |bytes, _| lane::shape(bytes))
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

fn message<'a>(half: &HalfConnection, role: Role, phase: Phase, content: Content<'a>) -> Message<'a> {
    Message {
        stream: 0,
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

pub const MAXIMUM_TEXT: usize = 64 * 1024;
const MAXIMUM_DUE: usize = 64 * 1024;
