//! Errors of echo between two longwires.

use std::time::Duration;
use sys::error::{LiveError, OsError};
use sys::target::TargetError;

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum EchoError {
    /// The other side cannot be reached, or this side cannot listen.
    #[error(transparent)]
    Live(#[from] LiveError),
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The peer answers, but is not `longwire echo`.
    #[error("{server} is not a listening longwire: it answered with something else")]
    Foreign { server: String },
    #[error("{server} accepted the connection and did not answer within {} s", after.as_secs())]
    Silent { server: String, after: Duration },
    #[error("{server} closed the connection: {reason}")]
    Closed {
        server: String,
        /// The operating system's message, or that the connection ended in order.
        reason: Ending,
    },
    #[error("the longwire at {server} is of another version: its echo is {theirs}, this one's {ours}")]
    Version { server: String, theirs: u16, ours: u16 },
    #[error("the longwire at {server} takes messages of 1 to {most} bytes")]
    Sizes { server: String, most: u32 },
    #[error("the longwire at {server} takes at most {most} streams of a client")]
    Streams { server: String, most: u32 },
    #[error("the longwire at {server} has as many connections as it takes")]
    Busy { server: String },
    #[error("no reply from {server} within {}", model::format_duration(*after))]
    NoReply { server: String, after: Duration },
    #[error("ended before the first reply")]
    Stopped,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Ending {
    #[error("it has ended")]
    Finished,
    #[error("{0}")]
    Broken(OsError),
}

impl EchoError {
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
