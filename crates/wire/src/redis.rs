//! Redis's protocol, RESP2 and RESP3, and its relatives (Valkey, KeyDB, Dragonfly).
//!
//! Source: "Redis serialization protocol specification" of redis.io, checked against Redis 7.0. Requests are
//! arrays of strings or single lines; replies are values of any type. Only the first [`MAXIMUM_KEPT`] bytes
//! of a value are looked at, the rest is counted.
//!
//! How messages become exchanges:
//! 1. A request is owed one reply, in the order of the requests, however many are on their way.
//! 2. `SUBSCRIBE` and its relatives are owed a confirmation a channel; all of them are the reply.
//! 3. Published messages, pushes and the lines of `MONITOR` are notices: they were not requested.
//! 4. `CLIENT REPLY OFF` and `SKIP`: what is sent then is one way.
//! 5. `HELLO` and `AUTH` are login, and none of their content is reported; `QUIT` takes leave. Secrets in
//!    other commands are `***`.
//! 6. What follows the answer to `PSYNC` is a stream of another kind, and opaque.
//!
//! Start reading at [`RedisDecoder`], then `command` (what requests ask for) and `reply`. `scan` finds where
//! values end.

mod command;
mod opening;
mod reply;
mod reply_queue;
mod request;
mod scan;
mod signature;
mod subcommands;
mod value;

pub use opening::{answers, opens};
pub use request::{PING, write_command};
pub use signature::recognise;

use command::Kind;
use decoding::decoder::{DecodeError, Decoder, MessageSink};
use decoding::framing::{HeaderFault, Input};
use model::{Content, Direction, Message, Phase, Protocol, Role, Timestamp};
use reply::Unasked;
use reply_queue::{PendingReply, ReplyQueue};
use scan::Scan;

/// Decodes one Redis connection, from its beginning or from the middle.
///
/// Memory: [`MAXIMUM_KEPT`] of an unfinished value per direction, a text of 3 KiB, and notes of what is owed,
/// which are one for any number of equal requests.
#[derive(Debug)]
pub struct RedisDecoder {
    halves: [HalfConnection; 2],
    session: Session,
}

/// One direction.
#[derive(Debug)]
struct HalfConnection {
    scan: Scan,
    /// First bytes of a value that spans calls.
    kept: Vec<u8>,
    started: Timestamp,
    /// Bytes of the value taken in earlier calls.
    taken: u64,
    /// Stream offset of the value.
    offset: u64,
}

/// What is known of the conversation, apart from unfinished values.
#[derive(Debug, Default)]
struct Session {
    pending: ReplyQueue,
    replies: Replies,
    unasked: Unasked,
    /// The text of the last request.
    text: Vec<u8>,
    /// What the server sends is not made of replies any more.
    replicates: bool,
}

/// Whether requests are answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Replies {
    #[default]
    On,
    Off,
    /// Not the next one.
    Skip,
}

impl RedisDecoder {
    /// A decoder for a connection of which nothing was seen yet.
    pub fn new() -> Self {
        Self {
            halves: [Direction::ClientToServer, Direction::ServerToClient].map(HalfConnection::new),
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
    /// One whole request, of which the first bytes were kept.
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
        let half = &mut self.halves[direction.index()];
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
            sink(half.message(direction, input.at(), said));
            half.ended();
        }
        Ok(())
    }

    fn pending(&self, direction: Direction) -> u64 {
        self.halves[direction.index()].taken
    }

    fn restart(&mut self, direction: Direction) -> bool {
        if self.session.replicates {
            return false;
        }
        let half = &mut self.halves[direction.index()];
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

fn fault(expected: &'static str, found: &str) -> HeaderFault {
    HeaderFault {
        expected,
        found: found.to_owned(),
    }
}

/// First bytes of a value that are inspected.
pub const MAXIMUM_KEPT: usize = 4096;
