//! Addresses `HOST:PORT` as in toxiproxy. An empty host means all addresses of this machine.

use crate::error::ApiError;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::time::Duration;
use sys::listening::leads_to;
use sys::socket::Socket;

/// Prefers IPv4, and blocks during name resolution.
pub(crate) fn to_listen(text: &str) -> Result<SocketAddr, ApiError> {
    let wrong = |reason| ApiError::BadListen {
        address: text.to_owned(),
        reason,
    };
    if text.is_empty() {
        return Ok(SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), 0));
    }
    let (host, port) = text
        .rsplit_once(':')
        .ok_or_else(|| wrong("missing port in address"))?;
    let port = match port {
        "" => 0,
        port => port.parse().map_err(|_| wrong("invalid port"))?,
    };
    if host.is_empty() {
        return Ok(SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), port));
    }
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let found = (bare.unwrap_or(host), port).to_socket_addrs();
    let found: Vec<SocketAddr> = found.map_err(|_| wrong("no such host"))?.collect();
    let first = found.iter().find(|address| address.is_ipv4()).or(found.first());
    first.copied().ok_or_else(|| wrong("no such host"))
}

/// Tries the addresses of `upstream`, and blocks. `own` is the proxy's address, since a name may
/// have come to point there.
pub(crate) fn connect(upstream: &str, own: SocketAddr) -> Option<Socket> {
    let addresses = upstream.to_socket_addrs().ok()?;
    let addresses = addresses.filter(|address| !leads_to(*address, own));
    let streams = addresses.map(|address| std::net::TcpStream::connect_timeout(&address, TIMEOUT));
    let stream = streams.flatten().next()?;
    Socket::adopt(stream).ok()
}

/// Per address of an upstream.
const TIMEOUT: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_ports_and_what_is_left_out() {
        let listens = |text: &str| to_listen(text).map(|address| address.to_string());
        assert_eq!(listens("127.0.0.1:8666"), Ok("127.0.0.1:8666".to_owned()));
        assert_eq!(listens("localhost:0"), Ok("127.0.0.1:0".to_owned()));
        assert_eq!(listens("[::1]:5"), Ok("[::1]:5".to_owned()));
        assert_eq!(listens(":8666"), Ok("[::]:8666".to_owned()));
        assert_eq!(listens(""), Ok("[::]:0".to_owned()));
        for wrong in ["local373", "127.0.0.1:http", "127.0.0.1:70000", "no such host:1"] {
            assert!(
                to_listen(wrong).is_err_and(|error| error.status() == 500),
                "{wrong}"
            );
        }
    }
}
