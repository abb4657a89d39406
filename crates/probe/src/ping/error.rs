//! Why a sample was lost, or a target cannot be asked.

use client::bridge::BridgeError;
use client::session::SessionError;
use std::time::Duration;
use sys::error::{LiveError, OsError};

/// Why a sample was lost, or a target cannot be asked. Texts hold no literal and no secret.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PingError {
    /// No connection.
    #[error(transparent)]
    Connect(#[from] LiveError),
    /// Nothing, or not all of the reply, came in time.
    #[error("no complete reply within {}", model::format_duration(*after))]
    TimedOut {
        /// How long was waited.
        after: Duration,
    },
    /// The connection ended before the reply did.
    #[error("server: the connection was closed before the reply was complete")]
    Closed,
    /// The connection broke.
    #[error("link: the connection broke: {reason}")]
    Broken {
        /// What the operating system says.
        reason: OsError,
    },
    /// The server does not speak the target's protocol.
    #[error("server: its answer is not {expected}")]
    Unexpected {
        /// What should have come.
        expected: &'static str,
    },
    /// The session failed in another way.
    #[error(transparent)]
    Session(SessionError),
    /// The JDBC driver, or what leads to it, failed.
    #[error(transparent)]
    Bridge(BridgeError),
    /// The system does not let this program send ICMP.
    #[error("longwire may not send ICMP here: {reason}")]
    IcmpRefused {
        /// What the operating system says.
        reason: OsError,
    },
    /// The user ended it.
    #[error("stopped")]
    Stopped,
}

impl PingError {
    /// Whether it is no more than silence: such a target is asked again, any other cannot be asked from the
    /// start.
    pub const fn is_silence(&self) -> bool {
        matches!(
            self,
            Self::TimedOut { .. } | Self::Connect(LiveError::ConnectTimedOut { .. })
        )
    }

    /// Whether another protocol answered: there is no point in asking again.
    pub const fn is_other_protocol(&self) -> bool {
        matches!(self, Self::Session(SessionError::OtherProtocol { .. }))
    }

    /// What to do next, in one line, where there is something.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Connect(error) => error.hint(),
            Self::Unexpected { .. } => Some("is it the right scheme and port?".to_owned()),
            Self::IcmpRefused { .. } => Some(
                "as root, let every user ping: sysctl net.ipv4.ping_group_range='0 2147483647'; or leave --icmp out"
                    .to_owned(),
            ),
            Self::Session(error) => error.hint(),
            Self::Bridge(error) => error.hint(),
            Self::TimedOut { .. }
            | Self::Closed
            | Self::Broken { .. }
            | Self::Stopped => None,
        }
    }
}

impl From<SessionError> for PingError {
    fn from(error: SessionError) -> Self {
        match error {
            SessionError::Connect(error) => Self::Connect(error),
            SessionError::TimedOut { after } => Self::TimedOut { after },
            SessionError::Closed => Self::Closed,
            SessionError::Broken { reason } => Self::Broken { reason },
            SessionError::Stopped => Self::Stopped,
            SessionError::Login { .. }
            | SessionError::Unexpected(_)
            | SessionError::NotTheProtocol { .. }
            | SessionError::OtherProtocol { .. }
            | SessionError::Authentication { .. }
            | SessionError::NoPassword
            | SessionError::Redirected { .. }
            | SessionError::Driver { .. }
            | SessionError::NotBuiltIn { .. }
            | SessionError::PasswordFileOpen { .. }
            | SessionError::PasswordUnprotected { .. }
            | SessionError::NotBound
            | SessionError::TooLong { .. }
            | SessionError::NoCompression
            | SessionError::NoSql => Self::Session(error),
        }
    }
}

impl From<BridgeError> for PingError {
    fn from(error: BridgeError) -> Self {
        match error {
            BridgeError::TimedOut { after } => Self::TimedOut { after },
            BridgeError::Stopped => Self::Stopped,
            other => Self::Bridge(other),
        }
    }
}
