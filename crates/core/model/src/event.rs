//! Observed connection events, the same for captures and live relays.

use crate::{ConnectionId, Direction, Endpoint, PerDirection, RttSource, Side, Timestamp, Watermark};
use std::time::Duration;

/// Receives events in the order of observation.
///
/// Each connection has [`ConnectionEvent::Opened`] first and [`ConnectionEvent::Closed`] last.
/// Times of one direction never decrease. Events of different connections interleave.
pub trait Observer {
    /// Receives an event of `connection`.
    fn event(&mut self, connection: ConnectionId, event: ConnectionEvent<'_>);
}

/// One event of a connection.
#[derive(Debug, Clone, Copy)]
pub enum ConnectionEvent<'a> {
    /// The connection's first packet or accepted socket.
    Opened {
        /// Time of the event.
        at: Timestamp,
        /// The side that opened the connection, if known.
        client: Endpoint,
        /// The side that accepted it.
        server: Endpoint,
        /// Whether the handshake showed the sides, instead of ports.
        sides_certain: bool,
    },
    /// The complete TCP handshake was seen.
    Handshake(TcpHandshake),
    /// A request on the client's behalf.
    RelayHandshake(RelayHandshake),
    /// Payload passed the observation point.
    Segment(Segment<'a>),
    /// A measured round trip to one side, without delayed acknowledgements. Consumers keep the
    /// minimum over a window.
    RoundTrip {
        /// Time at which the sample was complete.
        at: Timestamp,
        /// The measured part of the path.
        side: Side,
        /// Never negative, zero below the clock's resolution.
        rtt: Duration,
    },
    /// A derived round-trip time of one side, valid until a measured or derived one is shorter.
    /// [`RttSource::FastestReply`] is meaningful only for the server's side, as clients may pause.
    AssumedRoundTrip {
        /// Time from which it is known.
        at: Timestamp,
        /// The affected part of the path.
        side: Side,
        /// An upper limit of the true value, zero on loopback.
        rtt: Duration,
        /// Source of the value.
        source: RttSource,
    },
    /// Bytes of one direction waited for a retransmission.
    Recovery {
        /// Direction of the lost or late bytes.
        direction: Direction,
        /// When the first missing byte was expected.
        from: Timestamp,
        /// When the missing bytes had passed.
        to: Timestamp,
    },
    /// One direction ended. May come much earlier than [`ConnectionEvent::Closed`].
    Ended {
        /// When its FIN, or a RST of either side, was due in stream order.
        at: Timestamp,
        /// The direction that ended.
        direction: Direction,
    },
    /// No payload of the connection follows: both directions ended a while ago, and no byte of them
    /// is missing. Packets that come late only count in the totals.
    Drained,
    /// The connection or the observation ended.
    Closed {
        /// First FIN or RST, or the end of the observation.
        at: Timestamp,
        /// How the connection ended.
        how: Closing,
        /// Totals of the connection.
        totals: ConnectionTotals,
    },
}

impl<'a> ConnectionEvent<'a> {
    /// Separates event and payload for storage; [`ConnectionEvent::with_payload`] joins them again.
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
            Self::Drained => ConnectionEvent::Drained,
            Self::Closed { at, how, totals } => ConnectionEvent::Closed { at, how, totals },
        };
        (detached, &[])
    }

    /// Sets the payload of a segment.
    pub fn with_payload(self, payload: &'a [u8]) -> Self {
        if let Self::Segment(segment) = self {
            return Self::Segment(Segment { payload, ..segment });
        }
        self
    }

    /// Exchanges client and server. A handshake shows the sides, so its events stay as they are.
    #[must_use]
    pub fn reversed(self) -> Self {
        match self {
            Self::Opened { .. } | Self::Handshake(_) | Self::RelayHandshake(_) | Self::Drained => self,
            Self::Segment(segment) => Self::Segment(Segment {
                direction: segment.direction.reverse(),
                ..segment
            }),
            Self::RoundTrip { at, side, rtt } => Self::RoundTrip {
                at,
                side: side.reverse(),
                rtt,
            },
            Self::AssumedRoundTrip {
                at,
                side,
                rtt,
                source,
            } => Self::AssumedRoundTrip {
                at,
                side: side.reverse(),
                rtt,
                source,
            },
            Self::Recovery { direction, from, to } => Self::Recovery {
                direction: direction.reverse(),
                from,
                to,
            },
            Self::Ended { at, direction } => Self::Ended {
                at,
                direction: direction.reverse(),
            },
            Self::Closed { at, how, totals } => Self::Closed {
                at,
                how,
                totals: totals.reversed(),
            },
        }
    }
}

/// Times of a TCP handshake. `syn_ack - syn` is the server-side round trip, `ack - syn_ack` the
/// client-side one, each with the peer's reaction time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TcpHandshake {
    /// The last SYN before the SYN-ACK (retransmissions count as recovery).
    pub syn: Timestamp,
    /// Time of the first SYN-ACK.
    pub syn_ack: Timestamp,
    /// The client's first packet after the SYN-ACK.
    pub ack: Timestamp,
}

/// A round trip made on the client's behalf to negotiate TLS, as an encrypting client does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RelayHandshake {
    /// Time at which the request was sent.
    pub asked: Timestamp,
    /// Arrival of the first reply bytes.
    pub came: Timestamp,
    /// Arrival of the last reply bytes.
    pub ended: Timestamp,
    /// Payload bytes that passed.
    pub payload_bytes: PerDirection<u64>,
}

impl RelayHandshake {
    /// Creates it from request and reply.
    pub const fn asked(asked: Timestamp, came: Timestamp, payload_bytes: PerDirection<u64>) -> Self {
        Self {
            asked,
            came,
            ended: came,
            payload_bytes,
        }
    }

    /// Adds further reply bytes.
    pub fn goes_on(&mut self, came: Timestamp, bytes: u64) {
        self.ended = self.ended.max(came);
        self.payload_bytes[Direction::ServerToClient] += bytes;
    }
}

/// Bytes of one direction that passed the observation point.
#[derive(Debug, Clone, Copy)]
pub struct Segment<'a> {
    /// Direction of the bytes.
    pub direction: Direction,
    /// When the last byte and all before it had passed.
    pub at: Timestamp,
    /// The bytes, each once and in order.
    pub payload: &'a [u8],
    /// Bytes after `payload` that were not captured (snap length, or lost). Consumers must count
    /// them.
    pub unseen: u64,
    /// Whether no packet with the unseen bytes was captured: they may hold whole messages.
    pub is_gap: bool,
    /// Time directly before this segment that the sender had room but no data in flight, so was
    /// computing or waiting. Zero while window, rate or loss limited it; `None` if unknown.
    pub sender_idle: Option<Duration>,
}

/// How a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Closing {
    /// A FIN of either side was seen.
    Finished,
    /// A RST of either side was seen.
    Reset,
    /// The observation ended before the connection did.
    Unfinished,
}

/// Totals of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ConnectionTotals {
    /// Payload bytes without retransmissions, with unseen bytes.
    pub payload_bytes: PerDirection<u64>,
    /// All packets; `None` if the source cannot count them.
    pub packets: Option<PerDirection<u64>>,
    /// Their bytes with link-layer header, without frame check sequence; `None` likewise.
    pub wire_bytes: Option<PerDirection<u64>>,
    /// Retransmitted packets of both directions (repeated payload, SYN or FIN, or a gap closed too
    /// late for reordering); `None` likewise.
    pub retransmitted_packets: Option<u64>,
    /// Payload bytes per direction missing from the capture. In a one-sided capture the other
    /// direction is unknown, not unseen.
    pub unseen_bytes: PerDirection<u64>,
    /// False for the missing half of a one-sided capture.
    pub seen: PerDirection<bool>,
}

impl ConnectionTotals {
    /// Exchanges client and server.
    #[must_use]
    pub fn reversed(self) -> Self {
        Self {
            payload_bytes: self.payload_bytes.reversed(),
            packets: self.packets.map(PerDirection::reversed),
            wire_bytes: self.wire_bytes.map(PerDirection::reversed),
            retransmitted_packets: self.retransmitted_packets,
            unseen_bytes: self.unseen_bytes.reversed(),
            seen: self.seen.reversed(),
        }
    }
}

/// Creates the observer of each connection.
pub trait ObserverFactory: Send + Sync {
    /// Called once per connection that reached the server, before its first event, on the thread
    /// that forwards it and keeps the observer.
    fn observe(&self, id: ConnectionId) -> Box<dyn Observer + Send>;

    /// Called once by each thread that forwards, before it does.
    fn watermark(&self) -> Watermark {
        Watermark::default()
    }
}
