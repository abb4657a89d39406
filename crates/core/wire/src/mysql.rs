//! MySQL and MariaDB client/server protocol.
//!
//! Three layers: `blocks` decompresses, `lane` joins frames to messages, copying only inspected
//! parts, and `conversation` knows the reply to each command. Start reading at [`MysqlDecoder`],
//! then `conversation`.
//!
//! Sources: MySQL 8.4 source documentation, "Client/Server Protocol"; MariaDB Knowledge Base,
//! "Client/Server Protocol". Checked against MariaDB 10.11 with MariaDB Connector/J 3.4, MySQL
//! Connector/J 9.1, PyMySQL, mysql-connector-python, mysql2 and the MariaDB command line, and
//! against go-mysql-server.
//!
//! Memory of a connection: per direction 64 KiB of statement text, one compressed block (under 16
//! MiB) and 64 KiB of inflated bytes; 16,384 prepared statements; 65,536 pending replies.

mod attributes;
mod blocks;
mod bulk;
mod capabilities;
mod conversation;
mod endings;
mod lane;
mod login;
pub mod messages;
mod opening;
mod preparation;
mod reply;
mod request;
mod resume;
mod rows;
mod statements;
mod unit;
mod values;

use crate::decoding::decoder::{DecodeError, Decoder, MessageSink};
use crate::decoding::fault::fault;
use crate::decoding::framing::{HeaderFault, Input};
use crate::decoding::resume::Resumption;
use crate::protocols::ProtocolRow;
use blocks::Blocks;
use conversation::Conversation;
use lane::{HalfConnection, Meter};
use model::{Content, Direction, Message, PerDirection, Phase, Protocol, Role, Timestamp};
pub use rows::{text_results, text_rows};
use unit::Arrival;

pub const ROW: ProtocolRow = ProtocolRow::new(
    Protocol::Mysql,
    |openings, direction| opening::opens(direction, openings[direction]),
    |openings| Box::new(MysqlDecoder::from_openings(openings)),
);

/// Decodes one MySQL or MariaDB connection, from the greeting or from the middle.
///
/// On a compressed connection a message counts a share of the block's bytes: after `n` of a block's
/// `u` uncompressed bytes, `floor(n * c / u)` of the block's `c` stream bytes (header included)
/// belong to messages. So the shares of a block sum to it exactly, also when a message spans
/// blocks. Messages of a compressed block are emitted when the block is complete.
///
/// If observation begins in the middle of a reply, messages are opaque until the change of sides
/// shows a new beginning: the server's next byte after a whole command, or the client's next byte
/// after the server has spoken. After uncaptured bytes the sequence numbers show a beginning:
/// `resume`.
#[derive(Debug, Default)]
pub struct MysqlDecoder {
    conversation: Conversation,
    halves: PerDirection<HalfConnection>,
    blocks: PerDirection<Blocks>,
    /// Stream bytes taken and emitted, per direction. `taken >= handed`.
    taken: PerDirection<u64>,
    handed: PerDirection<u64>,
    passed: PerDirection<Timestamp>,
    place: PerDirection<Synchronisation>,
    has_lost: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Synchronisation {
    #[default]
    Known,
    Lost,
    /// Lost, but the other side has spoken: the next byte is a beginning.
    Resumable,
    /// Resumed after this many emitted bytes. Until more are emitted, that may have been too early.
    Resumed(u64),
}

impl MysqlDecoder {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn from_openings(openings: PerDirection<&[u8]>) -> Self {
        let mut decoder = Self::default();
        if opening::is_compressed(openings) {
            decoder.conversation.joins_compressed();
        }
        decoder
    }

    fn advance(
        &mut self,
        at: Timestamp,
        direction: Direction,
        bytes: &[u8],
        sink: &mut MessageSink<'_>,
    ) -> Result<(), HeaderFault> {
        let mut rest = bytes;
        while !rest.is_empty() && !self.conversation.tls_follows() {
            let half = &mut self.halves[direction];
            let handed = &mut self.handed[direction];
            let taken = if self.conversation.is_compressed() {
                let conversation = &mut self.conversation;
                self.blocks[direction].step(at, rest, &mut |started, inner, meter| {
                    let arrival = Arrival {
                        direction,
                        started,
                        ended: at,
                    };
                    half.drain(conversation, arrival, inner, meter, handed, sink)
                })?
            } else {
                let arrival = Arrival {
                    direction,
                    started: at,
                    ended: at,
                };
                half.step(
                    &mut self.conversation,
                    arrival,
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

    fn begin(&mut self, at: Timestamp, direction: Direction, count: u64, sink: &mut MessageSink<'_>) -> bool {
        let other = direction.reverse();
        if direction == Direction::ClientToServer
            && self.conversation.is_at_start()
            && self.pending(Direction::ServerToClient) > 0
        {
            // The server sent no greeting but the end of a reply that began before the capture.
            self.desync_direction(Direction::ServerToClient, sink);
        }
        self.taken[direction] = self.taken[direction].saturating_add(count);
        self.passed[direction] = at;
        if direction == Direction::ServerToClient && self.place[other] == Synchronisation::Lost {
            self.place[other] = Synchronisation::Resumable;
        }
        if self.place[direction] == Synchronisation::Lost
            && direction == Direction::ServerToClient
            && self.conversation.has_pending_reply()
        {
            self.place[direction] = Synchronisation::Resumable;
        }
        if self.place[direction] == Synchronisation::Resumable {
            self.place[direction] = Synchronisation::Resumed(self.handed[direction]);
            self.conversation.resume(direction);
        }
        self.place[direction] != Synchronisation::Lost
    }

    fn pass_hole(
        &mut self,
        at: Timestamp,
        direction: Direction,
        count: u64,
        sink: &mut MessageSink<'_>,
    ) -> Result<(), HeaderFault> {
        let arrival = Arrival {
            direction,
            started: at,
            ended: at,
        };
        let mut plain = Meter::plain();
        let meter = if self.conversation.is_compressed() {
            self.blocks[direction].skip(count)
        } else {
            Ok(&mut plain)
        };
        meter.and_then(|meter| {
            self.halves[direction].skip(
                &mut self.conversation,
                arrival,
                count,
                meter,
                &mut self.handed[direction],
                sink,
            )
        })
    }

    /// Returns an error for a fault, unless only the position was lost.
    fn end(
        &mut self,
        direction: Direction,
        result: Result<(), HeaderFault>,
        has_hole: bool,
        sink: &mut MessageSink<'_>,
    ) -> Result<(), DecodeError> {
        let Err(fault) = result else {
            return Ok(());
        };
        let is_lost = if self.conversation.is_at_start() {
            direction == Direction::ServerToClient
        } else {
            self.conversation.is_logged_in()
                && self.place[direction] == Synchronisation::Resumed(self.handed[direction])
        };
        if is_lost && !has_hole {
            self.desync_direction(direction, sink);
            return Ok(());
        }
        Err(self.error(direction, fault))
    }

    /// Forgets the position in `direction`. Without the client's commands the server's replies
    /// cannot be distinguished.
    fn desync_direction(&mut self, direction: Direction, sink: &mut MessageSink<'_>) {
        self.has_lost = true;
        self.conversation.lose_replies();
        if direction == Direction::ClientToServer {
            self.conversation.lose_file();
            self.desync_direction(Direction::ServerToClient, sink);
        }
        self.place[direction] = Synchronisation::Lost;
        self.blocks[direction] = Blocks::default();
        let started = self.halves[direction].abandon();
        self.emit_opaque(direction, started, sink);
    }

    fn emit_opaque(&mut self, direction: Direction, started: Option<Timestamp>, sink: &mut MessageSink<'_>) {
        let bytes = self.pending(direction);
        if bytes == 0 {
            return;
        }
        self.handed[direction] += bytes;
        sink(&Message {
            stream: 0,
            protocol: Protocol::Unknown,
            direction,
            started: started.unwrap_or(self.passed[direction]),
            ended: self.passed[direction],
            bytes,
            role: Role::Opaque,
            phase: Phase::Work,
            content: Content::Other,
        });
    }

    fn error(&self, direction: Direction, fault: HeaderFault) -> DecodeError {
        DecodeError {
            protocol: "mysql",
            direction: match direction {
                Direction::ClientToServer => "client-to-server",
                Direction::ServerToClient => "server-to-client",
            },
            offset: self.handed[direction],
            expected: fault.expected,
            found: fault.found,
        }
    }
}

impl Decoder for MysqlDecoder {
    fn process_input(
        &mut self,
        direction: Direction,
        input: Input<'_>,
        sink: &mut MessageSink<'_>,
    ) -> Result<(), DecodeError> {
        if !self.begin(input.at(), direction, input.length(), sink) {
            self.emit_opaque(direction, None, sink);
            return Ok(());
        }
        let hole = input.unseen_count();
        let result = if hole == 0 {
            self.advance(input.at(), direction, input.bytes(), sink)
        } else {
            self.pass_hole(input.at(), direction, hole, sink)
        };
        self.end(direction, result, hole > 0, sink)
    }

    fn pending(&self, direction: Direction) -> u64 {
        self.taken[direction].saturating_sub(self.handed[direction])
    }

    fn tls_follows(&self) -> bool {
        self.conversation.tls_follows()
    }

    fn go_on_inside(&mut self) -> Option<Box<dyn Decoder + Send>> {
        let mut inside = std::mem::take(self);
        inside.conversation.go_on_inside();
        inside.taken = inside.handed;
        inside.halves.iter_mut().for_each(|half| {
            half.abandon();
        });
        Some(Box::new(inside))
    }

    fn find(&self, direction: Direction, bytes: &[u8], whole: bool) -> Resumption {
        if direction == Direction::ServerToClient && !self.conversation.has_pending_reply() {
            return Resumption::Nowhere;
        }
        if self.conversation.is_compressed() {
            resume::find_block(direction, bytes, whole)
        } else {
            resume::find_frame(direction, bytes, whole)
        }
    }

    fn restart(&mut self, direction: Direction) -> bool {
        self.handed[direction] = self.taken[direction];
        self.place[direction] = Synchronisation::Known;
        self.blocks[direction] = Blocks::default();
        self.halves[direction].abandon();
        self.conversation.resume(direction);
        true
    }

    fn desync(&mut self, direction: Direction) {
        if !self.conversation.is_at_start() {
            self.conversation.desync(direction);
        }
    }

    fn has_pending_reply(&self) -> bool {
        self.conversation.has_pending_reply()
    }

    fn clear_pending(&mut self) {
        self.conversation.lose_replies();
        self.conversation.lose_file();
    }

    fn has_doubts(&self) -> bool {
        self.has_lost
    }
}

fn wrong_byte(expected: &'static str, found: Option<u8>) -> HeaderFault {
    fault(
        expected,
        found.map_or_else(|| "nothing".to_owned(), |byte| format!("{byte:#04x}")),
    )
}
