//! The two sides of a connection.

use std::fmt;
use std::net::IpAddr;

/// Address and port of one side of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Endpoint {
    /// IPv4 or IPv6 address; IPv4-mapped IPv6 addresses are kept as they were on the wire.
    pub address: IpAddr,
    /// TCP port.
    pub port: u16,
}

impl fmt::Display for Endpoint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.address {
            IpAddr::V4(address) => write!(formatter, "{address}:{}", self.port),
            IpAddr::V6(address) => write!(formatter, "[{address}]:{}", self.port),
        }
    }
}

/// Number of a connection within one run, counted from 0 in the order of first packets. Never reused: the
/// same pair of endpoints opened again is a new connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub u32);

impl fmt::Display for ConnectionId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.0)
    }
}

/// Which way bytes travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// From the side that opened the connection.
    ClientToServer,
    /// From the side that accepted it.
    ServerToClient,
}

impl Direction {
    /// The opposite direction.
    pub const fn reverse(self) -> Self {
        match self {
            Self::ClientToServer => Self::ServerToClient,
            Self::ServerToClient => Self::ClientToServer,
        }
    }

    /// 0 for client-to-server, 1 for server-to-client: the place of this direction in a two-element array.
    pub const fn index(self) -> usize {
        match self {
            Self::ClientToServer => 0,
            Self::ServerToClient => 1,
        }
    }
}

/// One side of the observation point: what lies between it and the client, or between it and the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    /// Between the client and the observation point.
    Client,
    /// Between the observation point and the server.
    Server,
}

/// How the round trip of a connection is known, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RttSource {
    /// The connection itself showed it: its handshake, acknowledgements without payload, the kernel.
    Measured,
    /// Another connection between the same hosts showed it.
    SameHosts,
    /// Both ends are one machine: there is no distance.
    Loopback,
    /// It is no longer than the fastest reply between the same hosts, and taken to be as long.
    FastestReply,
}

impl RttSource {
    /// All of them.
    pub const ALL: [Self; 4] = [
        Self::Measured,
        Self::SameHosts,
        Self::Loopback,
        Self::FastestReply,
    ];

    /// Its name in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::SameHosts => "same-hosts",
            Self::Loopback => "loopback",
            Self::FastestReply => "fastest-reply",
        }
    }
}
