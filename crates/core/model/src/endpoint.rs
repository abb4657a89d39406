//! The two sides of a connection.

use crate::serde_units::from_text;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::net::{IpAddr, SocketAddr};

/// Address and port of one side of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Endpoint {
    /// IPv4 or IPv6; IPv4-mapped addresses stay as on the wire.
    pub address: IpAddr,
    /// TCP port of this side.
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

impl Serialize for Endpoint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Endpoint {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        from_text(deserializer, "endpoint", |text| {
            let address: SocketAddr = text.parse().ok()?;
            Some(Self {
                address: address.ip(),
                port: address.port(),
            })
        })
    }
}

/// Number of a connection within one run, from 0 by first packet. The same endpoints opened again
/// are a new connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ConnectionId(pub u32);

impl fmt::Display for ConnectionId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.0)
    }
}

/// Direction in which bytes travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// From the side that opened the connection.
    ClientToServer,
    /// From the side that accepted it.
    ServerToClient,
}

impl Direction {
    /// Both directions.
    pub const ALL: [Self; 2] = [Self::ClientToServer, Self::ServerToClient];

    /// Name used in records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ClientToServer => "client_to_server",
            Self::ServerToClient => "server_to_client",
        }
    }

    /// The opposite direction.
    pub const fn reverse(self) -> Self {
        match self {
            Self::ClientToServer => Self::ServerToClient,
            Self::ServerToClient => Self::ClientToServer,
        }
    }

    /// The side from which the bytes come.
    pub const fn sender(self) -> Side {
        match self {
            Self::ClientToServer => Side::Client,
            Self::ServerToClient => Side::Server,
        }
    }

    /// The side to which the bytes go.
    pub const fn receiver(self) -> Side {
        self.reverse().sender()
    }

    /// Array index, 0 for client-to-server, 1 for server-to-client.
    pub const fn index(self) -> usize {
        match self {
            Self::ClientToServer => 0,
            Self::ServerToClient => 1,
        }
    }
}

/// A side of the observation point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// Between the client and the observation point.
    Client,
    /// Between the observation point and the server.
    Server,
}

impl Side {
    /// Both sides.
    pub const ALL: [Self; 2] = [Self::Client, Self::Server];

    /// The opposite side.
    pub const fn reverse(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }

    /// The direction of the bytes that this side sends.
    pub const fn sends(self) -> Direction {
        match self {
            Self::Client => Direction::ClientToServer,
            Self::Server => Direction::ServerToClient,
        }
    }
}

/// The first sign of a connection's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EndedBy {
    /// A request with `Connection: close`, or HTTP/1.0 without keep-alive.
    ClientHeader,
    /// A reply with the same, or with a body without a length.
    ServerHeader,
    /// The client sent the first FIN.
    ClientFin,
    /// The server's FIN, directly after its own bytes.
    ServerFin,
}

impl EndedBy {
    /// All in this order.
    pub const ALL: [Self; 4] = [
        Self::ClientHeader,
        Self::ServerHeader,
        Self::ClientFin,
        Self::ServerFin,
    ];

    /// The name in records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ClientHeader => "client-header",
            Self::ServerHeader => "server-header",
            Self::ClientFin => "client-fin",
            Self::ServerFin => "server-fin",
        }
    }
}

/// How a round-trip time is known, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RttSource {
    /// From the connection's handshake, empty acknowledgements or kernel.
    Measured,
    /// From another connection between the same hosts.
    SameHosts,
    /// Both ends are one machine, without distance.
    Loopback,
    /// Upper limit from the fastest reply between the hosts.
    FastestReply,
}

impl RttSource {
    /// All sources in this order.
    pub const ALL: [Self; 4] = [
        Self::Measured,
        Self::SameHosts,
        Self::Loopback,
        Self::FastestReply,
    ];

    /// The name in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::SameHosts => "same-hosts",
            Self::Loopback => "loopback",
            Self::FastestReply => "fastest-reply",
        }
    }
}
