//! What can go wrong between two longwires that echo.

use std::time::Duration;
use sys::error::{LiveError, OsError};
use sys::target::TargetError;

/// An error of echo: who, what and where in its text, what to do next in [`EchoError::hint`].
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum EchoError {
    /// The other side cannot be reached, or this side cannot listen.
    #[error(transparent)]
    Live(#[from] LiveError),
    /// The address is none.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// Something answers that is not `longwire echo`.
    #[error("{server} is not a listening longwire: it answered with something else")]
    Foreign {
        /// Where.
        server: String,
    },
    /// Something accepts connections and says nothing.
    #[error("{server} accepted the connection and did not answer within {} s", after.as_secs())]
    Silent {
        /// Where.
        server: String,
        /// How long was waited.
        after: Duration,
    },
    /// It hung up.
    #[error("{server} closed the connection: {reason}")]
    Closed {
        /// Where.
        server: String,
        /// What the operating system says, or that it ended in order.
        reason: Ending,
    },
    /// The other longwire speaks another version.
    #[error("the longwire at {server} is of another version: its echo is {theirs}, this one's {ours}")]
    Version {
        /// Where.
        server: String,
        /// The version it speaks.
        theirs: u16,
        /// The version spoken here.
        ours: u16,
    },
    /// The sizes requested are beyond what the other side takes.
    #[error("the longwire at {server} takes messages of 1 to {most} bytes")]
    Sizes {
        /// Where.
        server: String,
        /// Its limit.
        most: u32,
    },
    /// More streams than the other side takes.
    #[error("the longwire at {server} takes at most {most} streams of a client")]
    Streams {
        /// Where.
        server: String,
        /// Its limit.
        most: u32,
    },
    /// The other side has as many connections as it takes.
    #[error("the longwire at {server} has as many connections as it takes")]
    Busy {
        /// Where.
        server: String,
    },
    /// No round trip was completed.
    #[error("no reply from {server} within {}", model::format_duration(*after))]
    NoReply {
        /// Where.
        server: String,
        /// How long was waited.
        after: Duration,
    },
    /// Ended by the user before there was anything to report.
    #[error("ended before the first reply")]
    Stopped,
}

/// How a connection ended that should not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Ending {
    /// The other side sent its end.
    #[error("it has ended")]
    Finished,
    /// The connection broke.
    #[error("{0}")]
    Broken(OsError),
}

impl EchoError {
    /// What to do next, where that is known.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Live(LiveError::Refused { server, .. }) => Some(format!(
                "start the other side first: longwire echo --listen {server}"
            )),
            Self::Live(error) => error.hint(),
            Self::Target(error) => error.hint(),
            Self::Foreign { .. } | Self::Silent { .. } => Some(
                "start `longwire echo --listen` on the other side; for a database's round-trip time use `longwire ping`"
                    .to_owned(),
            ),
            Self::Version { .. } => Some("use the same longwire on both sides".to_owned()),
            Self::NoReply { .. } => Some("measure longer: -T 10s".to_owned()),
            Self::Busy { .. } => Some("wait until its other clients have ended".to_owned()),
            Self::Closed { .. } | Self::Sizes { .. } | Self::Streams { .. } | Self::Stopped => None,
        }
    }
}
