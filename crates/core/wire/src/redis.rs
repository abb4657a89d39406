//! Redis protocol, RESP2 and RESP3, and relatives (Valkey, KeyDB, Dragonfly).
//!
//! Source: "Redis serialization protocol specification" of redis.io, checked against Redis 7.0.
//! Requests are arrays of strings or single lines; replies are values of any type. Only the first
//! [`MAXIMUM_KEPT`] bytes of a value are inspected, the rest is counted.
//!
//! - Each request has one reply, in the order of the requests, however many are in flight.
//! - `SUBSCRIBE` and relatives have a confirmation per channel; together they are the reply.
//! - Published messages, pushes and the lines of `MONITOR` are unrequested notices.
//! - After `CLIENT REPLY OFF` and `SKIP`, requests are one way.
//! - `HELLO` and `AUTH` are login, reported without content; `QUIT` is the farewell. Secrets in
//!   other commands are `***`.
//! - Everything after the answer to `PSYNC` is opaque.
//!
//! Start reading at [`RedisDecoder`], then `command` and `reply`. `scan` finds the end of values.

mod command;
mod commands;
mod opening;
mod reply;
mod reply_queue;
mod request;
pub mod resp;
mod scan;
mod signature;
mod subcommands;
mod value;

pub use request::{PING, write_command};

use crate::decoding::decoder::{DecodeError, Decoder, MessageSink};
use crate::decoding::fault::fault;
use crate::decoding::framing::{HeaderFault, Input};
use crate::decoding::resume::Resumption;
use crate::protocols::ProtocolRow;
use command::Kind;
use model::{Content, Direction, Message, PerDirection, Phase, Protocol, Role, Timestamp};
use reply::Unasked;
use reply_queue::{PendingReply, ReplyQueue};
use scan::Scan;

pub const ROW: ProtocolRow =
    ProtocolRow::new(
        Protocol::Redis,
        opening::detect,
        |_| Box::new(RedisDecoder::new()),
    );

/// Decodes one Redis connection, from the start or from the middle.
///
/// Holds [`MAXIMUM_KEPT`] of an unfinished value per direction, a text of 3 KiB, and notes of
/// pending replies: one note for any number of equal requests.
#[derive(Debug)]
pub struct RedisDecoder {
    halves: PerDirection<HalfConnection>,
    session: Session,
}

#[derive(Debug)]
struct HalfConnection {
    scan: Scan,
    kept: Vec<u8>,
    started: Timestamp,
    taken: u64,
    offset: u64,
}

#[derive(Debug, Default)]
struct Session {
    pending: ReplyQueue,
    replies: Replies,
    unasked: Unasked,
    text: Vec<u8>,
    replicates: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Replies {
    #[default]
    On,
    Off,
    Skip,
}

impl RedisDecoder {
    pub fn new() -> Self {
        Self {
            halves: PerDirection::from_fn(HalfConnection::new),
            session: Session::default(),
        }
    }
}

impl Default for RedisDecoder {
    fn default() -> Self {
        Self::new()
    }
}

impl HalfConnection {
    fn new(direction: Direction) -> Self {
        Self {
            scan: Scan::new(direction == Direction::ClientToServer),
            kept: Vec::new(),
            started: Timestamp::default(),
            taken: 0,
            offset: 0,
        }
    }

    fn keep(&mut self, part: &[u8]) {
        let room = MAXIMUM_KEPT.saturating_sub(self.kept.len());
        self.kept.extend_from_slice(part.get(..room).unwrap_or(part));
    }

    fn message<'a>(
        &self,
        direction: Direction,
        ended: Timestamp,
        (role, phase, content): (Role, Phase, Content<'a>),
    ) -> Message<'a> {
        Message {
            stream: 0,
            protocol: Protocol::Redis,
            direction,
            started: self.started,
            ended,
            bytes: self.taken,
            role,
            phase,
            content,
        }
    }

    fn ended(&mut self) {
        self.offset += std::mem::take(&mut self.taken);
        self.kept.clear();
    }

    fn error(&self, direction: Direction, fault: HeaderFault) -> DecodeError {
        DecodeError {
            protocol: "redis",
            direction: match direction {
                Direction::ClientToServer => "client-to-server",
                Direction::ServerToClient => "server-to-client",
            },
            offset: self.offset,
            expected: fault.expected,
            found: fault.found,
        }
    }
}

impl Session {
    fn request(&mut self, kept: &[u8]) -> Result<(Role, Phase, Content<'_>), HeaderFault> {
        let kind = command::parse_command(kept, &mut self.text);
        let pending_reply = match kind {
            Kind::Empty => return Ok((Role::OneWay, Phase::Work, Content::Other)),
            Kind::Plain | Kind::RepliesOn | Kind::RepliesOff | Kind::RepliesSkip => {
                PendingReply::Value { phase: Phase::Work }
            }
            Kind::Login => PendingReply::Value { phase: Phase::Login },
            Kind::Hello => PendingReply::Introduction { phase: Phase::Login },
            Kind::Info => PendingReply::Introduction { phase: Phase::Work },
            Kind::Quit => PendingReply::Value { phase: Phase::Close },
            Kind::Subscribe { channels } => PendingReply::Confirmations { left: channels },
            Kind::UnsubscribeAll { what } => PendingReply::ConfirmationsOfAll { what },
            Kind::Monitor => PendingReply::Monitor,
            Kind::Reset => PendingReply::Reset,
            Kind::Replicate => PendingReply::Replication,
        };
        let phase = reply::phase(Some(pending_reply));
        let role = if self.is_answered(kind) {
            self.pending.push(pending_reply)?;
            Role::Request
        } else {
            Role::OneWay
        };
        let content = if phase == Phase::Login {
            Content::Other
        } else {
            Content::Statement { text: &self.text }
        };
        Ok((role, phase, content))
    }

    fn is_answered(&mut self, kind: Kind) -> bool {
        let (is_answered, next) = match (kind, self.replies) {
            (Kind::RepliesOn | Kind::Reset, _) => (true, Replies::On),
            (Kind::RepliesOff, _) | (_, Replies::Off) => (false, Replies::Off),
            (Kind::RepliesSkip, _) => (false, Replies::Skip),
            (_, Replies::Skip) => (false, Replies::On),
            (_, Replies::On) => (true, Replies::On),
        };
        self.replies = next;
        is_answered
    }
}

impl Decoder for RedisDecoder {
    fn process_input(
        &mut self,
        direction: Direction,
        mut input: Input<'_>,
        sink: &mut MessageSink<'_>,
    ) -> Result<(), DecodeError> {
        let half = &mut self.halves[direction];
        while !input.is_empty() {
            if self.session.replicates {
                let expected = "requests and replies";
                return Err(half.error(direction, fault(expected, "a stream of replication")));
            }
            if half.taken == 0 {
                half.started = input.at();
            }
            let (before, length) = (input.bytes(), input.length());
            let ended = half
                .scan
                .advance(&mut input)
                .map_err(|fault| half.error(direction, fault))?;
            let seen = before.len() - input.bytes().len();
            half.taken += length - input.length();
            let part = before.get(..seen).unwrap_or_default();
            if !ended {
                half.keep(part);
                continue;
            }
            if !half.kept.is_empty() {
                half.keep(part);
            }
            let kept = if half.kept.is_empty() { part } else { &half.kept };
            let kept = kept.get(..MAXIMUM_KEPT).unwrap_or(kept);
            let said = match direction {
                Direction::ClientToServer => self
                    .session
                    .request(kept)
                    .map_err(|fault| half.error(direction, fault))?,
                Direction::ServerToClient => self.session.reply(kept),
            };
            sink(&half.message(direction, input.at(), said));
            half.ended();
        }
        Ok(())
    }

    fn pending(&self, direction: Direction) -> u64 {
        self.halves[direction].taken
    }

    fn find(&self, direction: Direction, bytes: &[u8], _: bool) -> Resumption {
        signature::recognise(direction, bytes).into()
    }

    fn restart(&mut self, direction: Direction) -> bool {
        if self.session.replicates {
            return false;
        }
        let half = &mut self.halves[direction];
        let offset = half.offset;
        *half = HalfConnection {
            offset,
            ..HalfConnection::new(direction)
        };
        true
    }

    fn clear_pending(&mut self) {
        self.session.pending.clear();
        self.session.replies = Replies::On;
    }
}

pub const MAXIMUM_KEPT: usize = 4096;
