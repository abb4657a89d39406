//! A record as it is read.

use super::Interner;
use model::{
    Conditions, ConnectionId, ConnectionOutcome, Endpoint, Exchange, Fingerprint, Protocol,
    RecognisedStatement, RequestId, Summary, Timestamp, Warning,
};

#[derive(Debug, Clone, PartialEq)]
pub enum Record {
    /// Conditions of the run.
    Conditions(Conditions),
    Opened {
        connection: ConnectionId,
        at: Timestamp,
        client: Endpoint,
        server: Endpoint,
    },
    Started {
        connection: ConnectionId,
        /// The last byte of the request.
        at: Timestamp,
        /// Method and path.
        fingerprint: Option<Fingerprint>,
        request: Option<RequestId>,
    },
    /// Opaque bytes began an exchange that is reported much later.
    Begun {
        connection: ConnectionId,
        at: Timestamp,
    },
    /// The client ended its direction.
    Left {
        connection: ConnectionId,
        at: Timestamp,
    },
    Exchange {
        /// Equal fingerprints and error codes share one allocation.
        exchange: Box<Exchange>,
        protocol: Protocol,
        /// The operation it was assigned to by the run that wrote it.
        operation: Option<u64>,
    },
    Connection(ConnectionOutcome),
    /// A warning of the run, or of the reader about a truncated stream.
    Warning(Warning),
    Recognised(RecognisedStatement),
    Summary(Box<Summary>),
    /// A derived record (`statement`, `operation`, `prediction`), or one with an unknown type.
    Other {
        name: String,
    },
}

pub(super) trait ReadBody {
    /// Frequent texts are interned in `shared`.
    fn into_record(self, shared: &mut Interner) -> Record;
}
