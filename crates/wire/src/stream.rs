//! One connection's payload to messages: finds the protocol, decodes it, and falls back to opaque.
//!
//! This is what a pipeline uses; it never fails. Whatever the bytes are, the `bytes` of the messages of a direction
//! sum to what was fed and skipped in it once [`Stream::finish`] was called.

mod detection;
mod search;

pub use detection::MAXIMUM_HELD;

use crate::decoder::{DecodeError, Decoder, Sink};
use crate::framing::Input;
use crate::protocols::Row;
use crate::tls::TlsDecoder;
use detection::{Held, choose};
use model::{Content, Decoding, Direction, Message, Phase, Protocol, Role, Timestamp};
use search::Search;

/// Turns the payload of one connection into messages.
///
/// Calling order: [`Stream::feed`] and [`Stream::skip`] in the order in which the bytes passed, [`Stream::finish`] once
/// and last. How the bytes are split into calls changes nothing, except into how many messages opaque bytes are cut.
///
/// A direction that cannot be decoded is opaque from the message that failed on. When it begins to speak again after
/// the other one, or goes on behind bytes nobody saw, and what it says looks like a message, it is decoded again.
///
/// Until the protocol is known, up to [`MAXIMUM_HELD`] bytes wait; their messages keep the times at which they passed.
pub struct Stream {
    server_port: u16,
    state: State,
    protocol: Protocol,
    encrypted: bool,
    /// Per direction: bytes fed or skipped, bytes handed out, when the first byte not handed out passed, and whether
    /// the direction is not decoded any more.
    given: [u64; 2],
    handed_out: [u64; 2],
    began: [Timestamp; 2],
    opaque: [bool; 2],
    /// Per direction: when something last passed.
    last: [Timestamp; 2],
    reason: Option<String>,
    /// Who spoke last.
    speaker: Option<Direction>,
    /// The protocol, while a lost direction may be found again.
    row: Option<&'static Row>,
    /// The search for a message, in the direction that is speaking and was lost.
    search: Option<Search>,
    /// Bytes were lost since the client last had to wait: the decoder may expect replies that were among them.
    doubt: bool,
    /// Whether this client sends requests before it has the replies to earlier ones.
    pipelines: bool,
}

enum State {
    Undecided(Held),
    Decoding(Box<dyn Decoder + Send>),
    Opaque,
}

impl std::fmt::Debug for Stream {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Stream")
            .field("protocol", &self.protocol)
            .field("encrypted", &self.encrypted)
            .field("given", &self.given)
            .field("handed_out", &self.handed_out)
            .field("reason", &self.reason)
            .finish_non_exhaustive()
    }
}

impl Stream {
    /// The beginning of a connection, or of what is seen of it, to a server that listens on `server_port`.
    pub fn new(server_port: u16) -> Self {
        Self {
            server_port,
            state: State::Undecided(Held::default()),
            protocol: Protocol::Unknown,
            encrypted: false,
            given: [0; 2],
            handed_out: [0; 2],
            began: [Timestamp::default(); 2],
            opaque: [false; 2],
            last: [Timestamp::default(); 2],
            reason: None,
            speaker: None,
            row: None,
            search: None,
            doubt: false,
            pipelines: false,
        }
    }

    /// Takes bytes that passed at `at`.
    pub fn feed(&mut self, at: Timestamp, direction: Direction, bytes: &[u8], sink: &mut Sink<'_>) {
        self.take(direction, Input::seen(at, bytes), sink);
    }

    /// `count` bytes passed at `at` that nobody can show.
    pub fn skip(&mut self, at: Timestamp, direction: Direction, count: u64, sink: &mut Sink<'_>) {
        self.take(direction, Input::unseen(at, count), sink);
    }

    /// The connection ended: hands out what is left. An unfinished message is handed out as opaque bytes.
    pub fn finish(&mut self, sink: &mut Sink<'_>) {
        if let State::Undecided(held) = &self.state {
            let chosen = choose(held.openings(), self.server_port, true);
            self.settle(chosen.flatten(), sink);
        }
        self.conclude_search(sink);
        if let State::Decoding(decoder) = &mut self.state {
            let (handed_out, opaque) = (&mut self.handed_out, self.opaque);
            decoder.finish(&mut |message| {
                if !opaque[message.direction.index()] {
                    count(handed_out, &message);
                    sink(message);
                }
            });
        }
        for direction in [Direction::ClientToServer, Direction::ServerToClient] {
            let (began, last) = (self.began[direction.index()], self.last[direction.index()]);
            self.hand_out_opaque(direction, began, last, sink);
        }
    }

    /// The protocol, as far as it is known now.
    pub fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// How far the connection is decoded, as known now.
    pub fn decoding(&self) -> Decoding {
        Decoding {
            protocol: self.protocol,
            encrypted: self.encrypted,
            opaque: self.reason.clone(),
        }
    }

    fn take(&mut self, direction: Direction, input: Input<'_>, sink: &mut Sink<'_>) {
        if input.is_empty() {
            return;
        }
        if self.speaker.replace(direction) != Some(direction) {
            self.turn(direction, input.at(), sink);
        }
        self.last[direction.index()] = input.at();
        match &mut self.state {
            State::Decoding(_) if !self.opaque[direction.index()] => self.decode(direction, input, sink),
            State::Decoding(_) if self.search.is_some() => self.search(direction, input, sink),
            State::Decoding(_) | State::Opaque => self.pass(direction, input, sink),
            State::Undecided(held) => {
                let chosen = held.look(direction, input, self.server_port);
                if let Some(row) = chosen {
                    self.settle(row, sink);
                    self.take(direction, input, sink);
                }
            }
        }
        if input.unseen_count() > 0 {
            self.seek(direction);
        }
    }

    /// Hands `input` out as it is.
    fn pass(&mut self, direction: Direction, input: Input<'_>, sink: &mut Sink<'_>) {
        let given = &mut self.given[direction.index()];
        *given = given.saturating_add(input.length());
        self.hand_out_opaque(direction, input.at(), input.at(), sink);
    }

    /// The protocol is `row`'s, or none of ours: what waited goes where it belongs.
    fn settle(&mut self, row: Option<&'static Row>, sink: &mut Sink<'_>) {
        self.row = row;
        self.speaker = None;
        let next = match row {
            Some(row) => {
                self.protocol = row.protocol;
                self.encrypted = row.protocol == Protocol::Tls;
                self.reason = self.encrypted.then(|| ENCRYPTED.to_owned());
                State::Decoding((row.decoder)())
            }
            None => {
                self.reason = Some("the protocol is none that longwire decodes".to_owned());
                State::Opaque
            }
        };
        let State::Undecided(held) = std::mem::replace(&mut self.state, next) else {
            return;
        };
        let last = self.last;
        let mut rest = held.bytes.each_ref().map(Vec::as_slice);
        let mut begun = [false; 2];
        for chunk in &held.chunks {
            let lane = chunk.direction.index();
            let (bytes, behind) = rest[lane].split_at(chunk.seen);
            rest[lane] = behind;
            begun[lane] |= !bytes.is_empty();
            self.take(chunk.direction, Input::seen(chunk.at, bytes), sink);
            if begun[lane] {
                self.take(chunk.direction, Input::unseen(chunk.at, chunk.unseen), sink);
            } else {
                self.pass(chunk.direction, Input::unseen(chunk.at, chunk.unseen), sink);
            }
        }
        self.last = last;
    }

    fn decode(&mut self, direction: Direction, input: Input<'_>, sink: &mut Sink<'_>) {
        let State::Decoding(decoder) = &mut self.state else {
            return;
        };
        let lane = direction.index();
        let waiting = self.given[lane].saturating_sub(self.handed_out[lane]);
        let before = self.handed_out[lane];
        self.given[lane] = self.given[lane].saturating_add(input.length());
        let (handed_out, opaque) = (&mut self.handed_out, self.opaque);
        let mut counting = |message: Message<'_>| {
            if !opaque[message.direction.index()] {
                count(handed_out, &message);
                sink(message);
            }
        };
        let result = match input.unseen_count() {
            0 => decoder.feed(input.at(), direction, input.bytes(), &mut counting),
            unseen => decoder.skip(input.at(), direction, unseen, &mut counting),
        };
        let switches = result.is_ok() && decoder.tls_follows();
        if result.is_err() && input.unseen_count() > 0 {
            decoder.lose(direction);
        }
        if waiting == 0 || self.handed_out[lane] != before {
            self.began[lane] = input.at();
        }
        match result {
            Err(error) => self.give_up(direction, error, input.at(), sink),
            Ok(()) if switches => self.go_on_with_tls(direction, input, sink),
            Ok(()) => {}
        }
    }

    fn give_up(&mut self, direction: Direction, error: DecodeError, at: Timestamp, sink: &mut Sink<'_>) {
        self.opaque[direction.index()] = true;
        self.doubt = true;
        if self.reason.is_none() || self.encrypted {
            let offset = self.handed_out[direction.index()];
            self.reason = Some(DecodeError { offset, ..error }.to_string());
        }
        self.hand_out_opaque(direction, self.began[direction.index()], at, sink);
    }

    /// What no message of the decoder covers comes from behind the switch: it belongs to the TLS decoder.
    fn go_on_with_tls(&mut self, direction: Direction, input: Input<'_>, sink: &mut Sink<'_>) {
        self.state = State::Decoding(Box::new(TlsDecoder::new()));
        self.row = None;
        self.encrypted = true;
        self.reason = Some(ENCRYPTED.to_owned());
        let lane = direction.index();
        let behind =
            usize::try_from(self.given[lane].saturating_sub(self.handed_out[lane])).unwrap_or(usize::MAX);
        let bytes = input.bytes();
        let tail = &bytes[bytes.len().saturating_sub(behind)..];
        self.given[lane] -= tail.len() as u64;
        for either in [direction, direction.reverse()] {
            let (began, last) = (self.began[either.index()], self.last[either.index()]);
            self.hand_out_opaque(either, began, last, sink);
        }
        self.take(direction, Input::seen(input.at(), tail), sink);
    }

    fn hand_out_opaque(
        &mut self,
        direction: Direction,
        started: Timestamp,
        ended: Timestamp,
        sink: &mut Sink<'_>,
    ) {
        let lane = direction.index();
        let bytes = self.given[lane].saturating_sub(self.handed_out[lane]);
        if bytes == 0 {
            return;
        }
        self.handed_out[lane] = self.given[lane];
        sink(Message {
            protocol: Protocol::Unknown,
            direction,
            started,
            ended,
            bytes,
            role: Role::Opaque,
            phase: Phase::Work,
            content: Content::Other,
        });
    }
}

fn count(handed_out: &mut [u64; 2], message: &Message<'_>) {
    handed_out[message.direction.index()] += message.bytes;
}

const ENCRYPTED: &str = "the payload is encrypted with TLS";
