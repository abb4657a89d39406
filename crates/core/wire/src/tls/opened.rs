//! Decrypts TLS with the session's keys and decodes the plain text.
//!
//! Handshake messages are those of [`super::TlsDecoder`]. An inner message counts its bytes of
//! plain text and, for each record that ends in it, the overhead: header, nonce, type, padding and
//! tag. The sums are those of the encrypted stream.

use super::meter::Meter;
use super::{
    Handshake, HandshakePhase, MAXIMUM_RECORD, RECORD_HEADER, Record, TlsDecoder, kind_of, message, plan_at,
};
use crate::decoding::decoder::{DecodeError, Decoder, MessageSink};
use crate::decoding::framing::{Frame, FramePlan, Framer, Input};
use crate::decoding::resume::Resumption;
use crate::stream::Stream;
use model::{Decoding, Direction, Message, PerDirection, Phase, Role, Timestamp};
use std::sync::Arc;
use tls_keys::{Closed, OpenedRecord, RecordOpener, Secrets};

/// Decodes the records of one connection and their content. Memory: at most one unfinished record
/// per direction, the plain text of one, and the inner decoder.
pub(crate) struct OpenedTlsDecoder {
    framers: PerDirection<Framer>,
    connection: Connection,
}

struct Connection {
    handshake: Handshake,
    opener: RecordOpener,
    inside: Stream,
    meters: PerDirection<Meter>,
    has_begun: bool,
    /// Reason why a record up to the end of the handshake was not decrypted.
    closed: Option<Closed>,
    /// Reason for the last failed record of each direction, after a success.
    unopened: PerDirection<Option<Closed>>,
}

impl OpenedTlsDecoder {
    /// Begins at the TLS handshake. `inside` decodes the plain text from its first byte.
    pub(crate) fn new(secrets: Arc<dyn Secrets>, inside: Stream) -> Self {
        let TlsDecoder {
            client,
            server,
            handshake,
        } = TlsDecoder::new();
        Self {
            framers: PerDirection::new(client, server),
            connection: Connection {
                handshake,
                opener: RecordOpener::new(secrets),
                inside,
                meters: Default::default(),
                has_begun: false,
                closed: None,
                unopened: PerDirection::splat(None),
            },
        }
    }
}

impl Decoder for OpenedTlsDecoder {
    fn process_input(
        &mut self,
        direction: Direction,
        mut input: Input<'_>,
        sink: &mut MessageSink<'_>,
    ) -> Result<(), DecodeError> {
        let Self { framers, connection } = self;
        let framer = &mut framers[direction];
        loop {
            let opens = connection.opener.closed().is_none();
            let is_first = connection.handshake.is_first(direction);
            let whole = |header: &[u8]| {
                let plan = plan_at(is_first, header)?;
                let keep = if opens {
                    usize::from(MAXIMUM_RECORD)
                } else {
                    plan.keep
                };
                Ok(FramePlan { keep, ..plan })
            };
            match framer.next(&mut input, RECORD_HEADER, whole) {
                Ok(Some(frame)) => connection.record(direction, &frame, sink),
                Ok(None) => return Ok(()),
                Err(error) => {
                    connection.desync_direction(direction, input.at(), sink);
                    return Err(error);
                }
            }
        }
    }

    fn pending(&self, direction: Direction) -> u64 {
        let held = match direction {
            Direction::ClientToServer => 0,
            Direction::ServerToClient => self.connection.handshake.held.map_or(0, |held| held.bytes),
        };
        self.framers[direction].pending() + self.connection.meters[direction].pending() + held
    }

    fn inside(&self) -> Option<Decoding> {
        self.connection.decoding()
    }

    fn close_requested(&self) -> Option<Direction> {
        self.connection.inside.close_requested()
    }

    fn ends(&mut self, at: Timestamp, direction: Direction, sink: &mut MessageSink<'_>) {
        let Connection { inside, meters, .. } = &mut self.connection;
        inside.end(at, direction, &mut |message| sink(&sealed(meters, *message)));
    }

    fn finish(&mut self, sink: &mut MessageSink<'_>) {
        if let Some(closed) = self.connection.why_closed() {
            self.connection.opener.ends(closed);
        }
        self.connection.handshake.flush_role(Role::Reply, sink);
        let Connection { inside, meters, .. } = &mut self.connection;
        inside.finish(&mut |message| sink(&sealed(meters, *message)));
    }

    fn find(&self, _: Direction, bytes: &[u8], whole: bool) -> Resumption {
        super::find_record(bytes, whole)
    }

    fn desync(&mut self, direction: Direction) {
        self.connection.handshake.lose_flight(direction);
    }

    fn restart(&mut self, direction: Direction) -> bool {
        self.framers[direction].restart();
        true
    }
}

impl Connection {
    fn record(&mut self, direction: Direction, frame: &Frame<'_>, sink: &mut MessageSink<'_>) {
        let Some(header) = frame.header.first_chunk::<RECORD_HEADER>() else {
            return;
        };
        let kind = kind_of(frame);
        if frame.holed {
            // The capture reports missing bytes, so TLS is not damaged.
            self.opener.miss(direction);
            return self.missing(direction, Closed::Damaged, frame, sink);
        }
        let opened = self.opener.open(direction, header, frame.body);
        if !matches!(opened, OpenedRecord::Closed(_)) {
            self.unopened[direction] = None;
        }
        match opened {
            OpenedRecord::Data(plain) => {
                if !std::mem::replace(&mut self.has_begun, true) {
                    // Earlier failures are of the handshake, or early data that the server refused.
                    self.closed = None;
                }
                self.handshake.data(direction, plain.is_empty(), frame, sink);
                let Self { inside, meters, .. } = self;
                let length = plain.len() as u64;
                meters[direction].push(length, frame.bytes, frame.started);
                let sink = &mut |message: &Message<'_>| sink(&sealed(meters, *message));
                inside.feed(frame.ended, direction, plain, sink);
            }
            OpenedRecord::Clear => self.handshake.record(direction, kind, frame, sink),
            OpenedRecord::Handshake => self.handshake.opened(direction, kind, frame, sink),
            OpenedRecord::Alert => self.handshake.leave(direction, frame, sink),
            OpenedRecord::Closed(closed) => self.closed(direction, closed, frame, sink),
        }
    }

    fn closed(
        &mut self,
        direction: Direction,
        closed: Closed,
        frame: &Frame<'_>,
        sink: &mut MessageSink<'_>,
    ) {
        if self.has_begun {
            self.unopened[direction] = Some(closed);
        }
        self.missing(direction, closed, frame, sink);
    }

    /// A record with unknown plain text: the inner stream continues after it.
    fn missing(
        &mut self,
        direction: Direction,
        closed: Closed,
        frame: &Frame<'_>,
        sink: &mut MessageSink<'_>,
    ) {
        let kind = frame.header.first().copied().unwrap_or(0);
        if !self.has_begun {
            self.closed.get_or_insert(closed);
        }
        let plain = frame
            .bytes
            .saturating_sub(RECORD_HEADER as u64 + self.opener.overhead());
        if !self.has_begun || kind != super::DATA || plain == 0 {
            return self.handshake.record(direction, kind, frame, sink);
        }
        let Self { inside, meters, .. } = self;
        meters[direction].push(plain, frame.bytes, frame.started);
        let sink = &mut |message: &Message<'_>| sink(&sealed(meters, *message));
        inside.skip(frame.ended, direction, plain, sink);
    }

    fn desync_direction(&mut self, direction: Direction, at: Timestamp, sink: &mut MessageSink<'_>) {
        self.opener.desync(direction);
        if direction == Direction::ServerToClient {
            self.handshake.flush_role(Role::Reply, sink);
        }
        if self.has_begun {
            let Self { inside, meters, .. } = self;
            // A byte of plain text without stream bytes stands for the lost ones.
            meters[direction].push(1, 0, at);
            let sink = &mut |message: &Message<'_>| sink(&sealed(meters, *message));
            inside.skip(at, direction, 1, sink);
            inside.desync_direction(at, direction, sink);
        }
    }

    /// Reason why a direction or the connection was not decrypted. A damaged record followed by
    /// good ones is not a reason.
    fn why_closed(&self) -> Option<Closed> {
        let unopened = self.unopened.iter().copied().flatten().next();
        self.opener.closed().or(self.closed).or(unopened)
    }

    fn decoding(&self) -> Option<Decoding> {
        let closed = self.why_closed().map(|closed| closed.reason().to_owned());
        if !self.has_begun {
            return closed.map(|reason| Decoding {
                protocol: model::Protocol::Unknown,
                encrypted: true,
                opaque: Some(reason),
            });
        }
        let inside = self.inside.decoding();
        Some(Decoding {
            encrypted: true,
            opaque: closed.or(inside.opaque),
            ..inside
        })
    }
}

fn sealed<'a>(meters: &mut PerDirection<Meter>, message: Message<'a>) -> Message<'a> {
    let share = meters[message.direction].take_share(message.bytes);
    Message {
        bytes: share.bytes,
        started: share
            .started
            .map_or(message.started, |started| started.min(message.started)),
        ..message
    }
}

impl Handshake {
    fn record(&mut self, direction: Direction, kind: u8, frame: &Frame<'_>, sink: &mut MessageSink<'_>) {
        match direction {
            Direction::ClientToServer => self.client(kind, frame, sink),
            Direction::ServerToClient => self.server(kind, frame, sink),
        }
    }

    /// A decrypted handshake record needs no inference from lengths and order.
    fn opened(&mut self, direction: Direction, kind: u8, frame: &Frame<'_>, sink: &mut MessageSink<'_>) {
        let is_new = matches!(
            self.stage,
            HandshakePhase::New | HandshakePhase::NewFinishing { .. }
        );
        if self.stage == HandshakePhase::Done {
            self.aside(direction, Phase::Tls, frame, sink);
        } else if is_new && direction == Direction::ClientToServer {
            self.flush_role(Role::Reply, sink);
            self.stage = HandshakePhase::NewFinishing { finished: true };
            self.aside(direction, Phase::Tls, frame, sink);
        } else {
            self.record(direction, kind, frame, sink);
        }
    }

    /// Application data: the server's flight is over, unless the client sends early data.
    fn data(&mut self, direction: Direction, is_empty: bool, frame: &Frame<'_>, sink: &mut MessageSink<'_>) {
        let is_early = matches!(self.stage, HandshakePhase::Greeted | HandshakePhase::New);
        if direction == Direction::ServerToClient || !is_early {
            self.flush_role(Role::Reply, sink);
        }
        if is_empty {
            self.aside(direction, Phase::Work, frame, sink);
        }
    }

    fn leave(&mut self, direction: Direction, frame: &Frame<'_>, sink: &mut MessageSink<'_>) {
        self.flush_role(Role::Reply, sink);
        self.aside(direction, Phase::Close, frame, sink);
    }

    fn aside(&self, direction: Direction, phase: Phase, frame: &Frame<'_>, sink: &mut MessageSink<'_>) {
        let role = match direction {
            Direction::ClientToServer => Role::OneWay,
            Direction::ServerToClient => Role::Notice,
        };
        sink(&message(Record::from_frame(frame), direction, role, phase));
    }
}
