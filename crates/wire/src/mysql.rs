//! MySQL and MariaDB client/server protocol.
//!
//! Bytes pass through up to three layers: [`blocks`] undoes the compressed protocol, [`lane`] joins frames to
//! messages without copying what nobody looks at, [`conversation`] knows which reply each command gets and what
//! of it is worth telling. Start reading at [`MysqlDecoder`], then [`conversation`].
//!
//! Sources: MySQL 8.4 source documentation, "Client/Server Protocol"; MariaDB Knowledge Base, "Client/Server
//! Protocol". Checked against MariaDB 10.11 with MariaDB Connector/J 3.4, MySQL Connector/J 9.1, PyMySQL,
//! mysql-connector-python, mysql2 and the MariaDB command line.
//!
//! Memory of one connection is bounded: per direction 64 KiB of statement text, one compressed block (under
//! 16 MiB, kept as it arrives) and 64 KiB of inflated bytes; 16,384 prepared statements; 65,536 owed replies.

mod blocks;
mod bulk;
mod capabilities;
mod conversation;
mod lane;
mod login;
mod reply;
mod request;
mod signature;
mod statements;
mod values;

use crate::decoder::{DecodeError, Decoder, Sink};
use crate::framing::Fault;
use blocks::Blocks;
use conversation::Conversation;
use lane::{Lane, Meter, Passage};
use model::{Content, Direction, Message, Phase, Role, Timestamp};
pub use signature::recognise;

/// Decodes one MySQL or MariaDB connection, from its greeting or from the middle.
///
/// Bytes of a message on a compressed connection are its share of the block's: after `n` of a block's `u`
/// uncompressed bytes, `floor(n * c / u)` of its `c` stream bytes (header included) are given to messages, so the
/// shares of one block sum to it exactly, also when a message spans blocks. A compressed block's messages are
/// handed out when the block is complete.
#[derive(Debug, Default)]
pub struct MysqlDecoder {
    conversation: Conversation,
    lanes: [Lane; 2],
    blocks: [Blocks; 2],
    /// Stream bytes taken, and those handed out with messages, per direction. `taken >= handed`.
    taken: [u64; 2],
    handed: [u64; 2],
}

impl MysqlDecoder {
    /// A decoder that has seen nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// The server's bytes so far are no greeting but the end of a reply whose beginning was not seen.
    fn hand_out_reply_end(&mut self, at: Timestamp, sink: &mut Sink<'_>) {
        let direction = Direction::ServerToClient;
        let bytes = self.pending(direction);
        if bytes == 0 {
            return;
        }
        let index = direction.index();
        let started = self.lanes[index].abandon().unwrap_or(at);
        self.handed[index] += bytes;
        sink(Message {
            direction,
            started,
            ended: at,
            bytes,
            role: Role::Opaque,
            phase: Phase::Work,
            content: Content::Other,
        });
    }

    /// Lets `bytes` through the layers until they are used up.
    fn advance(
        &mut self,
        at: Timestamp,
        direction: Direction,
        bytes: &[u8],
        sink: &mut Sink<'_>,
    ) -> Result<(), Fault> {
        let index = direction.index();
        let mut rest = bytes;
        while !rest.is_empty() && !self.conversation.tls_follows() {
            let lane = &mut self.lanes[index];
            let handed = &mut self.handed[index];
            let taken = if self.conversation.is_compressed() {
                let conversation = &mut self.conversation;
                self.blocks[index].step(at, rest, &mut |started, inner, meter| {
                    let passage = Passage {
                        direction,
                        started,
                        ended: at,
                    };
                    lane.drain(conversation, passage, inner, meter, handed, sink)
                })?
            } else {
                let passage = Passage {
                    direction,
                    started: at,
                    ended: at,
                };
                lane.step(
                    &mut self.conversation,
                    passage,
                    rest,
                    &mut Meter::plain(),
                    handed,
                    sink,
                )?
            };
            rest = rest.get(taken..).unwrap_or_default();
        }
        Ok(())
    }

    /// Counts `count` bytes. A client that speaks though no greeting was seen is in the middle of a connection.
    fn begin(&mut self, at: Timestamp, direction: Direction, count: u64, sink: &mut Sink<'_>) {
        if direction == Direction::ClientToServer && self.conversation.is_at_start() {
            self.hand_out_reply_end(at, sink);
        }
        let taken = &mut self.taken[direction.index()];
        *taken = taken.saturating_add(count);
    }

    /// Makes an error of a fault, unless it only shows that the observation began in the middle of a reply.
    fn end(
        &mut self,
        at: Timestamp,
        direction: Direction,
        result: Result<(), Fault>,
        sink: &mut Sink<'_>,
    ) -> Result<(), DecodeError> {
        match result {
            Err(_) if direction == Direction::ServerToClient && self.conversation.is_at_start() => {
                self.hand_out_reply_end(at, sink);
                Ok(())
            }
            Err(fault) => Err(self.error(direction, fault)),
            Ok(()) => Ok(()),
        }
    }

    fn error(&self, direction: Direction, fault: Fault) -> DecodeError {
        DecodeError {
            protocol: "mysql",
            direction: match direction {
                Direction::ClientToServer => "client-to-server",
                Direction::ServerToClient => "server-to-client",
            },
            offset: self.handed[direction.index()],
            expected: fault.expected,
            found: fault.found,
        }
    }
}

impl Decoder for MysqlDecoder {
    fn feed(
        &mut self,
        at: Timestamp,
        direction: Direction,
        bytes: &[u8],
        sink: &mut Sink<'_>,
    ) -> Result<(), DecodeError> {
        self.begin(at, direction, bytes.len() as u64, sink);
        let result = self.advance(at, direction, bytes, sink);
        self.end(at, direction, result, sink)
    }

    fn skip(
        &mut self,
        at: Timestamp,
        direction: Direction,
        count: u64,
        sink: &mut Sink<'_>,
    ) -> Result<(), DecodeError> {
        let index = direction.index();
        self.begin(at, direction, count, sink);
        let passage = Passage {
            direction,
            started: at,
            ended: at,
        };
        let mut plain = Meter::plain();
        let meter = if self.conversation.is_compressed() {
            self.blocks[index].skip(count)
        } else {
            Ok(&mut plain)
        };
        let result = meter.and_then(|meter| {
            self.lanes[index].skip(
                &mut self.conversation,
                passage,
                count,
                meter,
                &mut self.handed[index],
                sink,
            )
        });
        self.end(at, direction, result, sink)
    }

    fn pending(&self, direction: Direction) -> u64 {
        let index = direction.index();
        self.taken[index].saturating_sub(self.handed[index])
    }

    fn tls_follows(&self) -> bool {
        self.conversation.tls_follows()
    }
}

fn fault(expected: &'static str, found: impl Into<String>) -> Fault {
    Fault {
        expected,
        found: found.into(),
    }
}

fn wrong_byte(expected: &'static str, found: Option<u8>) -> Fault {
    fault(
        expected,
        found.map_or_else(|| "nothing".to_owned(), |byte| format!("{byte:#04x}")),
    )
}
