//! What keeps an end of a tunnel from working, or ends a lane.

use super::handshake::PeerFault;
use super::keys::KeyError;
use std::net::SocketAddr;
use std::time::Duration;
use sys::error::{LiveError, OsError};
use tunnel::frame::{FrameError, GoodbyeReason};
use tunnel::{End, LaneError};

/// An error of a tunnel: who, what and where in its text.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum TunnelError {
    /// Listening, or something of the system's.
    #[error(transparent)]
    Live(#[from] LiveError),
    /// The keys, or that there are none.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// An address is not `host:port`.
    #[error("'{text}' is not an address of the form host:port")]
    BadAddress {
        /// As given.
        text: String,
    },
    /// The name of the far end or of the database cannot be resolved.
    #[error("no such host: '{host}'")]
    NoSuchHost {
        /// As given.
        host: String,
    },
    /// Nothing can be reached at the far end's address.
    #[error("could not connect to the far end {far} ({address}): {reason}")]
    FarUnreachable {
        /// `host:port` as given.
        far: String,
        /// The last address tried.
        address: SocketAddr,
        /// What the operating system says.
        reason: OsError,
    },
    /// The database behind the far end cannot be reached.
    #[error("could not connect to the database {database} ({address}): {reason}")]
    DatabaseUnreachable {
        /// `host:port` as given.
        database: String,
        /// The last address tried.
        address: SocketAddr,
        /// What the operating system says.
        reason: OsError,
    },
    /// The two ends do not want each other.
    #[error("the {end} {peer} {fault}")]
    Peer {
        /// Which end it is.
        end: End,
        /// Its address.
        peer: SocketAddr,
        /// What is the matter with it.
        fault: PeerFault,
    },
    /// What the other end sent is not what a tunnel says.
    #[error("the {end} {peer} {reason}")]
    Protocol {
        /// Which end it is.
        end: End,
        /// Its address.
        peer: SocketAddr,
        /// What it did.
        reason: LaneError,
    },
    /// The other end said nothing before its time was over.
    #[error("the {end} {peer} did not say hello within {} s", after.as_secs())]
    NoHello {
        /// Which end it is.
        end: End,
        /// Its address.
        peer: SocketAddr,
        /// How long it had.
        after: Duration,
    },
    /// Nothing came over a lane although the other end was asked.
    #[error("the {end} {peer} has not answered for {} s", after.as_secs())]
    Silent {
        /// Which end it is.
        end: End,
        /// Its address.
        peer: SocketAddr,
        /// For how long.
        after: Duration,
    },
    /// The lane's connection ended.
    #[error("the {end} {peer} closed the lane")]
    Closed {
        /// Which end it is.
        end: End,
        /// Its address.
        peer: SocketAddr,
    },
    /// The lane's connection broke.
    #[error("the lane to the {end} {peer} broke: {reason}")]
    Broken {
        /// Which end it is.
        end: End,
        /// Its address.
        peer: SocketAddr,
        /// What the operating system says.
        reason: OsError,
    },
}

impl TunnelError {
    /// Whether the other end was stopped, and said so.
    pub(super) const fn is_leave(&self) -> bool {
        matches!(
            self,
            Self::Protocol {
                reason: LaneError::Goodbye(GoodbyeReason::Stopped),
                ..
            }
        )
    }

    /// Whether trying again is in vain until something is changed by hand at one of the ends.
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

    /// Whether only the user who started this end can help: no answer of the other end's is part of it.
    pub const fn is_own(&self) -> bool {
        matches!(self, Self::Key(_) | Self::BadAddress { .. })
    }

    /// What to do next; `None` if the text says all.
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

/// The host and port of `host:port`; an IPv6 address is in brackets.
pub(super) fn split_address(text: &str) -> Result<(&str, u16), TunnelError> {
    let bad = || TunnelError::BadAddress {
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
