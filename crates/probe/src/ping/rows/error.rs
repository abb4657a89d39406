//! Why rows could not be sent a packet each.

use super::MAX_ROWS;
use client::session::SessionError;
use client::{ErrorReply, ReplyFault};
use sys::error::Blame;

/// Why rows could not be sent a packet each. Texts hold no secret and no value.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RowsError {
    /// The connection could not be made, or broke.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// A number of rows that is too small to measure with, or absurd.
    #[error("{rows} rows: write a number from 2 to {MAX_ROWS}")]
    Count {
        /// As requested.
        rows: u64,
    },
    /// More rows than a server should be made to keep.
    #[error(
        "{rows} rows: this server keeps all rows before it sends the first, so {most} of this size are the most"
    )]
    TooMany {
        /// As requested.
        rows: u64,
        /// That would be done.
        most: u64,
    },
    /// The protocol has no way to make the server send row by row.
    #[error("--rows works with PostgreSQL's and MySQL's protocol, not with {scheme}:// targets")]
    Scheme {
        /// The target's scheme.
        scheme: &'static str,
    },
    /// Inside TLS, rows are records, and the client's kernel sees neither.
    #[error(
        "rows cannot be made one packet each inside TLS: each would need its own record, whose size TLS decides"
    )]
    Encrypted,
    /// A Unix-domain socket.
    #[error("a Unix-domain socket has no packets that rows could fill")]
    NoPackets,
    /// The server answered a statement with an error.
    #[error("server: {code} {text}")]
    Statement {
        /// Its code: an SQLSTATE, or MySQL's number.
        code: String,
        /// What it says, without what it quotes.
        text: String,
    },
    /// The server did not open a cursor.
    #[error("server: it sends all rows at once: it opened no cursor for the statement")]
    NoCursor,
    /// The server sent something other than the expected row.
    #[error("server: {found} where the next row was to come")]
    OutOfStep {
        /// What came.
        found: &'static str,
    },
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
    /// Who is to blame.
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

    /// What to do next, in one line, where there is something.
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
