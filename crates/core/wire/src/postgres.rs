//! PostgreSQL frontend/backend protocol 3.0 and 3.2, and relatives (KingbaseES, openGauss,
//! CockroachDB).
//!
//! Source: PostgreSQL manual, chapter "Frontend/Backend Protocol". A message is a tag byte, a
//! 32-bit length that counts itself, and a body; the client's first messages have no tag. Largest
//! message: [`MAXIMUM_MESSAGE`].
//!
//! - `Query`, `Sync`, `FunctionCall` complete a request; `ReadyForQuery` completes its reply.
//! - `Flush` completes a request too. The last reply to the messages before it is a pause of the
//!   same exchange, or the exchange's end if the client has continued without waiting.
//! - Each leg of authentication is an exchange; everything after `AuthenticationOk` belongs to the
//!   last.
//! - After an error the server answers nothing before the next `Sync`.
//!
//! Start reading at [`PostgresDecoder`], then `client` and `server`, each one match over the
//! messages.

mod checks;
mod client;
mod codes;
mod columns;
pub mod messages;
mod opening;
mod prepared;
mod reply_queue;
mod rows;
mod server;
mod shape;
mod startup;

pub use messages::MAXIMUM_MESSAGE;
pub use rows::{text_results, text_rows};

use crate::decoding::decoder::{DecodeError, Decoder, MessageSink};
use crate::decoding::framing::{Frame, Framer, Input};
use crate::decoding::resume::{Resumption, find};
use crate::protocols::ProtocolRow;
use columns::Columns;
use model::{Content, Direction, Message, Phase, Protocol, Role};
use prepared::Prepared;
use reply_queue::ReplyQueue;
use shape::Shapes;

pub const ROW: ProtocolRow = ProtocolRow {
    burst: opening::burst,
    ..ProtocolRow::new(Protocol::Postgres, opening::detect, |_| {
        Box::new(PostgresDecoder::new())
    })
};

/// Decodes one PostgreSQL connection, from the start or from the middle.
///
/// Holds at most 64 KiB of an unfinished message per direction, 64 Ki one-byte notes of pending
/// replies, 8192 names of statements and 1024 of portals of up to 256 bytes each.
#[derive(Debug)]
pub struct PostgresDecoder {
    client: Framer,
    server: Framer,
    session: Session,
}

#[derive(Debug)]
struct Session {
    phase: Phase,
    shapes: Shapes,
    pending: ReplyQueue,
    prepared: Prepared,
    columns: Columns,
    copy: Copying,
    /// After an error the server answers nothing until the client's next `Sync`.
    skipping: bool,
    doubt: bool,
    tls_follows: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Copying {
    /// No, or only from the server, which needs no state.
    No,
    In {
        /// Begun by an `Execute`: then a `Sync` must follow.
        extended: bool,
    },
    /// Both sides send freely (replication).
    Both,
}

impl PostgresDecoder {
    pub fn new() -> Self {
        Self {
            client: Framer::new(NAME, Direction::ClientToServer),
            server: Framer::new(NAME, Direction::ServerToClient),
            session: Session {
                phase: Phase::Work,
                shapes: Shapes::default(),
                pending: ReplyQueue::default(),
                prepared: Prepared::default(),
                columns: Columns::default(),
                copy: Copying::No,
                skipping: false,
                doubt: false,
                tls_follows: false,
            },
        }
    }
}

impl Default for PostgresDecoder {
    fn default() -> Self {
        Self::new()
    }
}

impl Decoder for PostgresDecoder {
    fn process_input(
        &mut self,
        direction: Direction,
        mut input: Input<'_>,
        sink: &mut MessageSink<'_>,
    ) -> Result<(), DecodeError> {
        let session = &mut self.session;
        let framer = match direction {
            Direction::ClientToServer => &mut self.client,
            Direction::ServerToClient => &mut self.server,
        };
        while !session.tls_follows {
            let first = input.bytes().first().copied();
            session.shapes.row_bytes = session.columns.bytes_of_row();
            let shapes = &session.shapes;
            match direction {
                Direction::ClientToServer if first == Some(CLIENT_HELLO) && session.awaits_tls(framer) => {
                    session.tls_follows = true;
                }
                Direction::ClientToServer => {
                    if !input.is_empty()
                        && let Err(fault) = session.pending.check()
                    {
                        return Err(framer.fault(fault.into()));
                    }
                    let header = shapes.client_header(first);
                    let Some(frame) = framer.next(&mut input, header, |header| shapes.client(header))? else {
                        break;
                    };
                    session.client(&frame, sink);
                }
                Direction::ServerToClient => {
                    let header = shapes.server_header(first);
                    let Some(frame) = framer.next(&mut input, header, |header| shapes.server(header))? else {
                        break;
                    };
                    session.server(&frame, sink);
                }
            }
        }
        Ok(())
    }

    fn pending(&self, direction: Direction) -> u64 {
        match direction {
            Direction::ClientToServer => self.client.pending(),
            Direction::ServerToClient => self.server.pending(),
        }
    }

    fn tls_follows(&self) -> bool {
        self.session.tls_follows
    }

    fn go_on_inside(&mut self) -> Option<Box<dyn Decoder + Send>> {
        Some(Box::new(Self::new()))
    }

    fn restart(&mut self, direction: Direction) -> bool {
        if self.session.shapes.is_compressed() {
            return false;
        }
        match direction {
            Direction::ClientToServer => self.client.restart(),
            Direction::ServerToClient => self.server.restart(),
        }
        true
    }

    fn find(&self, direction: Direction, bytes: &[u8], whole: bool) -> Resumption {
        find(bytes, whole, |bytes, _| shape::at(direction, bytes))
    }

    fn desync(&mut self, _: Direction) {
        self.session.doubt = true;
    }

    fn has_pending_reply(&self) -> bool {
        self.session.pending.has_request() && self.session.copy == Copying::No
    }

    fn clear_pending(&mut self) {
        self.session.pending = ReplyQueue::default();
        self.session.columns = Columns::default();
        self.session.copy = Copying::No;
        self.session.skipping = false;
        self.session.shapes.negotiating = false;
    }
}

impl Session {
    /// Whether the client may switch to TLS: it has requested TLS and sent no start-up. The answer
    /// may be lost or late.
    fn awaits_tls(&self, client: &Framer) -> bool {
        self.shapes.encryption_asked && !self.shapes.started && client.pending() == 0
    }
}

fn message<'a>(
    frame: &Frame<'a>,
    direction: Direction,
    role: Role,
    phase: Phase,
    content: Content<'a>,
) -> Message<'a> {
    Message {
        stream: 0,
        protocol: Protocol::Postgres,
        direction,
        started: frame.started,
        ended: frame.ended,
        bytes: frame.bytes,
        role,
        phase,
        content,
    }
}

const NAME: &str = "postgres";

/// First byte of a TLS ClientHello; no message of this protocol has this tag.
const CLIENT_HELLO: u8 = 22;
