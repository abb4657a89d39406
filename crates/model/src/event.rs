//! What an observation point sees of a connection: the one input of everything downstream.
//!
//! A capture file and a live relay produce the same events, so that one decoder and one analysis serve both.

use crate::{ConnectionId, Direction, Endpoint, RttSource, Side, Timestamp};
use std::time::Duration;

/// Takes what an observation point sees, in the order in which it saw it.
///
/// Calling order for one connection: [`ConnectionEvent::Opened`] once and first; then any number of the
/// others; [`ConnectionEvent::Closed`] once and last. Times of one direction never go back. Events of
/// different connections interleave.
pub trait Observer {
    /// One thing that was seen on `connection`.
    fn event(&mut self, connection: ConnectionId, event: ConnectionEvent<'_>);
}

/// One thing seen on a connection.
#[derive(Debug, Clone, Copy)]
pub enum ConnectionEvent<'a> {
    /// The first packet, or the accepted socket, of a connection.
    Opened {
        /// When it was seen.
        at: Timestamp,
        /// The side that opened the connection, as far as can be determined.
        client: Endpoint,
        /// The side that accepted it.
        server: Endpoint,
        /// Whether the handshake showed which side is which. When false the sides are a guess from the ports.
        sides_certain: bool,
    },
    /// The TCP handshake was seen whole.
    Handshake(TcpHandshake),
    /// The observation point asked the server something on the client's behalf.
    RelayHandshake(RelayHandshake),
    /// Payload passed.
    Segment(Segment<'a>),
    /// A measured round trip between the observation point and one side, without delayed acknowledgements.
    /// The source emits samples as it has them; the consumer keeps the minimum over a window.
    RoundTrip {
        /// When the sample was complete.
        at: Timestamp,
        /// Which part of the path it covers.
        side: Side,
        /// The round trip; never negative, zero when below the clock's resolution.
        rtt: Duration,
    },
    /// A round trip of one side that was not measured on this connection but follows from something else. It
    /// holds until a measured one, or the next of these, is shorter. [`RttSource::FastestReply`] is reported
    /// for both sides, but means something only for the server's: a server answers at once when it can, a
    /// client may think for any time.
    AssumedRoundTrip {
        /// Since when it is known.
        at: Timestamp,
        /// Which part of the path it covers.
        side: Side,
        /// The round trip; not shorter than the true one, but on loopback, where it is none.
        rtt: Duration,
        /// What it follows from.
        source: RttSource,
    },
    /// Time during which the bytes of one direction waited for a retransmission.
    Recovery {
        /// The direction whose bytes were lost or late.
        direction: Direction,
        /// When the first of the missing bytes was due (its original passage, or the first byte seen beyond
        /// it).
        from: Timestamp,
        /// When the missing bytes had passed.
        to: Timestamp,
    },
    /// One direction ended: nothing follows in it. Reported where the source sees it, before
    /// [`ConnectionEvent::Closed`], which may come much later.
    Ended {
        /// When its FIN, or a RST of either side, was due in the order of the stream.
        at: Timestamp,
        /// The direction.
        direction: Direction,
    },
    /// The connection ended, or the observation did.
    Closed {
        /// When: the first FIN or RST, or the end of the observation.
        at: Timestamp,
        /// How it ended.
        how: Closing,
        /// What passed in all.
        totals: ConnectionTotals,
    },
}

impl<'a> ConnectionEvent<'a> {
    /// The event without its payload, and the payload: for keeping both. [`ConnectionEvent::with_payload`]
    /// joins them again.
    pub fn detach(self) -> (ConnectionEvent<'static>, &'a [u8]) {
        let detached = match self {
            Self::Segment(segment) => {
                let bare = Segment {
                    payload: &[],
                    ..segment
                };
                return (ConnectionEvent::Segment(bare), segment.payload);
            }
            Self::Opened {
                at,
                client,
                server,
                sides_certain,
            } => ConnectionEvent::Opened {
                at,
                client,
                server,
                sides_certain,
            },
            Self::Handshake(handshake) => ConnectionEvent::Handshake(handshake),
            Self::RelayHandshake(trip) => ConnectionEvent::RelayHandshake(trip),
            Self::RoundTrip { at, side, rtt } => ConnectionEvent::RoundTrip { at, side, rtt },
            Self::AssumedRoundTrip {
                at,
                side,
                rtt,
                source,
            } => ConnectionEvent::AssumedRoundTrip {
                at,
                side,
                rtt,
                source,
            },
            Self::Recovery { direction, from, to } => ConnectionEvent::Recovery { direction, from, to },
            Self::Ended { at, direction } => ConnectionEvent::Ended { at, direction },
            Self::Closed { at, how, totals } => ConnectionEvent::Closed { at, how, totals },
        };
        (detached, &[])
    }

    /// The event with this payload, if it is a segment; any other as it is.
    pub fn with_payload(self, payload: &'a [u8]) -> Self {
        match self {
            Self::Segment(segment) => Self::Segment(Segment { payload, ..segment }),
            other => other,
        }
    }
}

/// Times of a TCP handshake at the observation point. `syn_ack - syn` is the round trip to the server's side,
/// `ack - syn_ack` the round trip to the client's side, each with the peer's own answering time in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TcpHandshake {
    /// The last SYN before the SYN-ACK (retransmitted SYNs are recovery, not round trip).
    pub syn: Timestamp,
    /// The first SYN-ACK.
    pub syn_ack: Timestamp,
    /// The client's first packet after it.
    pub ack: Timestamp,
}

/// One round trip that the observation point made to the server on the client's behalf, to agree on TLS: a
/// client that encrypts by itself makes the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RelayHandshake {
    /// When its request was sent.
    pub asked: Timestamp,
    /// When the first bytes of the reply came.
    pub came: Timestamp,
    /// When the last ones did.
    pub ended: Timestamp,
    /// Payload each way ([`Direction::index`]).
    pub payload_bytes: [u64; 2],
}

impl RelayHandshake {
    /// It was asked and answered.
    pub const fn asked(asked: Timestamp, came: Timestamp, payload_bytes: [u64; 2]) -> Self {
        Self {
            asked,
            came,
            ended: came,
            payload_bytes,
        }
    }

    /// More of its reply came.
    pub fn goes_on(&mut self, came: Timestamp, bytes: u64) {
        self.ended = self.ended.max(came);
        self.payload_bytes[1] += bytes;
    }
}

/// Bytes of one direction with the time they passed the observation point.
#[derive(Debug, Clone, Copy)]
pub struct Segment<'a> {
    /// Which way they travel.
    pub direction: Direction,
    /// When the last of them had passed and, because of TCP's order, all before them too.
    pub at: Timestamp,
    /// The bytes, each exactly once and in order (retransmissions removed).
    pub payload: &'a [u8],
    /// Bytes that follow `payload` on the stream but were not captured (cut by the snap length or lost by the
    /// capturing host). The consumer must count them and cannot decode them.
    pub unseen: u64,
    /// How long, directly before this segment, the sender had nothing in flight and room to send: time it
    /// spent computing or waiting for something else, as far as the observation point can determine. Zero
    /// while the sender was limited by window, rate or loss. `None` if it cannot be determined.
    pub sender_idle: Option<Duration>,
}

/// How a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Closing {
    /// A FIN was seen (from either side).
    Finished,
    /// A RST was seen.
    Reset,
    /// The observation ended before the connection did.
    Unfinished,
}

/// What passed on a connection in all. Index 0 of each pair is client-to-server ([`Direction::index`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ConnectionTotals {
    /// Payload bytes, each stream byte once (retransmissions excluded, unseen bytes included).
    pub payload_bytes: [u64; 2],
    /// Packets seen, with acknowledgements and retransmissions. `None` if the source cannot count them.
    pub packets: Option<[u64; 2]>,
    /// Bytes of those packets as they were on the wire, link-layer header included, frame check sequence not.
    /// `None` if the source cannot count them.
    pub wire_bytes: Option<[u64; 2]>,
    /// Packets sent again, both directions: they carried payload, a SYN or a FIN already seen, or closed a
    /// gap later than packets that change places would. `None` if the source cannot count them.
    pub retransmitted_packets: Option<u64>,
    /// Payload bytes that passed (by their sequence numbers) but are not in the capture, per direction. A
    /// one-sided capture leaves the other direction's payload unknown, not unseen.
    pub unseen_bytes: [u64; 2],
    /// Whether any packet of this direction was seen; false for the missing half of a one-sided capture.
    pub seen: [bool; 2],
}

impl ConnectionTotals {
    /// The same with client and server exchanged.
    #[must_use]
    pub fn reversed(self) -> Self {
        let turned = |[first, second]: [u64; 2]| [second, first];
        Self {
            payload_bytes: turned(self.payload_bytes),
            packets: self.packets.map(turned),
            wire_bytes: self.wire_bytes.map(turned),
            retransmitted_packets: self.retransmitted_packets,
            unseen_bytes: turned(self.unseen_bytes),
            seen: [self.seen[1], self.seen[0]],
        }
    }
}

/// Makes the observer of each connection.
pub trait ObserverFactory: Send + Sync {
    /// The observer of the connection `id`. Called once for each connection that reached the server, on the
    /// thread that will forward it, just before its first event; the observer stays on that thread.
    fn observe(&self, id: ConnectionId) -> Box<dyn Observer + Send>;
}
