//! What pairing finds out about a connection, in the order in which it does: the input of operations and of
//! recordings.

use model::{
    ConnectionId, ConnectionOutcome, Endpoint, Exchange, Fingerprint, Protocol, RequestId, Timestamp,
};

/// One thing found out.
///
/// Of one connection `Opened` comes first and `Closed` last; of all connections together the order is that of
/// the observation, exchanges by their end.
#[derive(Debug, Clone, PartialEq)]
pub enum Fact {
    /// A connection was seen for the first time.
    Opened {
        /// Its number.
        connection: ConnectionId,
        /// When.
        at: Timestamp,
        /// The side that opened it.
        client: Endpoint,
        /// The side that accepted it.
        server: Endpoint,
    },
    /// An HTTP request has passed whole: whatever its server asks of others from now on may be on its behalf.
    Started {
        /// The connection it came on.
        connection: ConnectionId,
        /// When its last byte passed.
        at: Timestamp,
        /// Method and path, as its exchange will have them.
        fingerprint: Option<Fingerprint>,
        /// The identifier it carries.
        request: Option<RequestId>,
    },
    /// Opaque bytes have begun an exchange, or are in its reply. Where its reply ends cannot be determined
    /// before the client goes on or leaves: the exchange itself is emitted then, which may be long after what
    /// it was for is over.
    Begun {
        /// The connection.
        connection: ConnectionId,
        /// The exchange's own time ([`Exchange::at`]).
        at: Timestamp,
    },
    /// An exchange is complete.
    Exchange {
        /// The exchange.
        exchange: Box<Exchange>,
        /// The protocol of its connection.
        protocol: Protocol,
    },
    /// A connection ended, or the observation did.
    Closed(Box<ConnectionOutcome>),
}

impl Fact {
    /// Where it belongs among the facts of all connections: when it was found out, exchanges and connections
    /// by their end.
    pub fn time(&self) -> Timestamp {
        match self {
            Self::Opened { at, .. } | Self::Started { at, .. } | Self::Begun { at, .. } => *at,
            Self::Exchange { exchange, .. } => exchange.ended(),
            Self::Closed(outcome) => outcome.at.after(outcome.duration),
        }
    }
}

/// Receives facts as they are found.
pub type FactSink<'s> = dyn FnMut(Fact) + 's;
