//! Forwards queries to name servers, and their answers.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4, UdpSocket};
use std::time::{Duration, Instant};

#[derive(Debug)]
pub(super) struct NameService {
    pub(super) socket: UdpSocket,
    pub(super) server: SocketAddrV4,
}

#[derive(Debug)]
pub(super) struct Asked {
    pub(super) socket: UdpSocket,
    pub(super) client: SocketAddr,
    pub(super) service: usize,
    pub(super) since: Instant,
}

impl NameService {
    pub(super) fn question<'a>(&self, room: &'a mut [u8]) -> Option<(&'a [u8], SocketAddr)> {
        let (count, client) = self.socket.recv_from(room).ok()?;
        Some((&room[..count], client))
    }
}

impl Asked {
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

const TIMEOUT: Duration = Duration::from_secs(10);
