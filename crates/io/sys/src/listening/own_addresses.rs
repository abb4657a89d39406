//! Compares addresses to detect this machine's own, colliding ports, and loops.

use super::datagrams_with;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Whether packets to `address` never leave this machine.
pub fn is_own_address(address: IpAddr) -> bool {
    if address.is_loopback() {
        return true;
    }
    let leaves_from = datagrams_with(SocketAddr::from((address, 9))).and_then(|socket| socket.local_addr());
    leaves_from.is_ok_and(|local| local.ip() == address)
}

/// Whether a connection from this machine to `upstream` reaches `listener`: by the same address, by
/// another one if it listens on all, or by `0.0.0.0` or `[::]`, which lead to 127.0.0.1 and ::1.
pub fn leads_to(upstream: SocketAddr, listener: SocketAddr) -> bool {
    if upstream.port() != listener.port() {
        return false;
    }
    let to = match upstream.ip().to_canonical() {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED) => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(Ipv6Addr::UNSPECIFIED) => IpAddr::V6(Ipv6Addr::LOCALHOST),
        address => address,
    };
    let at = listener.ip().to_canonical();
    to == at || (at.is_unspecified() && (to.is_ipv4() || at.is_ipv6()) && is_own_address(to))
}

/// Whether two sockets cannot listen at these addresses at once. Port 0, any free one, collides
/// with none.
pub fn collide(one: SocketAddr, other: SocketAddr) -> bool {
    if one.port() != other.port() || one.port() == 0 {
        return false;
    }
    let (one, other) = (one.ip().to_canonical(), other.ip().to_canonical());
    let covers = |all: IpAddr, address: IpAddr| {
        all.is_unspecified() && (all.is_ipv6() || all.is_ipv4() == address.is_ipv4())
    };
    one == other || covers(one, other) || covers(other, one)
}
