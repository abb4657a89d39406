use super::Error;
use super::keys::KeyFingerprint;
use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;
use tunnel::End;

/// An event to report at once. [`fmt::Display`] is one line without the program's name.
#[derive(Debug, Clone, PartialEq)]
pub enum Notice {
    LaneUp {
        end: End,
        peer: SocketAddr,
        lanes: u64,
        key: Option<KeyFingerprint>,
    },
    LaneLost {
        reason: Error,
        /// Streams that ended with it.
        streams: usize,
    },
    /// No lane is available; reported once, while attempts continue.
    NoLane {
        reason: Error,
    },
    PeerRefused {
        reason: Error,
    },
    /// Further peers were refused, too many for single reports.
    PeersRefused {
        count: u64,
        within: Duration,
    },
    /// Reported once until the database is reachable again.
    DatabaseUnreachable {
        reason: Error,
    },
    /// Client and server encrypt the connection themselves, reported once.
    NothingToCompress {
        /// The client or database next to this end.
        peer: SocketAddr,
    },
    StreamRefused {
        client: SocketAddr,
        reason: Refused,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// No lane within the client's limit.
    NoLane(Duration),
    /// Every lane has the maximum of streams.
    TooMany,
    NoDatabase,
    /// The far end has reached a limit.
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
            // A refused peer may be anything.
            Self::PeerRefused {
                reason: Error::Peer { peer, fault, .. },
            } => write!(formatter, "refused: {peer} {fault}"),
            Self::PeerRefused { reason } => write!(formatter, "refused: {reason}"),
            Self::PeersRefused { count, within } => {
                let seconds = within.as_secs_f64();
                write!(formatter, "refused: {count} more within {seconds:.0} s")
            }
            Self::DatabaseUnreachable { reason } => fmt::Display::fmt(reason, formatter),
            Self::NothingToCompress { peer } => write!(
                formatter,
                "connections of {peer} are encrypted and cannot be compressed. The tunnel encrypts, so the client need not \
                 (sslmode=disable towards the near end)"
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
