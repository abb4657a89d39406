//! Questions to name servers, carried outside and their answers back.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4, UdpSocket};
use std::time::{Duration, Instant};

/// The gateway's socket for one name server.
#[derive(Debug)]
pub(super) struct NameService {
    pub(super) socket: UdpSocket,
    pub(super) server: SocketAddrV4,
}

/// A question that is being asked outside.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) socket: UdpSocket,
    pub(super) client: SocketAddr,
    /// The name service it came to, by its number at the event loop.
    pub(super) service: usize,
    pub(super) since: Instant,
}

impl NameService {
    /// The next question and the address that asks it.
    pub(super) fn question<'a>(&self, room: &'a mut [u8]) -> Option<(&'a [u8], SocketAddr)> {
        let (count, client) = self.socket.recv_from(room).ok()?;
        Some((&room[..count], client))
    }
}

impl Asked {
    /// Asks `resolver`.
    pub(super) fn send_query(
        question: &[u8],
        resolver: SocketAddr,
        client: SocketAddr,
        service: usize,
    ) -> std::io::Result<Self> {
        let socket = sys::listening::datagrams_with(resolver)?;
        socket.set_nonblocking(true)?;
        socket.send(question)?;
        Ok(Self {
            socket,
            client,
            service,
            since: Instant::now(),
        })
    }

    pub(super) fn is_stale(&self) -> bool {
        self.since.elapsed() > TIMEOUT
    }
}

/// The first name server of the system.
pub(super) fn system_resolver() -> SocketAddr {
    let text = std::fs::read_to_string("/etc/resolv.conf").unwrap_or_default();
    let first = text.lines().find_map(|line| {
        let address = line.trim().strip_prefix("nameserver")?.trim();
        address.parse::<IpAddr>().ok()
    });
    (
        first.unwrap_or(Ipv4Addr::LOCALHOST.into()),
        super::packet_filter::NAME_SERVICE,
    )
        .into()
}

/// As resolvers do.
const TIMEOUT: Duration = Duration::from_secs(10);
