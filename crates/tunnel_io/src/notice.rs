//! What an end of a tunnel reports while it runs.

use super::TunnelError;
use super::keys::KeyFingerprint;
use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;
use tunnel::End;

/// Something a user should read at once. [`fmt::Display`] is one line, without the program's name.
#[derive(Debug, Clone, PartialEq)]
pub enum Notice {
    /// A lane stands.
    LaneUp {
        /// Which end the other is.
        end: End,
        /// Its address.
        peer: SocketAddr,
        /// Lanes up now, this one included.
        lanes: u64,
        /// The key it showed; `None` without encryption.
        key: Option<KeyFingerprint>,
    },
    /// A lane that was up is up no more.
    LaneLost {
        /// Why.
        reason: TunnelError,
        /// The streams that ended with it.
        streams: usize,
    },
    /// No lane is available; it is tried again and again, and reported once.
    NoLane {
        /// Why.
        reason: TunnelError,
    },
    /// A peer connected to the tunnel's port and was refused.
    PeerRefused {
        /// Why.
        reason: TunnelError,
    },
    /// More peers were refused, too many to be reported one by one.
    PeersRefused {
        /// How many.
        count: u64,
        /// Within this time.
        within: Duration,
    },
    /// The database behind the far end cannot be reached; reported once until it can be.
    DatabaseUnreachable {
        /// Why.
        reason: TunnelError,
    },
    /// A connection is encrypted by its client and its server; reported once.
    NothingToCompress {
        /// Its end next to this end of the tunnel: the client, or the database.
        peer: SocketAddr,
    },
    /// A client was refused.
    StreamRefused {
        /// Where it came from.
        client: SocketAddr,
        /// Why.
        reason: Refused,
    },
}

/// Why a client was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// There was no lane for as long as it could wait.
    NoLane(Duration),
    /// Every lane carries as many streams as it may.
    TooMany,
    /// The far end could not connect to the database.
    NoDatabase,
    /// The far end had no room for it.
    FarFull,
}

impl fmt::Display for Notice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LaneUp {
                end,
                peer,
                lanes,
                key,
            } => {
                let plural = if *lanes == 1 { "" } else { "s" };
                write!(
                    formatter,
                    "lane up with the {end} {peer} ({lanes} lane{plural}), "
                )?;
                match key {
                    Some(key) => write!(formatter, "TLS 1.3, its key {key}"),
                    None => formatter.write_str("not encrypted"),
                }
            }
            Self::LaneLost { reason, streams } => {
                let plural = if *streams == 1 { "" } else { "s" };
                write!(formatter, "{reason}; {streams} stream{plural} ended with it")
            }
            Self::NoLane { reason } => write!(formatter, "{reason}; trying again"),
            // Who was not let in need not be an end of a tunnel.
            Self::PeerRefused {
                reason: TunnelError::Peer { peer, fault, .. },
            } => write!(formatter, "refused: {peer} {fault}"),
            Self::PeerRefused { reason } => write!(formatter, "refused: {reason}"),
            Self::PeersRefused { count, within } => {
                let seconds = within.as_secs_f64();
                write!(formatter, "refused: {count} more within {seconds:.0} s")
            }
            Self::DatabaseUnreachable { reason } => fmt::Display::fmt(reason, formatter),
            Self::NothingToCompress { peer } => write!(
                formatter,
                "connections of {peer} encrypt themselves, so that nothing of them can be made smaller: the tunnel encrypts, the client \
                 need not (sslmode=disable towards the near end)"
            ),
            Self::StreamRefused { client, reason } => {
                write!(formatter, "turned the client {client} away: {reason}")
            }
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoLane(after) => write!(
                formatter,
                "no lane to the far end within {} s",
                after.as_secs_f64()
            ),
            Self::TooMany => formatter.write_str("every lane carries as many streams as it may"),
            Self::NoDatabase => formatter.write_str("the far end could not connect to the database"),
            Self::FarFull => formatter.write_str("the far end has no room for it"),
        }
    }
}
