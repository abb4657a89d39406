use super::keys::KeyError;
use super::peer_fault::PeerFault;
use std::net::SocketAddr;
use std::time::Duration;
use sys::error::{LiveError, OsError};
use tunnel::frame::{FrameError, GoodbyeReason};
use tunnel::{End, LaneError};

/// Errors of a tunnel end or a lane.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Live(#[from] LiveError),
    #[error(transparent)]
    Key(#[from] KeyError),
    #[error("'{text}' is not an address of the form host:port")]
    BadAddress { text: String },
    #[error("no such host: '{host}'")]
    NoSuchHost { host: String },
    #[error("could not connect to the far end {far} ({address}): {reason}")]
    FarUnreachable {
        far: String,
        address: SocketAddr,
        reason: OsError,
    },
    #[error("could not connect to the database {database} ({address}): {reason}")]
    DatabaseUnreachable {
        database: String,
        address: SocketAddr,
        reason: OsError,
    },
    #[error("the {end} {peer} {fault}")]
    Peer {
        end: End,
        peer: SocketAddr,
        fault: PeerFault,
    },
    #[error("the {end} {peer} {reason}")]
    Protocol {
        end: End,
        peer: SocketAddr,
        reason: LaneError,
    },
    /// No hello within the limit.
    #[error("the {end} {peer} did not say hello within {} s", after.as_secs())]
    NoHello {
        end: End,
        peer: SocketAddr,
        after: Duration,
    },
    /// No answer over a lane within the limit.
    #[error("the {end} {peer} has not answered for {} s", after.as_secs())]
    Silent {
        end: End,
        peer: SocketAddr,
        after: Duration,
    },
    #[error("the {end} {peer} closed the lane")]
    Closed { end: End, peer: SocketAddr },
    #[error("the lane to the {end} {peer} broke: {reason}")]
    Broken {
        end: End,
        peer: SocketAddr,
        reason: OsError,
    },
}

impl Error {
    /// Whether the other end announced that it stops.
    pub(super) const fn is_leave(&self) -> bool {
        matches!(
            self,
            Self::Protocol {
                reason: LaneError::Goodbye(GoodbyeReason::Stopped),
                ..
            }
        )
    }

    /// Whether retrying is useless until a user changes the configuration of one end.
    pub const fn is_lasting(&self) -> bool {
        match self {
            Self::Key(_)
            | Self::BadAddress { .. }
            | Self::Protocol {
                reason: LaneError::Frame(FrameError::NotATunnel | FrameError::Version { .. }),
                ..
            } => true,
            Self::Peer { fault, .. } => !fault.may_pass(),
            Self::Live(_)
            | Self::NoSuchHost { .. }
            | Self::FarUnreachable { .. }
            | Self::DatabaseUnreachable { .. }
            | Self::Protocol { .. }
            | Self::NoHello { .. }
            | Self::Silent { .. }
            | Self::Closed { .. }
            | Self::Broken { .. } => false,
        }
    }

    /// Whether the cause is this end's configuration alone.
    pub const fn is_own(&self) -> bool {
        matches!(self, Self::Key(_) | Self::BadAddress { .. })
    }

    /// The next step, `None` if the text is sufficient.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Live(error) => error.hint(),
            Self::Key(error) => error.hint(),
            Self::Peer { fault, .. } => fault.hint(),
            Self::FarUnreachable { far, .. } => Some(format!(
                "is `longwire tunnel far` running there, listening on {far}?"
            )),
            Self::DatabaseUnreachable { .. } => {
                Some("is the address of --to right, and the database up?".to_owned())
            }
            Self::Protocol {
                reason: LaneError::Frame(FrameError::NotATunnel),
                ..
            } => Some(
                "only the other end of the tunnel may connect there; clients connect to the near end"
                    .to_owned(),
            ),
            Self::Protocol {
                reason: LaneError::Frame(FrameError::Version { .. }),
                ..
            } => Some("run the same version of longwire at both ends".to_owned()),
            Self::BadAddress { .. }
            | Self::NoSuchHost { .. }
            | Self::Protocol { .. }
            | Self::NoHello { .. }
            | Self::Silent { .. }
            | Self::Closed { .. }
            | Self::Broken { .. } => None,
        }
    }
}

/// An IPv6 address in `text` must be in brackets.
pub(super) fn split_address(text: &str) -> Result<(&str, u16), Error> {
    let bad = || Error::BadAddress {
        text: text.to_owned(),
    };
    let (host, port) = text.rsplit_once(':').ok_or_else(bad)?;
    let host = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'))
        .unwrap_or(host);
    let port = port.parse().map_err(|_| bad())?;
    if host.is_empty() {
        Err(bad())
    } else {
        Ok((host, port))
    }
}
