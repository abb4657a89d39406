//! Messages: units of a protocol, and the protocol-neutral part each plays.

use crate::{Direction, RequestId, SpanId, Timestamp};
use std::fmt;

/// One unit of a protocol, borrowed from the decoder for the duration of the call that hands it over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message<'a> {
    /// The protocol it is a message of; unknown for bytes that are not decoded.
    pub protocol: Protocol,
    /// Which way it travels.
    pub direction: Direction,
    /// When its first byte had passed the observation point.
    pub started: Timestamp,
    /// When its last byte had passed.
    pub ended: Timestamp,
    /// Bytes it took on the stream, framing included. Of a compressed protocol, its share of the compressed
    /// bytes: the shares of one block's messages sum to the block.
    pub bytes: u64,
    /// The part it plays between client and server.
    pub role: Role,
    /// What the exchange it belongs to is for.
    pub phase: Phase,
    /// What it says, as far as longwire looks.
    pub content: Content<'a>,
}

/// The part a message plays in the conversation: all that pairing needs to know about a protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// Client: belongs to a request that is still being written; no reply is expected yet (a PostgreSQL
    /// `Parse`).
    RequestPart,
    /// Client: completes a request; one reply is expected for it (`Query`, `Sync`, `COM_QUERY`).
    Request,
    /// Client: nothing is owed for it (`Terminate`, `COM_STMT_CLOSE`).
    OneWay,
    /// Server: belongs to the oldest owed reply, more follows.
    ReplyPart,
    /// Server: completes the oldest owed reply.
    Reply,
    /// Server: now waits for more from the client before the same reply can end (`CopyInResponse`, LOCAL
    /// INFILE, `100 Continue`, an answer to `Flush`). The client's next message begins a further turn of the
    /// same exchange.
    ReplyPause,
    /// Server: speaks without having been asked, and the client waits for it (the MySQL greeting).
    Greeting,
    /// Server: speaks without having been asked, and no client waits for it (`NotificationResponse`).
    Notice,
    /// Either side: bytes of a direction that is not decoded; exchanges follow its changes of direction.
    Opaque,
}

/// What an exchange is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// The TCP handshake, and a greeting of the server.
    Connect,
    /// Negotiating encryption, and the TLS handshake.
    Tls,
    /// Start-up and authentication.
    Login,
    /// What the connection is for.
    Work,
    /// Closing.
    Close,
}

impl Phase {
    /// The word for it in records and reports.
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

/// What a message says, as far as longwire looks. Texts are raw bytes in the connection's encoding and may
/// hold literals: code that keeps them makes a fingerprint first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content<'a> {
    /// Nothing longwire looks at.
    Other,
    /// Bytes that are not decoded because payload before or among them is not in the capture.
    Cut,
    /// A statement that runs now, by its text. May be cut at the decoder's limit.
    Statement {
        /// The SQL text (without query attributes or parameters).
        text: &'a [u8],
    },
    /// A statement that is prepared for later.
    Prepare {
        /// The decoder's number for it, unique on this connection and never reused.
        statement: StatementId,
        /// The SQL text.
        text: &'a [u8],
    },
    /// A prepared statement runs.
    Execute {
        /// Which; `None` if it was prepared before the observation began.
        statement: Option<StatementId>,
        /// Rows requested at most in this round trip; `None` if the client asks for all.
        fetch_rows: Option<u32>,
        /// Bytes of rows requested at most in this round trip, where the protocol counts in bytes (Informix's
        /// FET_BUF_SIZE, DRDA's QRYBLKSZ); `None` otherwise.
        fetch_bytes: Option<u32>,
        /// Sets of parameters carried (array or bulk execution); 1 otherwise.
        sets: u32,
        /// Values of the parameters as sent; empty where there are none, or where a [`Content::Bind`] gave
        /// them. `None` if the decoder does not report them, or not all of them.
        values: Option<&'a [u8]>,
    },
    /// A prepared statement is given the values of its parameters; its execution follows.
    Bind {
        /// The values as sent; `None` if not all of them were kept.
        values: Option<&'a [u8]>,
    },
    /// A prepared statement is closed.
    Close,
    /// A statement whose preparation was not seen is used from here on. A message of its own, without bytes,
    /// in front of the one that uses it; once for each statement.
    Unseen {
        /// The decoder's number for it.
        statement: StatementId,
        /// What the protocol calls it: a name, or a number in digits. Empty where it has no name.
        name: &'a [u8],
        /// Parameters that it was given; `None` if that does not show.
        parameters: Option<u16>,
    },
    /// A prepared statement whose preparation was seen has this name. A message of its own, without bytes;
    /// once for each statement with a name.
    Named {
        /// The decoder's number for it.
        statement: StatementId,
        /// What the protocol calls it: a name, or a number in digits.
        name: &'a [u8],
        /// Its parameters; `None` if that does not show.
        parameters: Option<u16>,
    },
    /// How many columns the result of a prepared statement has; 0 where it writes and returns none. A message
    /// of its own, without bytes, in front of the one that shows it; once for each statement that was
    /// announced by [`Content::Unseen`] or [`Content::Named`].
    Columns {
        /// The decoder's number for it.
        statement: StatementId,
        /// Columns.
        count: u16,
    },
    /// A command of the protocol that no statement's text goes with.
    Command {
        /// As the protocol's documentation calls it.
        name: &'static str,
        /// What it is given, where it is another command with another number: of a function call the
        /// function.
        number: Option<u32>,
    },
    /// More rows of a statement that runs already.
    Fetch {
        /// Which; `None` if it was prepared before the observation began.
        statement: Option<StatementId>,
        /// Rows requested at most.
        fetch_rows: Option<u32>,
        /// Bytes of rows requested at most, as in [`Content::Execute`].
        fetch_bytes: Option<u32>,
    },
    /// One row of a result.
    Row,
    /// A statement is done.
    Done {
        /// Rows affected or returned, where the server reports them.
        rows: Option<u64>,
        /// State of the transaction after it, where this message also reports it (MySQL). `None` if
        /// [`Content::Ready`] follows with it (PostgreSQL).
        transaction: Option<TransactionState>,
    },
    /// The whole reply is done; reports the state of the transaction after it.
    Ready(TransactionState),
    /// The server reports an error.
    Error {
        /// The machine-readable code: an SQLSTATE, a vendor number, a status code.
        code: &'a [u8],
        /// The text; may quote literals and values.
        text: &'a [u8],
    },
    /// The server's product and version as it introduces itself.
    ServerVersion {
        /// As sent.
        text: &'a [u8],
    },
    /// The client's software as it introduces itself (a driver's name and version, a program).
    Client {
        /// As sent. Nothing of a user, a password or a path.
        text: &'a [u8],
    },
    /// A start-up parameter the client sends. Never a password.
    Parameter {
        /// Its name as sent.
        name: &'a [u8],
        /// Its value as sent.
        value: &'a [u8],
    },
    /// An HTTP request, also one that a web server passes on by FastCGI.
    HttpRequest {
        /// `GET`, `POST`, ...
        method: &'a [u8],
        /// The request target as sent, query string included (which may hold literals).
        target: &'a [u8],
        /// The identifier it carries: that of its `traceparent`, otherwise of its `X-Request-Id`. `None`
        /// without one, and where the field is there twice with different values.
        request: Option<RequestId>,
        /// The span it was sent in, where the identifier is that of a `traceparent`.
        span: Option<SpanId>,
    },
    /// An HTTP response.
    HttpResponse {
        /// 100 to 599.
        status: u16,
    },
}

/// A decoder's number for a prepared statement, unique on its connection and never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StatementId(pub u32);

/// State of a transaction after a reply, as the server says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TransactionState {
    /// None is open.
    Idle,
    /// One is open.
    Open,
    /// One is open and has failed.
    Failed,
}

/// The protocol of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Protocol {
    /// PostgreSQL frontend/backend protocol 3, and its relatives (KingbaseES, openGauss, Redshift,
    /// CockroachDB).
    Postgres,
    /// MySQL and MariaDB client/server protocol.
    Mysql,
    /// Redis's protocol, RESP2 and RESP3, and its relatives (Valkey, KeyDB).
    Redis,
    /// Oracle Net (TNS) and TTC inside it.
    Oracle,
    /// Informix SQLI (onsoctcp).
    Informix,
    /// DRDA: Db2, Derby, Informix's drsoctcp.
    Drda,
    /// SQL Server's TDS.
    Tds,
    /// HTTP/1.0 and 1.1.
    Http,
    /// FastCGI: how a web server passes a request to an application, such as php-fpm.
    Fastcgi,
    /// TLS whose inner protocol is not known.
    Tls,
    /// Anything else, or nothing seen yet.
    Unknown,
}

impl Protocol {
    /// All of them.
    pub const ALL: &[Self] = &[
        Self::Postgres,
        Self::Mysql,
        Self::Redis,
        Self::Oracle,
        Self::Informix,
        Self::Drda,
        Self::Tds,
        Self::Http,
        Self::Fastcgi,
        Self::Tls,
        Self::Unknown,
    ];

    /// The word for it on the command line, in records and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Postgres => "postgres",
            Self::Mysql => "mysql",
            Self::Redis => "redis",
            Self::Oracle => "oracle",
            Self::Informix => "informix",
            Self::Drda => "drda",
            Self::Tds => "tds",
            Self::Http => "http",
            Self::Fastcgi => "fastcgi",
            Self::Tls => "tls",
            Self::Unknown => "unknown",
        }
    }

    /// Whether a server of it may ask other servers on behalf of a request.
    pub const fn carries_requests(self) -> bool {
        matches!(self, Self::Http | Self::Fastcgi)
    }

    /// Whether this is a database's protocol.
    pub const fn is_database(self) -> bool {
        !matches!(self, Self::Http | Self::Fastcgi | Self::Tls | Self::Unknown)
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// How far a connection could be decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decoding {
    /// The protocol, as far as it is known now.
    pub protocol: Protocol,
    /// Whether payload is (or became) encrypted.
    pub encrypted: bool,
    /// Why messages are not (or no longer) decoded, in one clause for a person; `None` while they are. Round
    /// trips, bytes and times are still counted, from the changes of direction.
    pub opaque: Option<String>,
}
