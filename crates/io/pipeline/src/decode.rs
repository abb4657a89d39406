//! Decodes events of connections into facts, with a decoder and the pairing of each connection.

use super::notes::{Note, Notes};
use analysis::exchange_pool::ExchangePool;
use analysis::fact::{Fact, FactSink};
use analysis::fingerprint::{Fingerprints, KnownFingerprints};
use analysis::pairing::{Pairing, PendingReplyBudget};
use analysis::round_trip::Paths;
use model::{
    ConnectionEvent, ConnectionId, ConnectionMap, ConnectionTotals, Direction, Endpoint, Message, Protocol,
    Segment, Side, Timestamp,
};
use std::hash::RandomState;
use std::sync::Arc;
use tls_keys::Secrets;
use wire::Stream;

pub struct ConnectionDecoders {
    open: ConnectionMap<Connection>,
    fingerprints: Fingerprints,
    keep_literals: bool,
    digests: RandomState,
    reply_budget: PendingReplyBudget,
    paths: Paths,
    secrets: Option<Arc<dyn Secrets>>,
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
            fingerprints: Fingerprints::default(),
            keep_literals,
            digests: RandomState::new(),
            reply_budget: PendingReplyBudget::default(),
            paths: Paths::default(),
            secrets: None,
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
            let opened = Opened { at, client, server };
            let stream = if sides_certain {
                Stream::new(server.port)
            } else {
                Stream::joined(server.port)
            };
            let mut connection = Connection {
                opened,
                stream: stream.with_secrets(self.secrets.clone()),
                pairing: opened.pairing(id, self),
                protocol: Protocol::Unknown,
                notes: Notes::default(),
                is_introduced: false,
                is_settled: false,
            };
            if sides_certain {
                connection.introduce(id, out);
            }
            self.open.insert(id, connection);
            return;
        }
        let is_closing = matches!(event, ConnectionEvent::Closed { .. });
        if let Some(connection) = self
            .open
            .get_mut(&id)
            .filter(|open| open.is_settled && !is_closing)
        {
            return connection.event(event, &mut self.fingerprints, out);
        }
        let Some(mut connection) = self.open.remove(&id) else {
            return;
        };
        if let ConnectionEvent::Ended {
            direction: Direction::ServerToClient,
            ..
        } = event
            && connection.is_introduced
        {
            connection.stream.decide_at_end();
            self.flush_connection(id, &mut connection, out);
        }
        if let ConnectionEvent::Closed { at, totals, .. } = event {
            connection.stream.decide_at_end();
            self.flush_connection(id, &mut connection, out);
            return connection.close(at, totals, &mut self.fingerprints, out);
        }
        connection.event(event, &mut self.fingerprints, out);
        if !connection.stream.is_undecided() {
            self.flush_connection(id, &mut connection, out);
        }
        self.open.insert(id, connection);
    }

    /// Emits waiting facts after the connection's protocol and sides are decided.
    fn flush_connection(&mut self, id: ConnectionId, connection: &mut Connection, out: &mut FactSink<'_>) {
        if std::mem::replace(&mut connection.is_settled, true) {
            return;
        }
        if connection.stream.is_reversed() {
            connection.opened = connection.opened.reversed();
            connection.pairing = connection.opened.pairing(id, self);
            connection.notes.reverse();
        }
        connection.introduce(id, out);
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
}

impl Opened {
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
    /// Whether the connection has been reported. Reporting waits until the sides are certain.
    is_introduced: bool,
    /// Whether the protocol is decided and waiting facts were emitted.
    is_settled: bool,
}

impl Connection {
    fn introduce(&mut self, connection: ConnectionId, out: &mut FactSink<'_>) {
        if std::mem::replace(&mut self.is_introduced, true) {
            return;
        }
        let Opened { at, client, server } = self.opened;
        out(Fact::Opened {
            connection,
            at,
            client,
            server,
        });
    }

    fn event(&mut self, event: ConnectionEvent<'_>, fingerprints: &mut Fingerprints, out: &mut FactSink<'_>) {
        match event {
            ConnectionEvent::Segment(segment) => self.segment(&segment, fingerprints, out),
            ConnectionEvent::Handshake(handshake) => self.pairing.handshake(handshake, out),
            ConnectionEvent::RelayHandshake(trip) => self.pairing.in_stead(trip, out),
            ConnectionEvent::RoundTrip { at, side, rtt } => {
                let side = self.side(side);
                self.apply_note(Note::RoundTrip { at, side, rtt });
            }
            ConnectionEvent::AssumedRoundTrip {
                at,
                side,
                rtt,
                source,
            } => {
                let side = self.side(side);
                self.apply_note(Note::AssumedRoundTrip {
                    at,
                    side,
                    rtt,
                    source,
                });
            }
            ConnectionEvent::Recovery { from, to, .. } => self.apply_note(Note::Recovery { from, to }),
            ConnectionEvent::Ended { at, direction } => {
                let direction = self.direction(direction);
                self.ended(at, direction, fingerprints, out);
            }
            ConnectionEvent::Opened { .. } | ConnectionEvent::Closed { .. } => {}
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
        if direction == Direction::ClientToServer || self.stream.is_undecided() {
            return;
        }
        let as_seen = self.direction(direction);
        self.decode(fingerprints, out, |stream, sink| stream.end(at, as_seen, sink));
        self.pairing.server_ended(at, self.protocol, out);
    }

    /// Applies an observation that affects later messages: immediately, or after the messages that
    /// wait.
    fn apply_note(&mut self, note: Note) {
        if self.stream.is_undecided() {
            self.notes.add(note);
        } else {
            note.emit_note(&mut self.pairing);
        }
    }

    fn side(&self, side: Side) -> Side {
        match (self.stream.is_reversed(), side) {
            (false, side) => side,
            (true, Side::Client) => Side::Server,
            (true, Side::Server) => Side::Client,
        }
    }

    fn direction(&self, direction: Direction) -> Direction {
        if self.stream.is_reversed() {
            direction.reverse()
        } else {
            direction
        }
    }

    fn segment(&mut self, segment: &Segment<'_>, fingerprints: &mut Fingerprints, out: &mut FactSink<'_>) {
        self.apply_note(Note::Segment {
            direction: self.direction(segment.direction),
            at: segment.at,
            idle: segment.sender_idle,
        });
        if self.stream.is_undecided() {
            self.stream
                .detect_protocol(segment.at, segment.direction, segment.payload, segment.unseen);
            return;
        }
        self.decode(fingerprints, out, |stream, sink| {
            stream.feed(segment.at, segment.direction, segment.payload, sink);
            stream.skip(segment.at, segment.direction, segment.unseen, sink);
        });
    }

    fn close(
        mut self,
        at: Timestamp,
        mut totals: ConnectionTotals,
        fingerprints: &mut Fingerprints,
        out: &mut FactSink<'_>,
    ) {
        if self.stream.is_reversed() {
            totals = totals.reversed();
        }
        self.decode(fingerprints, out, |stream, sink| stream.finish(sink));
        let decoding = self.stream.decoding();
        self.pairing.closed(at, totals, decoding, out);
    }

    /// Decodes the payload. The bytes that determine the protocol are processed before it is
    /// queried, because it names the facts that follow. Waiting messages are reported with the
    /// observations up to their end.
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
        if !matches!(protocol, Protocol::Unknown | Protocol::Tls) {
            run(stream, &mut |message: Message<'_>| {
                pairing.message(&message, *protocol, fingerprints, out)
            });
            return;
        }
        let mut facts = Vec::new();
        run(stream, &mut |message: Message<'_>| {
            notes.emit_until(message.ended, pairing);
            pairing.message(&message, *protocol, fingerprints, &mut |fact| facts.push(fact));
        });
        notes.emit_all(pairing);
        *protocol = stream.protocol();
        for fact in facts {
            out(match fact {
                Fact::Exchange { exchange, .. } => Fact::Exchange {
                    exchange,
                    protocol: *protocol,
                },
                fact => fact,
            });
        }
    }
}
