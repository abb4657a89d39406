//! Decodes events of connections into facts, with a decoder and the pairing of each connection.

use super::drained::Drained;
use super::notes::{Note, Notes};
use super::unnamed_facts::UnnamedFacts;
use analysis::exchange_pool::ExchangePool;
use analysis::fact::{Fact, FactSink};
use analysis::fingerprint::{Fingerprints, KnownFingerprints};
use analysis::pairing::{Pairing, PendingReplyBudget};
use analysis::round_trip::Paths;
use model::{
    ConnectionEvent, ConnectionId, ConnectionMap, Direction, Endpoint, Lost, Message, Protocol, Segment,
    Timestamp,
};
use std::hash::RandomState;
use std::sync::Arc;
use tls_keys::Secrets;
use wire::{DetectionState, Stream};

pub struct ConnectionDecoders {
    open: ConnectionMap<Box<Connection>>,
    drained: ConnectionMap<Drained>,
    fingerprints: Fingerprints,
    keep_literals: bool,
    digests: RandomState,
    reply_budget: PendingReplyBudget,
    paths: Paths,
    secrets: Option<Arc<dyn Secrets>>,
    is_inside_tls: bool,
    boxes: ExchangePool,
}

impl std::fmt::Debug for ConnectionDecoders {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("ConnectionDecoders")
            .field("open", &self.open)
            .field("keep_literals", &self.keep_literals)
            .finish_non_exhaustive()
    }
}

impl ConnectionDecoders {
    /// `keep_literals` keeps statement texts in addition to their fingerprints.
    pub fn new(keep_literals: bool) -> Self {
        Self {
            open: ConnectionMap::default(),
            drained: ConnectionMap::default(),
            fingerprints: Fingerprints::default(),
            keep_literals,
            digests: RandomState::new(),
            reply_budget: PendingReplyBudget::default(),
            paths: Paths::default(),
            secrets: None,
            is_inside_tls: false,
            boxes: ExchangePool::default(),
        }
    }

    #[must_use]
    pub fn with_boxes(self, boxes: ExchangePool) -> Self {
        Self { boxes, ..self }
    }

    #[must_use]
    pub fn with_secrets(self, secrets: Option<Arc<dyn Secrets>>) -> Self {
        Self { secrets, ..self }
    }

    /// See [`Stream::inside_tls`].
    #[must_use]
    pub fn inside_tls(self) -> Self {
        Self {
            is_inside_tls: true,
            ..self
        }
    }

    /// Shares a digest key with the run's other decoders, so that equal reads of all connections
    /// are recognised.
    #[must_use]
    pub fn with_digests(self, digests: RandomState) -> Self {
        Self { digests, ..self }
    }

    /// Shares fingerprints with the run's other decoders, and so the limit on their number.
    #[must_use]
    pub fn with_fingerprints(self, known: KnownFingerprints) -> Self {
        let fingerprints = Fingerprints::among(known);
        Self { fingerprints, ..self }
    }

    /// Shares a limit on expected replies with the run's other decoders.
    #[must_use]
    pub fn with_reply_budget(self, reply_budget: PendingReplyBudget) -> Self {
        Self { reply_budget, ..self }
    }

    /// Shares the paths between hosts with the run's other decoders.
    #[must_use]
    pub fn with_paths(self, paths: Paths) -> Self {
        Self { paths, ..self }
    }

    pub fn event(&mut self, id: ConnectionId, event: ConnectionEvent<'_>, out: &mut FactSink<'_>) {
        if let ConnectionEvent::Opened {
            at,
            client,
            server,
            sides_certain,
        } = event
        {
            let opened = Opened {
                at,
                client,
                server,
                sides_certain,
            };
            self.open.insert(id, Box::new(opened.connection(id, self)));
            if sides_certain {
                opened.introduce(id, out);
            }
            return;
        }
        let is_closing = matches!(event, ConnectionEvent::Closed { .. });
        let goes_on = !is_closing && !matches!(event, ConnectionEvent::Drained);
        if let Some(connection) = self
            .open
            .get_mut(&id)
            .filter(|open| open.stream.detection() == DetectionState::Settled && goes_on)
        {
            return connection.event(event, &mut self.fingerprints, out);
        }
        if let ConnectionEvent::Drained = event {
            return self.drain(id, out);
        }
        let Some(mut connection) = self.open.remove(&id) else {
            return self.drained_event(id, event, out);
        };
        if is_closing || connection.is_decided_by_end(event) {
            connection.stream.decide_at_end();
            self.flush_connection(id, &mut connection, out);
        }
        if is_closing {
            return connection.close(event, &mut self.fingerprints, out);
        }
        connection.event(event, &mut self.fingerprints, out);
        self.flush_connection(id, &mut connection, out);
        self.open.insert(id, connection);
    }

    fn drain(&mut self, id: ConnectionId, out: &mut FactSink<'_>) {
        let is_drained = |open: &Connection| open.stream.is_drained() && open.pairing.is_drained();
        if self.open.get(&id).is_some_and(|open| is_drained(open))
            && let Some(connection) = self.open.remove(&id)
        {
            let drained = connection.drain(&mut self.fingerprints, out);
            self.drained.insert(id, drained);
        }
    }

    fn drained_event(&mut self, id: ConnectionId, event: ConnectionEvent<'_>, out: &mut FactSink<'_>) {
        if let ConnectionEvent::Closed { .. } = event {
            if let Some(drained) = self.drained.remove(&id) {
                drained.close(event, out);
            }
        } else if let Some(drained) = self.drained.get_mut(&id) {
            drained.event(event);
        }
    }

    /// Emits waiting facts after the connection's protocol and sides are decided.
    fn flush_connection(&mut self, id: ConnectionId, connection: &mut Connection, out: &mut FactSink<'_>) {
        let DetectionState::Decided { reversed } = connection.stream.detection() else {
            return;
        };
        if reversed {
            connection.is_reversed = true;
            connection.opened = connection.opened.reversed();
            connection.pairing = connection.opened.pairing(id, self);
            connection.notes.reverse();
        }
        if !connection.opened.sides_certain {
            connection.opened.introduce(id, out);
        }
        connection.protocol = connection.stream.protocol();
        connection.decode(&mut self.fingerprints, out, |stream, sink| {
            stream.flush_buffered(sink)
        });
    }
}

#[derive(Debug, Clone, Copy)]
struct Opened {
    at: Timestamp,
    client: Endpoint,
    server: Endpoint,
    sides_certain: bool,
}

impl Opened {
    fn connection(self, id: ConnectionId, of: &ConnectionDecoders) -> Connection {
        let stream = match self.sides_certain {
            true => Stream::new(self.server.port),
            false => Stream::joined(self.server.port),
        };
        let stream = match of.is_inside_tls {
            true => stream.inside_tls(),
            false => stream,
        };
        Connection {
            opened: self,
            stream: stream.with_secrets(of.secrets.clone()),
            pairing: self.pairing(id, of),
            protocol: Protocol::Unknown,
            notes: Notes::default(),
            is_reversed: false,
        }
    }

    /// Reports the connection, once its sides are known.
    fn introduce(self, connection: ConnectionId, out: &mut FactSink<'_>) {
        let Self {
            at, client, server, ..
        } = self;
        out(Fact::Opened {
            connection,
            at,
            client,
            server,
        });
    }

    fn reversed(self) -> Self {
        Self {
            client: self.server,
            server: self.client,
            ..self
        }
    }

    fn pairing(self, id: ConnectionId, of: &ConnectionDecoders) -> Pairing {
        Pairing::new(id, self.at, self.client, self.server, of.keep_literals)
            .with_digests(of.digests.clone())
            .with_reply_budget(of.reply_budget.clone())
            .with_paths(&of.paths)
            .with_boxes(of.boxes.clone())
    }
}

#[derive(Debug)]
struct Connection {
    opened: Opened,
    stream: Stream,
    pairing: Pairing,
    protocol: Protocol,
    notes: Notes,
    /// Client and server were mistaken for each other: events are turned.
    is_reversed: bool,
}

impl Connection {
    /// A server that stops sending answers no more.
    fn is_decided_by_end(&self, event: ConnectionEvent<'_>) -> bool {
        let server_ended = matches!(
            event,
            ConnectionEvent::Ended {
                direction: Direction::ServerToClient,
                ..
            }
        );
        server_ended && self.opened.sides_certain
    }

    fn is_undecided(&self) -> bool {
        self.stream.detection() == DetectionState::Undecided
    }

    fn turned<'a>(&self, event: ConnectionEvent<'a>) -> ConnectionEvent<'a> {
        match self.is_reversed {
            true => event.reversed(),
            false => event,
        }
    }

    fn event(&mut self, event: ConnectionEvent<'_>, fingerprints: &mut Fingerprints, out: &mut FactSink<'_>) {
        match self.turned(event) {
            ConnectionEvent::Segment(segment) => self.segment(&segment, fingerprints, out),
            ConnectionEvent::Handshake(handshake) => self.pairing.handshake(handshake, out),
            ConnectionEvent::RelayHandshake(trip) => self.pairing.in_stead(trip, out),
            ConnectionEvent::RoundTrip { at, side, rtt } => {
                self.apply_note(Note::RoundTrip { at, side, rtt });
            }
            ConnectionEvent::AssumedRoundTrip {
                at,
                side,
                rtt,
                source,
            } => self.apply_note(Note::AssumedRoundTrip {
                at,
                side,
                rtt,
                source,
            }),
            ConnectionEvent::Recovery { from, to, .. } => self.apply_note(Note::Recovery { from, to }),
            ConnectionEvent::Ended { at, direction } => self.ended(at, direction, fingerprints, out),
            ConnectionEvent::Opened { .. } | ConnectionEvent::Drained | ConnectionEvent::Closed { .. } => {}
        }
    }

    /// A page that lasts until its connection is closed ends when its server stops sending, not
    /// when the connection is forgotten. The same holds for a request without a reply.
    fn ended(
        &mut self,
        at: Timestamp,
        direction: Direction,
        fingerprints: &mut Fingerprints,
        out: &mut FactSink<'_>,
    ) {
        self.pairing.direction_ended(at, direction);
        if self.is_undecided() {
            return;
        }
        if direction == Direction::ClientToServer {
            let connection = self.pairing.connection();
            out(Fact::Left { connection, at });
            return;
        }
        self.decode(fingerprints, out, |stream, sink| stream.end(at, direction, sink));
        self.pairing.server_ended(at, self.protocol, out);
    }

    /// Applies an observation that affects later messages: immediately, or after the messages that
    /// wait.
    fn apply_note(&mut self, note: Note) {
        if self.is_undecided() {
            self.notes.add(note);
        } else {
            note.emit_note(&mut self.pairing);
        }
    }

    fn segment(&mut self, segment: &Segment<'_>, fingerprints: &mut Fingerprints, out: &mut FactSink<'_>) {
        self.apply_note(Note::Segment {
            direction: segment.direction,
            at: segment.at,
            idle: segment.sender_idle,
        });
        let reads_content = self.stream.reads_content(segment.direction);
        if self.is_undecided() {
            self.lost(segment, reads_content);
            self.stream
                .detect_protocol(segment.at, segment.direction, segment.payload, segment.unseen);
            return;
        }
        self.decode(fingerprints, out, |stream, sink| {
            stream.feed(segment.at, segment.direction, segment.payload, sink);
            stream.skip(segment.at, segment.direction, segment.unseen, sink);
        });
        self.lost(segment, reads_content);
    }

    /// Bytes inside a reply or a body that the decoder passes over hide nothing.
    fn lost(&mut self, segment: &Segment<'_>, reads_content: bool) {
        if !segment.is_gap {
            return;
        }
        let lost = match (segment.direction, self.stream.is_in_step(segment.direction)) {
            (Direction::ClientToServer, false) => Some(Lost::Requests),
            (Direction::ClientToServer, true) => reads_content.then_some(Lost::Statement),
            (Direction::ServerToClient, in_step) => (!in_step).then_some(Lost::Replies),
        };
        if let Some(lost) = lost {
            self.apply_note(Note::Lost { at: segment.at, lost });
        }
    }

    fn drain(mut self, fingerprints: &mut Fingerprints, out: &mut FactSink<'_>) -> Drained {
        self.finish(fingerprints, out);
        let connection = self.pairing.drained(self.stream.decoding());
        Drained::new(connection, self.is_reversed)
    }

    fn close(mut self, event: ConnectionEvent<'_>, fingerprints: &mut Fingerprints, out: &mut FactSink<'_>) {
        let ConnectionEvent::Closed { at, totals, .. } = self.turned(event) else {
            return;
        };
        self.finish(fingerprints, out);
        self.pairing.closed(at, totals, self.stream.decoding(), out);
    }

    /// Also says why a connection stayed encrypted.
    fn finish(&mut self, fingerprints: &mut Fingerprints, out: &mut FactSink<'_>) {
        self.decode(fingerprints, out, |stream, sink| stream.finish(sink));
        if let Some(direction) = self.stream.close_requested() {
            self.pairing.close_requested(direction);
        }
    }

    /// Decodes the payload. Waiting messages are reported with the observations up to their end.
    fn decode(
        &mut self,
        fingerprints: &mut Fingerprints,
        out: &mut FactSink<'_>,
        run: impl FnOnce(&mut Stream, &mut wire::decoder::MessageSink<'_>),
    ) {
        let Self {
            stream,
            pairing,
            protocol,
            notes,
            ..
        } = self;
        let mut unnamed = UnnamedFacts::new(*protocol);
        run(stream, &mut |message: &Message<'_>| {
            notes.emit_until(message.ended, pairing);
            let known = match (*protocol, message.protocol) {
                (known, Protocol::Unknown) => known,
                (known, exact) if known.is_over_http() => exact,
                (known, _) => known,
            };
            pairing.message(message, known, fingerprints, &mut |fact| {
                unnamed.process_fact(fact).each(&mut *out);
            });
        });
        notes.emit_all(pairing);
        if *protocol == Protocol::Tls || protocol.is_over_http() {
            *protocol = stream.protocol();
        }
        unnamed.flush(*protocol).each(out);
    }
}
