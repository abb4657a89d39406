//! Payload of one connection to messages: detects the protocol, decodes, and falls back to opaque.
//!
//! Decoding never fails. After [`Stream::finish`], the `bytes` of a direction's messages sum to the
//! bytes fed and skipped in it.

mod buffered_bursts;
mod detection;
mod detector;
mod emission;
mod proxied;
mod search;
mod trial;
mod window;

pub use window::MAXIMUM_HELD;

use crate::decoding::decoder::{DecodeError, Decoder, MessageSink};
use crate::decoding::framing::Input;
use crate::tls::{OpenedTlsDecoder, TlsDecoder};
use crate::{PROTOCOLS, ProtocolRow};
use detection::{Choice, Circumstances};
use detector::Detector;
use model::{Decoding, Direction, Message, PerDirection, Protocol, Timestamp};
use search::Search;
use std::sync::Arc;
use tls_keys::Secrets;

/// Turns the payload of one connection into messages.
///
/// Call [`Stream::feed`] and [`Stream::skip`] in the order of the bytes, and [`Stream::finish`]
/// last. The split into calls affects only the number of opaque messages.
///
/// A direction is opaque from a message that fails to decode. Decoding resumes if bytes look like a
/// message after the other side has spoken, or after unseen bytes.
///
/// Until both directions agree on a protocol, up to [`MAXIMUM_HELD`] bytes wait; messages keep the
/// original times. [`Stream::detect_protocol`] and [`Stream::flush_buffered`] let a caller know
/// the protocol before the first message.
pub struct Stream {
    server_port: u16,
    secrets: Option<Arc<dyn Secrets>>,
    is_inside_tls: bool,
    state: State,
    protocol: Protocol,
    encrypted: bool,
    /// Decoding has stopped, because payload is missing from the capture.
    cut: bool,
    /// Per direction: bytes fed or skipped, bytes emitted, time of the first byte not emitted, and
    /// whether decoding has stopped.
    given: PerDirection<u64>,
    handed_out: PerDirection<u64>,
    began: PerDirection<Timestamp>,
    opaque: PerDirection<bool>,
    last: PerDirection<Timestamp>,
    reason: Option<String>,
    speaker: Option<Direction>,
    row: Option<&'static ProtocolRow>,
    search: Option<Search>,
    /// Bytes were lost since the client last had to wait: the decoder may expect replies that were
    /// among them.
    doubt: bool,
    /// Whether this client sends requests before the replies to earlier ones.
    pipelines: bool,
}

/// How far the protocol and the sides of a connection are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DetectionState {
    /// Payload waits for the protocol.
    Undecided,
    /// Messages wait for [`Stream::flush_buffered`], which emits them with the true directions.
    Decided {
        /// Client and server were mistaken for each other.
        reversed: bool,
    },
    /// Messages are emitted as they complete.
    Settled,
}

enum State {
    Detecting(Box<Detector>),
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
    pub fn new(server_port: u16) -> Self {
        Self::with_circumstances(Circumstances {
            server_port,
            is_joined: false,
        })
    }

    /// For a connection that was open before observation began, to a server assumed on
    /// `server_port`. If the guess proves wrong ([`DetectionState::Decided`]), the caller turns the
    /// input from the release on.
    pub fn joined(server_port: u16) -> Self {
        Self::with_circumstances(Circumstances {
            server_port,
            is_joined: true,
        })
    }

    /// Adds secrets to decrypt and decode TLS where they fit.
    #[must_use]
    pub fn with_secrets(self, secrets: Option<Arc<dyn Secrets>>) -> Self {
        Self { secrets, ..self }
    }

    /// For payload as one end sees it: plain after an agreement on TLS.
    #[must_use]
    pub fn inside_tls(self) -> Self {
        Self {
            is_inside_tls: true,
            ..self
        }
    }

    fn inside(protocol: Protocol, decoder: Box<dyn Decoder + Send>) -> Self {
        Self {
            state: State::Decoding(decoder),
            protocol,
            row: row_of(protocol),
            ..Self::new(0)
        }
    }

    fn with_circumstances(of: Circumstances) -> Self {
        Self {
            server_port: of.server_port,
            secrets: None,
            is_inside_tls: false,
            state: State::Detecting(Box::new(Detector::new(of))),
            protocol: Protocol::Unknown,
            encrypted: false,
            cut: false,
            given: PerDirection::splat(0),
            handed_out: PerDirection::splat(0),
            began: PerDirection::splat(Timestamp::default()),
            opaque: PerDirection::splat(false),
            last: PerDirection::splat(Timestamp::default()),
            reason: None,
            speaker: None,
            row: None,
            search: None,
            doubt: false,
            pipelines: false,
        }
    }

    pub fn feed(&mut self, at: Timestamp, direction: Direction, bytes: &[u8], sink: &mut MessageSink<'_>) {
        self.forward_input(direction, Input::seen(at, bytes), sink);
    }

    pub fn skip(&mut self, at: Timestamp, direction: Direction, count: u64, sink: &mut MessageSink<'_>) {
        self.forward_input(direction, Input::unseen(at, count), sink);
    }

    fn forward_input(&mut self, direction: Direction, input: Input<'_>, sink: &mut MessageSink<'_>) {
        if self.detection() == DetectionState::Settled {
            return self.process_input(direction, input, sink);
        }
        self.detect(|detector| detector.process_input(direction, input));
        self.flush_buffered(sink);
    }

    /// Takes the input of [`Stream::feed`] and [`Stream::skip`] while the protocol is unknown, and
    /// emits no message. Once it is decided, call [`Stream::flush_buffered`].
    pub fn detect_protocol(&mut self, at: Timestamp, direction: Direction, bytes: &[u8], unseen: u64) {
        self.detect(|detector| {
            detector.process_input(direction, Input::seen(at, bytes));
            detector.process_input(direction, Input::unseen(at, unseen));
        });
    }

    pub fn decide_at_end(&mut self) {
        self.detect(Detector::decide_at_end);
    }

    fn detect(&mut self, detect: impl FnOnce(&mut Detector)) {
        let State::Detecting(detector) = &mut self.state else {
            return;
        };
        detect(detector);
        let Some(choice) = detector.choice() else { return };
        match choice.row {
            Some(row) => {
                self.protocol = row.protocol;
                self.encrypted = row.protocol == Protocol::Tls;
                self.reason = self.encrypted.then(|| ENCRYPTED.to_owned());
            }
            None => self.reason = Some("longwire does not decode the protocol".to_owned()),
        }
    }

    /// Emits the messages that waited for the decision.
    pub fn flush_buffered(&mut self, sink: &mut MessageSink<'_>) {
        let DetectionState::Decided { .. } = self.detection() else {
            return;
        };
        if let State::Detecting(detector) = std::mem::replace(&mut self.state, State::Opaque)
            && let Some(choice) = detector.choice()
        {
            self.start_decoding(&detector, choice, sink);
        }
    }

    pub fn detection(&self) -> DetectionState {
        match &self.state {
            State::Detecting(detector) => match detector.choice() {
                None => DetectionState::Undecided,
                Some(Choice { reversed, .. }) => DetectionState::Decided { reversed },
            },
            State::Decoding(_) | State::Opaque => DetectionState::Settled,
        }
    }

    /// `direction` ended at `at`: emits messages that only the end completes, and truncated ones.
    pub fn end(&mut self, at: Timestamp, direction: Direction, sink: &mut MessageSink<'_>) {
        self.finish_resync(sink);
        if self.opaque[direction] {
            return;
        }
        if let State::Decoding(decoder) = &mut self.state {
            self.last[direction] = at;
            let (handed_out, opaque) = (&mut self.handed_out, self.opaque);
            decoder.ends(at, direction, &mut |message| {
                if !opaque[message.direction] {
                    count(handed_out, message);
                    sink(message);
                }
            });
            self.emit_truncated(at, direction, sink);
        }
    }

    /// Emits the rest at the end of the connection, an unfinished message as opaque bytes.
    pub fn finish(&mut self, sink: &mut MessageSink<'_>) {
        self.decide_at_end();
        self.flush_buffered(sink);
        self.finish_resync(sink);
        if let State::Decoding(decoder) = &mut self.state {
            let (handed_out, opaque) = (&mut self.handed_out, self.opaque);
            decoder.finish(&mut |message| {
                if !opaque[message.direction] {
                    count(handed_out, message);
                    sink(message);
                }
            });
        }
        for direction in [Direction::ClientToServer, Direction::ServerToClient] {
            let (began, last) = (self.began[direction], self.last[direction]);
            self.emit_opaque(direction, began, last, sink);
        }
    }

    /// Whether every byte was emitted, so that [`Stream::finish`] will emit none.
    pub fn is_drained(&self) -> bool {
        self.detection() == DetectionState::Settled && self.search.is_none() && self.given == self.handed_out
    }

    pub fn protocol(&self) -> Protocol {
        self.decoding().protocol
    }

    /// The side that first requested the end of the connection.
    pub fn close_requested(&self) -> Option<Direction> {
        match &self.state {
            State::Decoding(decoder) => decoder.close_requested(),
            State::Detecting(_) | State::Opaque => None,
        }
    }

    pub fn decoding(&self) -> Decoding {
        let (inside, dialect) = match &self.state {
            State::Decoding(decoder) => (decoder.inside(), decoder.dialect()),
            State::Detecting(_) | State::Opaque => (None, None),
        };
        let outside = Decoding {
            protocol: dialect.unwrap_or(self.protocol),
            encrypted: self.encrypted,
            opaque: self.reason.clone(),
        };
        match inside {
            Some(inside) if inside.protocol == Protocol::Unknown => Decoding {
                opaque: inside.opaque.or(outside.opaque),
                ..outside
            },
            Some(inside) => inside,
            None => outside,
        }
    }

    /// Whether the decoder knows its position in the bytes of `direction`.
    pub fn is_in_step(&self, direction: Direction) -> bool {
        matches!(self.state, State::Decoding(_)) && !self.opaque[direction]
    }

    /// Whether the next bytes of `direction` may name a statement.
    pub fn reads_content(&self, direction: Direction) -> bool {
        match &self.state {
            State::Decoding(decoder) => decoder.reads_content(direction),
            State::Detecting(_) | State::Opaque => true,
        }
    }

    fn process_input(&mut self, direction: Direction, input: Input<'_>, sink: &mut MessageSink<'_>) {
        if input.is_empty() {
            return;
        }
        if self.speaker.replace(direction) != Some(direction) {
            self.turn(direction, input.at(), sink);
        }
        self.last[direction] = input.at();
        match &mut self.state {
            State::Decoding(_) if !self.opaque[direction] => self.decode(direction, input, sink),
            State::Decoding(_) if self.search.is_some() => self.search(direction, input, sink),
            State::Decoding(_) | State::Opaque => self.emit_raw(direction, input, sink),
            State::Detecting(_) => {}
        }
        if input.unseen_count() > 0 {
            self.seek(direction);
        }
    }

    fn start_decoding(&mut self, detector: &Detector, choice: Choice, sink: &mut MessageSink<'_>) {
        let Choice { row, reversed } = choice;
        self.row = row;
        self.emit_preface(detector.header(), sink);
        if let Some(row) = row {
            let secrets = (row.protocol == Protocol::Tls).then(|| self.secrets_of_tls());
            self.state = State::Decoding(match secrets.flatten() {
                Some(secrets) => Box::new(OpenedTlsDecoder::new(secrets, Self::new(self.server_port))),
                None => (row.decoder)(detector.openings(reversed)),
            });
        }
        for burst in detector.passed(reversed) {
            let direction = burst.direction;
            self.given[direction] = self.given[direction].saturating_add(burst.bytes);
            self.last[direction] = burst.ended;
            self.emit_opaque(direction, burst.started, burst.ended, sink);
        }
        let mut begun = false;
        for (at, direction, bytes, unseen) in detector.pieces(reversed) {
            begun |= !bytes.is_empty();
            self.process_input(direction, Input::seen(at, bytes), sink);
            if begun {
                self.process_input(direction, Input::unseen(at, unseen), sink);
            } else {
                self.emit_raw(direction, Input::unseen(at, unseen), sink);
            }
        }
    }

    fn decode(&mut self, direction: Direction, input: Input<'_>, sink: &mut MessageSink<'_>) {
        let State::Decoding(decoder) = &mut self.state else {
            return;
        };
        let waiting = self.given[direction].saturating_sub(self.handed_out[direction]);
        let before = self.handed_out[direction];
        self.given[direction] = self.given[direction].saturating_add(input.length());
        let (handed_out, opaque) = (&mut self.handed_out, self.opaque);
        let mut counting = |message: &Message<'_>| {
            if !opaque[message.direction] {
                count(handed_out, message);
                sink(message);
            }
        };
        let result = match input.unseen_count() {
            0 => decoder.feed(input.at(), direction, input.bytes(), &mut counting),
            unseen => decoder.skip(input.at(), direction, unseen, &mut counting),
        };
        let switches = result.is_ok() && decoder.tls_follows();
        let successor = result.as_ref().ok().and_then(|()| decoder.successor());
        if result.is_err() && input.unseen_count() > 0 {
            decoder.desync(direction);
            self.cut = true;
        }
        if waiting == 0 || self.handed_out[direction] != before {
            self.began[direction] = input.at();
        }
        match result {
            Err(error) => self.mark_opaque(direction, error, input.at(), sink),
            Ok(()) if switches => self.switch_to_tls(direction, input, sink),
            Ok(()) => {
                if let Some((protocol, decoder)) = successor {
                    self.row = row_of(protocol);
                    self.state = State::Decoding(decoder);
                    self.process_rest(direction, input, sink);
                }
            }
        }
    }

    /// Loses the position in `direction`, for a reason outside its bytes. The message in progress
    /// is given up.
    pub(crate) fn desync_direction(
        &mut self,
        at: Timestamp,
        direction: Direction,
        sink: &mut MessageSink<'_>,
    ) {
        if let State::Decoding(decoder) = &mut self.state
            && !self.opaque[direction]
        {
            decoder.desync(direction);
            self.opaque[direction] = true;
            self.doubt = true;
            self.cut = true;
            self.reason.get_or_insert_with(|| LOST.to_owned());
            self.emit_opaque(direction, self.began[direction], at, sink);
        }
        self.seek(direction);
    }

    fn mark_opaque(
        &mut self,
        direction: Direction,
        error: DecodeError,
        at: Timestamp,
        sink: &mut MessageSink<'_>,
    ) {
        self.opaque[direction] = true;
        self.doubt = true;
        if self.reason.is_none() || self.encrypted {
            let offset = self.handed_out[direction];
            self.reason = Some(DecodeError { offset, ..error }.to_string());
        }
        self.emit_opaque(direction, self.began[direction], at, sink);
    }

    /// Bytes outside the decoder's messages come from after the switch and belong to the TLS
    /// decoder.
    fn switch_to_tls(&mut self, direction: Direction, input: Input<'_>, sink: &mut MessageSink<'_>) {
        let secrets = self.secrets_of_tls();
        let State::Decoding(decoder) = &mut self.state else {
            return;
        };
        if self.is_inside_tls
            && let Some(inside) = decoder.go_on_inside()
        {
            self.state = State::Decoding(inside);
            return self.process_rest(direction, input, sink);
        }
        (self.row, self.state) = match secrets {
            Some(secrets) => {
                let inside = match decoder.go_on_inside() {
                    Some(decoder) => Self::inside(self.protocol, decoder),
                    None => Self::new(self.server_port),
                };
                let opened = OpenedTlsDecoder::new(secrets, inside);
                (row_of(Protocol::Tls), State::Decoding(Box::new(opened)))
            }
            None => (None, State::Decoding(Box::new(TlsDecoder::new()))),
        };
        self.encrypted = true;
        self.reason = Some(ENCRYPTED.to_owned());
        self.process_rest(direction, input, sink);
    }

    /// The bytes that the decoder before has not emitted.
    fn process_rest(&mut self, direction: Direction, input: Input<'_>, sink: &mut MessageSink<'_>) {
        let behind = usize::try_from(self.given[direction].saturating_sub(self.handed_out[direction]))
            .unwrap_or(usize::MAX);
        let bytes = input.bytes();
        let tail = &bytes[bytes.len().saturating_sub(behind)..];
        self.given[direction] -= tail.len() as u64;
        for either in [direction, direction.reverse()] {
            let (began, last) = (self.began[either], self.last[either]);
            self.emit_opaque(either, began, last, sink);
        }
        self.process_input(direction, Input::seen(input.at(), tail), sink);
    }

    fn secrets_of_tls(&self) -> Option<Arc<dyn Secrets>> {
        self.secrets.clone().filter(|secrets| secrets.tls_begins())
    }
}

fn row_of(protocol: Protocol) -> Option<&'static ProtocolRow> {
    PROTOCOLS.iter().find(|row| row.protocol == protocol)
}

fn count(handed_out: &mut PerDirection<u64>, message: &Message<'_>) {
    handed_out[message.direction] += message.bytes;
}

const LOST: &str = "records of TLS were not captured";
const ENCRYPTED: &str = "the payload is encrypted with TLS";
