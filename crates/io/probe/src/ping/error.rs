use client::bridge::BridgeError;
use client::session::SessionError;
use std::time::Duration;
use sys::error::{LiveError, OsError};
use wire::http2::PingFault;

/// Reasons for lost samples and unusable targets. Texts contain no literal and no secret.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PingError {
    #[error(transparent)]
    Connect(#[from] LiveError),
    #[error("no complete reply within {}", model::format_duration(*after))]
    TimedOut { after: Duration },
    #[error("server: the connection was closed before the reply was complete")]
    Closed,
    #[error("link: the connection broke: {reason}")]
    Broken { reason: OsError },
    #[error("server: its answer is not {expected}")]
    Unexpected { expected: &'static str },
    #[error("server: it ended the connection: GOAWAY {code}, {}", wire::http2::error_name(*code))]
    GoAway { code: u32 },
    #[error(transparent)]
    Session(SessionError),
    #[error(transparent)]
    Bridge(BridgeError),
    #[error("longwire may not send ICMP here: {reason}")]
    IcmpRefused { reason: OsError },
    #[error("stopped")]
    Stopped,
}

impl PingError {
    /// Such a target is tried again; any other fails at the start.
    pub const fn is_silence(&self) -> bool {
        matches!(
            self,
            Self::TimedOut { .. } | Self::Connect(LiveError::ConnectTimedOut { .. })
        )
    }

    pub const fn is_other_protocol(&self) -> bool {
        matches!(self, Self::Session(SessionError::OtherProtocol { .. }))
    }

    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Connect(error) => error.hint(),
            Self::Unexpected { .. } => Some("is it the right scheme and port?".to_owned()),
            Self::GoAway { .. } => {
                Some("the server's log says why; if it limits requests, a longer -i helps".to_owned())
            }
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

impl From<PingFault> for PingError {
    fn from(fault: PingFault) -> Self {
        match fault {
            PingFault::Unexpected(expected) => Self::Unexpected { expected },
            PingFault::GoAway { code } => Self::GoAway { code },
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
