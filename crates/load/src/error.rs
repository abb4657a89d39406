//! Why an operation, or a whole load, failed.

use client::bridge::BridgeError;
use client::session::SessionError;
use std::time::Duration;
use sys::error::{Blame, LiveError};

/// Why an operation failed, or a client could not be made. Texts hold no literal and no value: what a server
/// quotes is replaced by `?`.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum LoadError {
    /// No connection.
    #[error(transparent)]
    Connect(#[from] LiveError),
    /// No session, or the end of one.
    #[error(transparent)]
    Session(SessionError),
    /// The JDBC driver, or what leads to it, failed.
    #[error(transparent)]
    Bridge(BridgeError),
    /// The operation took too long.
    #[error("server: no complete reply within {} s", after.as_secs_f64())]
    TimedOut {
        /// How long was waited.
        after: Duration,
    },
    /// The connection ended before the reply did.
    #[error("server: the connection was closed before the reply was complete")]
    Closed,
    /// The connection broke.
    #[error("server: the connection broke: {reason}")]
    Broken {
        /// What the operating system says.
        reason: sys::OsError,
    },
    /// An HTTP status other than success. Redirects are not followed.
    #[error("server: HTTP status {status}")]
    Status {
        /// The status.
        status: u16,
    },
    /// A statement failed.
    #[error("server: statement {number} failed: {code} {text}")]
    Statement {
        /// Which of the script's statements, from 1.
        number: usize,
        /// The server's code: an SQLSTATE, or MySQL's number.
        code: String,
        /// What it says, without what it quotes.
        text: String,
    },
    /// The server sent something that its protocol does not allow there.
    #[error("server: {0}")]
    Unexpected(#[from] wire::DecodeError),
    /// The target is of a kind for which there is no load.
    #[error("there is no load for {scheme}:// targets")]
    Scheme {
        /// The target's scheme.
        scheme: &'static str,
    },
    /// A URL for HTTP load is not one.
    #[error("the URL is none of HTTP: write http://HOST:PORT/PATH, with %20 for spaces")]
    NotHttp,
    /// There is nothing to run.
    #[error("there is no script to run")]
    NoScript,
    /// A script sends statements without waiting, to a server that does not take them so.
    #[error("pipelines are PostgreSQL's: \\startpipeline is nothing for this target")]
    Pipeline,
    /// Replies are compressed, and some of them would have to be read.
    #[error(
        "compress=true goes with statements sent as texts whose results are not kept: no extended or prepared mode, no \\gset"
    )]
    Compressed,
    /// A statement whose row a script keeps gave none, or several.
    #[error("statement {number}: \\gset wants one row, and its result has none or several")]
    NotOneRow {
        /// Which of the script's statements, from 1.
        number: usize,
    },
    /// A statement whose result a script keeps gave too much.
    #[error("statement {number}: its result is too large to be kept (16 MiB)")]
    KeptTooLong {
        /// Which of the script's statements, from 1.
        number: usize,
    },
    /// A script is wrong.
    #[error(transparent)]
    Script(#[from] script::ScriptError),
    /// A command did not succeed.
    #[error("the command ended with {status}")]
    Command {
        /// Its exit status or signal, in words.
        status: String,
    },
    /// A command could not be started.
    #[error("the command could not be started: {reason}")]
    CommandNotStarted {
        /// What the operating system says.
        reason: sys::OsError,
    },
    /// The run was ended from outside.
    #[error("stopped")]
    Stopped,
}

impl LoadError {
    /// What to do next, in one line, where there is something.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Session(error) => error.hint(),
            Self::Bridge(error) => error.hint(),
            Self::Connect(error) => error.hint(),
            _ => None,
        }
    }

    /// Who is to blame.
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

impl From<SessionError> for LoadError {
    /// What also ends operations of other kinds keeps its name.
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

impl From<BridgeError> for LoadError {
    /// What also ends operations of other kinds keeps its name.
    fn from(error: BridgeError) -> Self {
        match error {
            BridgeError::TimedOut { after } => Self::TimedOut { after },
            BridgeError::Stopped => Self::Stopped,
            other => Self::Bridge(other),
        }
    }
}
