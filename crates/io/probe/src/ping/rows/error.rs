use super::MAX_ROWS;
use client::session::SessionError;
use client::{ErrorReply, ReplyFault};
use sys::error::Blame;

/// Errors of row trains. Texts contain no secret and no value.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RowsError {
    #[error(transparent)]
    Session(#[from] SessionError),
    #[error("{rows} rows: write a number from 2 to {MAX_ROWS}")]
    Count { rows: u64 },
    /// The server would store too many rows.
    #[error(
        "{rows} rows: this server keeps all rows before it sends the first, so {most} of this size are the most"
    )]
    TooMany { rows: u64, most: u64 },
    /// The protocol cannot make the server send single rows.
    #[error("--rows works with PostgreSQL's and MySQL's protocol, not with {scheme}:// targets")]
    Scheme { scheme: &'static str },
    /// Inside TLS, rows are records, invisible to the client's kernel.
    #[error(
        "rows cannot be made one packet each inside TLS: each would need its own record, whose size TLS decides"
    )]
    Encrypted,
    #[error("a Unix-domain socket has no packets that rows could fill")]
    NoPackets,
    #[error("server: {code} {text}")]
    Statement {
        code: String,
        /// The text without quoted parts.
        text: String,
    },
    #[error("server: it sends all rows at once: it opened no cursor for the statement")]
    NoCursor,
    #[error("server: {found} where the next row was to come")]
    OutOfStep { found: &'static str },
}

impl From<ErrorReply> for RowsError {
    fn from(refused: ErrorReply) -> Self {
        Self::Statement {
            code: refused.number().to_owned(),
            text: refused.text,
        }
    }
}

impl From<ReplyFault> for RowsError {
    fn from(fault: ReplyFault) -> Self {
        match fault {
            ReplyFault::Refused(refused) => refused.into(),
            ReplyFault::Malformed { found } => Self::OutOfStep { found },
        }
    }
}

impl RowsError {
    pub const fn blame(&self) -> Blame {
        match self {
            Self::Session(error) => error.blame(),
            Self::Count { .. }
            | Self::TooMany { .. }
            | Self::Scheme { .. }
            | Self::Encrypted
            | Self::NoPackets => Blame::Longwire,
            Self::Statement { .. } | Self::NoCursor | Self::OutOfStep { .. } => Blame::Server,
        }
    }

    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Session(error) => return error.hint(),
            Self::Encrypted => "without TLS, where the server allows that: sslmode=disable",
            Self::NoPackets => "name a host instead of a directory",
            Self::Scheme { .. } => "without --rows, ping measures the round-trip time of every target",
            Self::OutOfStep { .. } | Self::NoCursor => "is a proxy or a pool in between?",
            Self::Count { .. } | Self::TooMany { .. } | Self::Statement { .. } => return None,
        };
        Some(hint.to_owned())
    }
}
