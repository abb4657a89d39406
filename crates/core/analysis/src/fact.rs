//! Results of pairing, in order: the input of operations and recordings.

use model::{
    ConnectionId, ConnectionOutcome, Endpoint, Exchange, Fingerprint, Protocol, RequestId, Timestamp,
};

/// Of one connection `Opened` comes first and `Closed` last. Facts of all connections are in the
/// order of observation, exchanges by their end.
#[derive(Debug, Clone, PartialEq)]
pub enum Fact {
    Opened {
        connection: ConnectionId,
        at: Timestamp,
        client: Endpoint,
        server: Endpoint,
    },
    /// An HTTP request has passed completely. Its server's later requests to others may be on its
    /// behalf.
    Started {
        connection: ConnectionId,
        /// When the last byte passed.
        at: Timestamp,
        /// Method and path, as in the exchange that follows.
        fingerprint: Option<Fingerprint>,
        request: Option<RequestId>,
    },
    /// Opaque bytes have begun an exchange or continue its reply. The end of the reply is known
    /// only when the client sends again or leaves, so the exchange may be emitted much later.
    Begun {
        connection: ConnectionId,
        /// Equals [`Exchange::at`] of the exchange.
        at: Timestamp,
    },
    Exchange {
        exchange: Box<Exchange>,
        protocol: Protocol,
    },
    /// The client ended its direction: it asks nothing more. The connection itself ends later.
    Left { connection: ConnectionId, at: Timestamp },
    /// The connection or the observation ended.
    Closed(Box<ConnectionOutcome>),
}

impl Fact {
    /// Position among the facts of all connections; exchanges and connections count by their end.
    pub fn time(&self) -> Timestamp {
        match self {
            Self::Opened { at, .. }
            | Self::Started { at, .. }
            | Self::Begun { at, .. }
            | Self::Left { at, .. } => *at,
            Self::Exchange { exchange, .. } => exchange.ended(),
            Self::Closed(outcome) => outcome.at.after(outcome.duration),
        }
    }
}

pub type FactSink<'s> = dyn FnMut(Fact) + 's;
