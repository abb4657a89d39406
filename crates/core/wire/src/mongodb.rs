//! MongoDB's wire protocol, and relatives (DocumentDB, FerretDB).
//!
//! Sources are the manual ("MongoDB Wire Protocol") and the drivers' specifications. A message is a
//! header of four 32-bit numbers and a body, mostly `OP_MSG` with BSON documents.
//!
//! - Each request has one reply with its number (`responseTo`), in the order of the requests.
//! - With `moreToCome` a request has no reply, and a reply is followed by another one.
//! - The first `hello` is login, like `saslStart`, without content. Further ones watch the server,
//!   and further replies to one are notices.
//! - A statement is the command, its collection, and the names in its filter, without values.
//!
//! Start reading at [`MongodbDecoder`], then `session`. `walk` reads messages while they pass.

mod bson;
mod commands;
mod compression;
mod contents;
mod fields;
mod half;
mod header;
mod opening;
mod request;
mod session;
mod text;
mod walk;

pub use request::{PING, write_command};

use crate::decoding::decoder::{DecodeError, Decoder, MessageSink};
use crate::decoding::framing::{HeaderFault, Input};
use crate::decoding::resume::{Resumption, find};
use crate::protocols::ProtocolRow;
use half::HalfConnection;
use model::{Direction, PerDirection, Protocol};
use session::Session;

pub const ROW: ProtocolRow = ProtocolRow::new(Protocol::Mongodb, opening::detect, |_| {
    Box::new(MongodbDecoder::default())
});

/// Decodes one MongoDB connection, from the start or from the middle.
///
/// Holds 64 KiB of an unfinished message per direction (of a compressed one 1 MiB, and 4 MiB of its
/// content), 4096 open cursors, 4096 statements of 16 bytes, and notes of pending replies.
#[derive(Debug, Default)]
pub struct MongodbDecoder {
    halves: PerDirection<HalfConnection>,
    session: Session,
}

impl Decoder for MongodbDecoder {
    fn process_input(
        &mut self,
        direction: Direction,
        mut input: Input<'_>,
        sink: &mut MessageSink<'_>,
    ) -> Result<(), DecodeError> {
        let half = &mut self.halves[direction];
        while !input.is_empty() {
            let offset = half.next_offset();
            match half.next(&mut input) {
                Ok(None) => return Ok(()),
                Ok(Some(message)) => match direction {
                    Direction::ClientToServer => self.session.request(message, sink),
                    Direction::ServerToClient => self.session.reply(message, sink),
                }
                .map_err(|fault| error(direction, offset, fault))?,
                Err(fault) => return Err(error(direction, offset, fault)),
            }
        }
        Ok(())
    }

    fn pending(&self, direction: Direction) -> u64 {
        self.halves[direction].pending()
    }

    fn restart(&mut self, direction: Direction) -> bool {
        self.halves[direction].end();
        true
    }

    fn find(&self, direction: Direction, bytes: &[u8], whole: bool) -> Resumption {
        find(bytes, whole, |bytes, _| opening::shape(direction, bytes))
    }

    fn has_pending_reply(&self) -> bool {
        self.session.has_pending_reply()
    }

    fn clear_pending(&mut self) {
        self.session.clear_pending();
    }
}

fn error(direction: Direction, offset: u64, fault: HeaderFault) -> DecodeError {
    DecodeError {
        protocol: "mongodb",
        direction: match direction {
            Direction::ClientToServer => "client-to-server",
            Direction::ServerToClient => "server-to-client",
        },
        offset,
        expected: fault.expected,
        found: fault.found,
    }
}
