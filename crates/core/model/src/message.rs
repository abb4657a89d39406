//! Protocol messages and their protocol-neutral roles.

use crate::{Direction, Protocol, RequestId, SpanId, Timestamp};

/// One protocol message, borrowed from the decoder during the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message<'a> {
    /// The protocol, unknown for undecoded bytes.
    pub protocol: Protocol,
    /// Direction of the message.
    pub direction: Direction,
    /// The stream of a connection that is shared by exchanges in any order; 0 where exchanges are
    /// in order, and [`Message::CONTROL_STREAM`] for bytes of no exchange between them.
    pub stream: u32,
    /// When the first byte had passed the observation point.
    pub started: Timestamp,
    /// When the last byte had passed.
    pub ended: Timestamp,
    /// Bytes on the stream with framing, or a share of a compressed block.
    pub bytes: u64,
    /// Role between client and server.
    pub role: Role,
    /// Purpose of the exchange.
    pub phase: Phase,
    /// Content used by longwire.
    pub content: Content<'a>,
}

impl Message<'_> {
    /// Stream number of bytes outside of exchanges, on a connection with streams.
    pub const CONTROL_STREAM: u32 = u32::MAX;
}

/// A message's role in request and reply, independent of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// Client message within an unfinished request (a PostgreSQL `Parse`).
    RequestPart,
    /// Client message that completes a request (`Query`, `Sync`, `COM_QUERY`).
    Request,
    /// Client message without a reply (`Terminate`, `COM_STMT_CLOSE`).
    OneWay,
    /// Server message within the oldest expected reply.
    ReplyPart,
    /// Server message that completes the oldest expected reply.
    Reply,
    /// Server message that waits for the client within a reply (`CopyInResponse`, LOCAL INFILE,
    /// `100 Continue`, an answer to `Flush`); another round trip follows.
    ReplyPause,
    /// Unrequested server message for which the client waits (the MySQL greeting).
    Greeting,
    /// Unrequested server message without a waiting client (`NotificationResponse`).
    Notice,
    /// Undecoded bytes of either side; exchanges follow the changes of direction.
    Opaque,
}

/// Purpose of an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// The TCP handshake, and a greeting of the server.
    Connect,
    /// Negotiating encryption, and the TLS handshake.
    Tls,
    /// Start-up and authentication messages.
    Login,
    /// Requests for the connection's purpose.
    Work,
    /// Messages that close the connection.
    Close,
}

impl Phase {
    /// All phases in this order.
    pub const ALL: [Self; 5] = [Self::Connect, Self::Tls, Self::Login, Self::Work, Self::Close];

    /// Name in records and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Connect => "connect",
            Self::Tls => "tls",
            Self::Login => "login",
            Self::Work => "work",
            Self::Close => "close",
        }
    }
}

/// Message content used by longwire. Texts are raw bytes in the connection's encoding and may hold
/// literals: store only fingerprints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content<'a> {
    /// Content that longwire does not use.
    Other,
    /// Undecoded bytes, because payload is missing.
    Cut,
    /// Bytes of an unknown protocol.
    Undecoded {
        /// The first of them.
        start: &'a [u8],
    },
    /// Statement that runs now, possibly cut by the decoder.
    Statement {
        /// The SQL text (without query attributes or parameters).
        text: &'a [u8],
    },
    /// A statement and its parameters, which runs now: a command of MongoDB.
    Run {
        /// The decoder's number for the statement, for fetches of its result.
        statement: Option<StatementId>,
        /// Text of the statement, without parameters.
        text: &'a [u8],
        /// Maximum rows of the first reply.
        fetch_rows: Option<u32>,
        /// Number of rows or operations that it carries, else 1.
        sets: u32,
        /// Parameters of a read as sent, if complete.
        values: Option<&'a [u8]>,
    },
    /// A statement is prepared for later.
    Prepare {
        /// The decoder's number for the statement.
        statement: StatementId,
        /// Text of the statement.
        text: &'a [u8],
    },
    /// A prepared statement runs.
    Execute {
        /// The statement, unless prepared before the observation.
        statement: Option<StatementId>,
        /// Maximum rows requested, if limited.
        fetch_rows: Option<u32>,
        /// Maximum row bytes, where the protocol has them (Informix's FET_BUF_SIZE, DRDA's
        /// QRYBLKSZ).
        fetch_bytes: Option<u32>,
        /// Number of parameter sets (array or bulk execution), else 1.
        sets: u32,
        /// Parameter values as sent, empty after a [`Content::Bind`]. `None` if not fully reported.
        values: Option<&'a [u8]>,
    },
    /// Parameter values for the execution that follows.
    Bind {
        /// Values as sent, if complete.
        values: Option<&'a [u8]>,
    },
    /// A prepared statement is closed.
    Close,
    /// First use of a statement with unseen preparation: an additional message without bytes.
    Unseen {
        /// The decoder's number for the statement.
        statement: StatementId,
        /// Name in the protocol, or number in digits; empty without a name.
        name: &'a [u8],
        /// Number of parameters, if known.
        parameters: Option<u16>,
    },
    /// Name of a statement with seen preparation: an additional message without bytes.
    Named {
        /// The decoder's number for the statement.
        statement: StatementId,
        /// Name in the protocol, or number in digits.
        name: &'a [u8],
        /// Number of parameters, if known.
        parameters: Option<u16>,
    },
    /// Result columns of a statement announced by [`Content::Unseen`] or [`Content::Named`]: an
    /// additional message without bytes, sent once.
    Columns {
        /// The decoder's number for the statement.
        statement: StatementId,
        /// Number of columns, 0 for writes.
        count: u16,
    },
    /// A protocol command without a statement text.
    Command {
        /// Name in the protocol's documentation.
        name: &'static str,
        /// Number that distinguishes the command, such as the function of a call.
        number: Option<u32>,
    },
    /// Request for more rows of a running statement.
    Fetch {
        /// The statement, unless prepared before the observation.
        statement: Option<StatementId>,
        /// Maximum number of rows.
        fetch_rows: Option<u32>,
        /// Maximum row bytes, as in [`Content::Execute`].
        fetch_bytes: Option<u32>,
    },
    /// One row of a result.
    Row,
    /// A statement has completed.
    Done {
        /// Rows affected or returned, where reported.
        rows: Option<u64>,
        /// Transaction state, if in this message (MySQL) instead of [`Content::Ready`]
        /// (PostgreSQL).
        transaction: Option<TransactionState>,
    },
    /// End of the whole reply, with the transaction state.
    Ready(TransactionState),
    /// The server reports an error.
    Error {
        /// An SQLSTATE, vendor number or status code.
        code: &'a [u8],
        /// Text that may quote literals and values.
        text: &'a [u8],
    },
    /// Product and version of the server.
    ServerVersion {
        /// The text as sent.
        text: &'a [u8],
    },
    /// Client software (name and version of a driver, a program).
    Client {
        /// As sent, without user, password or path.
        text: &'a [u8],
    },
    /// A start-up parameter of the client, never a password.
    Parameter {
        /// The name as sent.
        name: &'a [u8],
        /// The value as sent.
        value: &'a [u8],
    },
    /// An HTTP request, also one forwarded by FastCGI.
    HttpRequest {
        /// HTTP method, such as `GET`.
        method: &'a [u8],
        /// Request target as sent, with the query string (which may hold literals); empty if not seen.
        target: &'a [u8],
        /// Identifier from `traceparent` or `X-Request-Id`, unless repeated with different values.
        request: Option<RequestId>,
        /// The span of the `traceparent`, if that is the identifier.
        span: Option<SpanId>,
    },
    /// A request to a store over HTTP, or to a program with a language of its own (GraphQL).
    Call {
        /// Operation and names, or a statement; may hold literals.
        text: &'a [u8],
        /// Form of that text.
        syntax: CallSyntax,
        /// Target and body, which differ between requests with this text. `None` if not kept whole.
        identity: Option<[&'a [u8]; 2]>,
        /// As in an HTTP request.
        request: Option<RequestId>,
        /// As in an HTTP request.
        span: Option<SpanId>,
    },
    /// An HTTP response with its status.
    HttpResponse {
        /// Status from 100 to 599.
        status: u16,
    },
}

impl<'a> Content<'a> {
    /// Text of a statement that runs or is prepared.
    pub const fn statement_text(&self) -> Option<&'a [u8]> {
        if let Self::Statement { text }
        | Self::Run { text, .. }
        | Self::Prepare { text, .. }
        | Self::Call {
            text,
            syntax: CallSyntax::Statement,
            ..
        } = *self
        {
            return Some(text);
        }
        None
    }
}

/// Form of the text of a [`Content::Call`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallSyntax {
    /// Statements in the protocol's [`crate::Dialect`].
    Statement,
    /// An operation and names.
    Words,
    /// The same, and it reads a result, or the first so many rows of it.
    FirstPage {
        /// Maximum rows of the reply.
        rows: u32,
    },
    /// The same, and it reads the next part of an earlier result.
    NextPage,
    /// HTTP method and target.
    Target,
}

/// A decoder's number for a prepared statement, unique on its connection and never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StatementId(pub u32);

/// Transaction state after a reply, as reported by the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TransactionState {
    /// No transaction is open.
    Idle,
    /// A transaction is open.
    Open,
    /// The open transaction has failed.
    Failed,
}

impl TransactionState {
    /// All states in this order.
    pub const ALL: [Self; 3] = [Self::Idle, Self::Open, Self::Failed];

    /// Name used in records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Open => "open",
            Self::Failed => "failed",
        }
    }
}

/// How far a connection could be decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decoding {
    /// The protocol as known now.
    pub protocol: Protocol,
    /// Whether payload is (or became) encrypted.
    pub encrypted: bool,
    /// Clause on why messages are not (or no longer) decoded. Round trips, bytes and times still
    /// count.
    pub opaque: Option<String>,
}
