//! One connection's payload to messages: finds the protocol, decodes it, and falls back to opaque.
//!
//! This is what a pipeline uses; it never fails. Whatever the bytes are, the `bytes` of the messages of a direction
//! sum to what was fed and skipped in it once [`Stream::finish`] was called.

use crate::decoder::{DecodeError, Decoder, Sink};
use crate::framing::Input;
use crate::protocols::{PROTOCOLS, Row, Verdict};
use crate::tls::TlsDecoder;
use model::{Content, Decoding, Direction, Message, Phase, Protocol, Role, Timestamp};

/// Turns the payload of one connection into messages.
///
/// Calling order: [`Stream::feed`] and [`Stream::skip`] in the order in which the bytes passed, [`Stream::finish`] once
/// and last. How the bytes are split into calls changes nothing, except into how many messages opaque bytes are cut.
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
        self.last[direction.index()] = input.at();
        match &mut self.state {
            State::Decoding(_) if !self.opaque[direction.index()] => self.decode(direction, input, sink),
            State::Decoding(_) | State::Opaque => {
                let given = &mut self.given[direction.index()];
                *given = given.saturating_add(input.length());
                self.hand_out_opaque(direction, input.at(), input.at(), sink);
            }
            State::Undecided(held) => {
                let chosen = held.look(direction, input, self.server_port);
                if let Some(row) = chosen {
                    self.settle(row, sink);
                    self.take(direction, input, sink);
                }
            }
        }
    }

    /// The protocol is `row`'s, or none of ours: what waited goes where it belongs.
    fn settle(&mut self, row: Option<&Row>, sink: &mut Sink<'_>) {
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
                self.given[lane] = self.given[lane].saturating_add(chunk.unseen);
                self.hand_out_opaque(chunk.direction, chunk.at, chunk.at, sink);
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
        if waiting == 0 || self.handed_out[lane] != before {
            self.began[lane] = input.at();
        }
        match result {
            Err(error) => self.give_up(direction, &error, input.at(), sink),
            Ok(()) if switches => self.go_on_with_tls(direction, input, sink),
            Ok(()) => {}
        }
    }

    fn give_up(&mut self, direction: Direction, error: &DecodeError, at: Timestamp, sink: &mut Sink<'_>) {
        self.opaque[direction.index()] = true;
        if self.reason.is_none() || self.encrypted {
            self.reason = Some(error.to_string());
        }
        self.hand_out_opaque(direction, self.began[direction.index()], at, sink);
    }

    /// What no message of the decoder covers comes from behind the switch: it belongs to the TLS decoder.
    fn go_on_with_tls(&mut self, direction: Direction, input: Input<'_>, sink: &mut Sink<'_>) {
        self.state = State::Decoding(Box::new(TlsDecoder::new()));
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

/// What waits until the protocol is known.
#[derive(Debug, Default)]
struct Held {
    bytes: [Vec<u8>; 2],
    /// Per direction: how many of `bytes` came before the first hole behind a seen byte.
    whole: [Option<usize>; 2],
    chunks: Vec<Chunk>,
}

#[derive(Debug)]
struct Chunk {
    at: Timestamp,
    direction: Direction,
    seen: usize,
    unseen: u64,
}

impl Held {
    /// The first bytes of each direction, without a hole.
    fn openings(&self) -> [&[u8]; 2] {
        [0, 1].map(|lane| {
            let bytes = &self.bytes[lane];
            self.whole[lane]
                .and_then(|whole| bytes.get(..whole))
                .unwrap_or(bytes)
        })
    }

    /// Decides, or holds `input` back and gives `None`.
    fn look(
        &mut self,
        direction: Direction,
        input: Input<'_>,
        server_port: u16,
    ) -> Option<Option<&'static Row>> {
        let lane = direction.index();
        if input.unseen_count() > 0 && !self.bytes[lane].is_empty() {
            self.whole[lane].get_or_insert(self.bytes[lane].len());
        }
        let joins = self.joins(direction, input);
        let before = self.bytes[lane].len();
        let room = MAXIMUM_HELD - self.bytes.iter().map(Vec::len).sum::<usize>();
        let part = input.bytes().get(..room);
        let full = part.is_some_and(|part| part.len() < input.bytes().len());
        let full = full || (self.chunks.len() == MAXIMUM_CHUNKS && !joins);
        self.bytes[lane].extend_from_slice(part.unwrap_or(input.bytes()));
        let chosen = choose(self.openings(), server_port, full);
        if chosen.is_some() {
            self.bytes[lane].truncate(before);
            return chosen;
        }
        match self.chunks.last_mut() {
            Some(last) if joins => last.seen += input.bytes().len(),
            _ => self.chunks.push(Chunk {
                at: input.at(),
                direction,
                seen: input.bytes().len(),
                unseen: input.unseen_count(),
            }),
        }
        None
    }

    /// Whether `input` is more of what came last, at the same time.
    fn joins(&self, direction: Direction, input: Input<'_>) -> bool {
        let last = self.chunks.last();
        last.is_some_and(|last| {
            (last.direction, last.at) == (direction, input.at())
                && last.unseen == 0
                && input.unseen_count() == 0
        })
    }
}

/// The protocol that the first bytes of both directions show: `None` while more bytes could tell, `Some(None)` when it
/// is none of ours. `now` forces a decision.
fn choose(openings: [&[u8]; 2], server_port: u16, now: bool) -> Option<Option<&'static Row>> {
    let directions = [Direction::ClientToServer, Direction::ServerToClient];
    let mut plausible: Option<&'static Row> = None;
    let mut more = false;
    for row in PROTOCOLS {
        for (direction, opening) in directions.into_iter().zip(openings) {
            match (row.recognise)(direction, opening) {
                Verdict::Certain => return Some(Some(row)),
                Verdict::Plausible if plausible.is_none() || row.ports.contains(&server_port) => {
                    plausible = Some(row)
                }
                Verdict::More => more |= !opening.is_empty(),
                Verdict::Plausible | Verdict::Never => {}
            }
        }
    }
    let silent = openings.iter().any(|opening| opening.is_empty());
    let waits = more || (silent && plausible.is_none());
    (now || !waits).then_some(plausible)
}

const ENCRYPTED: &str = "the payload is encrypted with TLS";

/// Most bytes held back, both directions together, while the protocol is not known.
pub const MAXIMUM_HELD: usize = 16 * 1024;

/// Most calls held back meanwhile.
const MAXIMUM_CHUNKS: usize = 256;
