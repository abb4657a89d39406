//! Events of connections to facts: the decoders and the pairing of each connection.

use analysis::fact::{Fact, Sink};
use analysis::fingerprint::{Fingerprints, KnownFingerprints};
use analysis::pairing::{OwedInAll, Pairing};
use model::{ConnectionEvent, ConnectionId, ConnectionMap, Message, Protocol, Segment};
use std::hash::RandomState;
use wire::Stream;

/// Decodes any number of connections.
#[derive(Debug)]
pub struct Connections {
    open: ConnectionMap<Connection>,
    fingerprints: Fingerprints,
    keep_literals: bool,
    digests: RandomState,
    owed: OwedInAll,
}

impl Connections {
    /// None yet. `keep_literals` keeps statement texts as sent beside their fingerprints.
    pub fn new(keep_literals: bool) -> Self {
        Self {
            open: ConnectionMap::default(),
            fingerprints: Fingerprints::default(),
            keep_literals,
            digests: RandomState::new(),
            owed: OwedInAll::default(),
        }
    }

    /// The same with a key for digests that others of the run have too: equal reads of all connections are told.
    #[must_use]
    pub fn with_digests(self, digests: RandomState) -> Self {
        Self { digests, ..self }
    }

    /// The same with fingerprints that others of the run make too: the bound on how many are told apart is of the run.
    #[must_use]
    pub fn with_fingerprints(self, known: KnownFingerprints) -> Self {
        let fingerprints = Fingerprints::among(known);
        Self { fingerprints, ..self }
    }

    /// The same with a bound on what is owed a reply that others of the run share.
    #[must_use]
    pub fn with_owed(self, owed: OwedInAll) -> Self {
        Self { owed, ..self }
    }

    /// Takes what an observation point saw; hands out the facts that follow from it.
    pub fn event(&mut self, id: ConnectionId, event: ConnectionEvent<'_>, out: &mut Sink<'_>) {
        if let ConnectionEvent::Opened {
            at, client, server, ..
        } = event
        {
            let pairing = Pairing::new(id, at, client, server, self.keep_literals)
                .with_digests(self.digests.clone())
                .with_owed(self.owed.clone());
            let stream = Stream::new(server.port);
            self.open.insert(
                id,
                Connection {
                    stream,
                    pairing,
                    protocol: Protocol::Unknown,
                },
            );
            out(Fact::Opened {
                connection: id,
                at,
                client,
                server,
            });
            return;
        }
        if let ConnectionEvent::Closed { at, totals, .. } = event {
            if let Some(mut connection) = self.open.remove(&id) {
                connection.decode(&mut self.fingerprints, out, |stream, sink| stream.finish(sink));
                let decoding = connection.stream.decoding();
                connection.pairing.closed(at, totals, decoding, out);
            }
            return;
        }
        if let Some(connection) = self.open.get_mut(&id) {
            connection.event(event, &mut self.fingerprints, out);
        }
    }
}

/// One connection under way.
#[derive(Debug)]
struct Connection {
    stream: Stream,
    pairing: Pairing,
    protocol: Protocol,
}

impl Connection {
    fn event(&mut self, event: ConnectionEvent<'_>, fingerprints: &mut Fingerprints, out: &mut Sink<'_>) {
        match event {
            ConnectionEvent::Segment(segment) => self.segment(&segment, fingerprints, out),
            ConnectionEvent::Handshake(handshake) => self.pairing.handshake(handshake, out),
            ConnectionEvent::RoundTrip { at, side, rtt } => self.pairing.round_trip(at, side, rtt),
            ConnectionEvent::AssumedRoundTrip {
                at,
                side,
                rtt,
                source,
            } => {
                self.pairing.assumed_round_trip(at, side, rtt, source);
            }
            ConnectionEvent::Recovery { from, to, .. } => self.pairing.recovery(from, to),
            ConnectionEvent::Opened { .. } | ConnectionEvent::Closed { .. } => {}
        }
    }

    fn segment(&mut self, segment: &Segment<'_>, fingerprints: &mut Fingerprints, out: &mut Sink<'_>) {
        self.pairing
            .segment(segment.direction, segment.at, segment.sender_idle);
        self.decode(fingerprints, out, |stream, sink| {
            stream.feed(segment.at, segment.direction, segment.payload, sink);
            stream.skip(segment.at, segment.direction, segment.unseen, sink);
        });
    }

    /// Runs the decoder. The bytes that tell the protocol are handed out before it can be asked for: what follows from
    /// them is named afterwards.
    fn decode(
        &mut self,
        fingerprints: &mut Fingerprints,
        out: &mut Sink<'_>,
        run: impl FnOnce(&mut Stream, &mut wire::decoder::Sink<'_>),
    ) {
        let Self {
            stream,
            pairing,
            protocol,
        } = self;
        if *protocol != Protocol::Unknown {
            run(stream, &mut |message: Message<'_>| {
                pairing.message(&message, *protocol, fingerprints, out)
            });
            return;
        }
        let mut facts = Vec::new();
        run(stream, &mut |message: Message<'_>| {
            pairing.message(&message, *protocol, fingerprints, &mut |fact| facts.push(fact));
        });
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
