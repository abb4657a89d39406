use client::bridge::BridgeError;
use client::session::SessionError;
use std::time::Duration;
use sys::error::{Blame, LiveError};

/// Errors of operations, clients and runs. Texts contain no literal and no value: the parts quoted
/// by a server are replaced by `?`.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Connect(#[from] LiveError),
    #[error(transparent)]
    Session(SessionError),
    #[error(transparent)]
    Bridge(BridgeError),
    #[error("server: no complete reply within {} s", after.as_secs_f64())]
    TimedOut { after: Duration },
    #[error("server: the connection was closed before the reply was complete")]
    Closed,
    #[error("server: the connection broke: {reason}")]
    Broken { reason: sys::OsError },
    /// Any status but success. Redirects are not followed.
    #[error("server: HTTP status {status}")]
    Status { status: u16 },
    #[error("server: statement {number} failed: {code} {text}")]
    Statement {
        /// Among the statements of all scripts, from 1.
        number: usize,
        /// An SQLSTATE, or MySQL's error number.
        code: String,
        /// The text without quoted parts.
        text: String,
    },
    #[error("server: {0}")]
    Unexpected(#[from] wire::DecodeError),
    #[error("there is no load for {scheme}:// targets")]
    Scheme { scheme: &'static str },
    #[error("the URL is none of HTTP: write http://HOST:PORT/PATH, with %20 for spaces")]
    NotHttp,
    #[error("there is no script to run")]
    NoScript,
    #[error("pipelines are PostgreSQL's: \\startpipeline is nothing for this target")]
    Pipeline,
    /// Replies are compressed, but some of them must be read.
    #[error(
        "compress=true goes with statements sent as texts whose results are not kept: no extended or prepared mode, no \\gset"
    )]
    Compressed,
    #[error("statement {number}: \\gset wants one row, and its result has none or several")]
    NotOneRow {
        /// Among the statements of all scripts, from 1.
        number: usize,
    },
    #[error("statement {number}: its result is too large to be kept (16 MiB)")]
    KeptTooLong {
        /// Among the statements of all scripts, from 1.
        number: usize,
    },
    #[error(transparent)]
    Script(#[from] crate::script::Error),
    #[error("the command ended with {status}")]
    Command { status: String },
    #[error("the command could not be started: {reason}")]
    CommandNotStarted { reason: sys::OsError },
    #[error("stopped")]
    Stopped,
}

impl Error {
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Session(error) => error.hint(),
            Self::Bridge(error) => error.hint(),
            Self::Connect(error) => error.hint(),
            _ => None,
        }
    }

    pub const fn blame(&self) -> Blame {
        match self {
            Self::Connect(error) => error.blame(),
            Self::Session(error) => error.blame(),
            Self::Bridge(error) => error.blame(),
            Self::TimedOut { .. }
            | Self::Closed
            | Self::Broken { .. }
            | Self::Status { .. }
            | Self::Statement { .. }
            | Self::Unexpected(_) => Blame::Server,
            Self::Command { .. } => Blame::Client,
            Self::Scheme { .. }
            | Self::NotHttp
            | Self::NoScript
            | Self::Pipeline
            | Self::Compressed
            | Self::NotOneRow { .. }
            | Self::KeptTooLong { .. }
            | Self::Script(_)
            | Self::CommandNotStarted { .. }
            | Self::Stopped => Blame::Longwire,
        }
    }
}

impl From<SessionError> for Error {
    fn from(error: SessionError) -> Self {
        match error {
            SessionError::Connect(error) => Self::Connect(error),
            SessionError::TimedOut { after } => Self::TimedOut { after },
            SessionError::Closed => Self::Closed,
            SessionError::Broken { reason } => Self::Broken { reason },
            SessionError::Unexpected(error) => Self::Unexpected(error),
            SessionError::Stopped => Self::Stopped,
            other => Self::Session(other),
        }
    }
}

impl From<BridgeError> for Error {
    fn from(error: BridgeError) -> Self {
        match error {
            BridgeError::TimedOut { after } => Self::TimedOut { after },
            BridgeError::Stopped => Self::Stopped,
            other => Self::Bridge(other),
        }
    }
}
