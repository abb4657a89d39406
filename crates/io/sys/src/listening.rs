//! All listening sockets of the product, and the limit of open files.
//!
//! [`listen`] is for ports of other programs: it warns if other machines can connect, and refuses
//! to expose in plain text bytes that were to be encrypted. [`on_loopback`] and [`in_namespace`]
//! are for internal ports.

mod own_addresses;

pub use own_addresses::{collide, is_own_address, leads_to};

use crate::error::{LiveError, OsError};
use crate::terminal::takes_a_line;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, UdpSocket};
use std::os::fd::AsFd;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListeningService<'a> {
    /// Begins a sentence, as "the relay to db1:5432".
    pub name: &'a str,
    /// Completes "anyone who reaches it can", as "connect to db1:5432 through it".
    pub exposes: &'a str,
    pub clients: ClientSide,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientSide {
    /// TLS was not requested.
    AsClientsLike,
    /// Clients without a key are refused.
    Keys,
    /// Although TLS to the server was requested.
    PlainBeforeTls(PlainClients),
}

/// Whether clients on other machines may send plain text that TLS protects from here to the server
/// (`--allow-plain-clients`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PlainClients {
    #[default]
    Refused,
    /// The user trusts the network between them.
    Allowed,
}

/// The socket does not block. Beyond loopback, warns on stderr who can reach it.
///
/// # Errors
/// If the address is in use, not this host's, not permitted, or refused for another reason; if
/// clients on other machines would send plain text that was to be encrypted.
pub fn listen(
    address: SocketAddr,
    service: &ListeningService<'_>,
) -> Result<(TcpListener, SocketAddr), LiveError> {
    Ok(bind(address, service)?.open())
}

/// For callers that must still check its address before the warning.
#[derive(Debug)]
#[must_use]
pub struct BoundListener {
    listener: TcpListener,
    local_address: SocketAddr,
    warning: Option<String>,
}

impl BoundListener {
    pub const fn local_address(&self) -> SocketAddr {
        self.local_address
    }

    pub fn open(self) -> (TcpListener, SocketAddr) {
        if let Some(text) = self.warning {
            warn(&text);
        }
        (self.listener, self.local_address)
    }
}

/// The first part of [`listen`], with the same errors.
pub fn bind(address: SocketAddr, service: &ListeningService<'_>) -> Result<BoundListener, LiveError> {
    refuse_plain_clients(address, service)?;
    let fault = |error: io::Error| match OsError::from_io_error(&error) {
        OsError(libc::EADDRINUSE) => LiveError::PortInUse { address },
        OsError(libc::EACCES | libc::EPERM) => LiveError::NotPermitted { address },
        OsError(libc::EADDRNOTAVAIL) => LiveError::AddressNotHere { address },
        reason => LiveError::ListenFailed { address, reason },
    };
    let listener = TcpListener::bind(address).map_err(fault)?;
    // It listens already: this only raises the backlog. On failure it stays 128.
    rustix::net::listen(&listener, MAX_WAITING).ok();
    listener.set_nonblocking(true).map_err(fault)?;
    let local_address = listener.local_addr().map_err(fault)?;
    let takes_ipv4_too = rustix::net::sockopt::ipv6_v6only(&listener).is_ok_and(|only_ipv6| !only_ipv6);
    Ok(BoundListener {
        listener,
        local_address,
        warning: warning(local_address, takes_ipv4_too, service),
    })
}

/// Called first by [`listen`].
///
/// # Errors
/// If clients on other machines would send plain text that was to be encrypted.
pub fn refuse_plain_clients(address: SocketAddr, service: &ListeningService<'_>) -> Result<(), LiveError> {
    let refused = service.clients == ClientSide::PlainBeforeTls(PlainClients::Refused);
    if refused && !address.ip().to_canonical().is_loopback() {
        return Err(LiveError::PlainClients {
            name: service.name.to_owned(),
            address,
        });
    }
    Ok(())
}

/// There is no warning on loopback.
fn warning(address: SocketAddr, takes_ipv4_too: bool, service: &ListeningService<'_>) -> Option<String> {
    if address.ip().to_canonical().is_loopback() {
        return None;
    }
    let reach = match address.ip() {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED) => " (every IPv4 address of this machine)",
        IpAddr::V6(Ipv6Addr::UNSPECIFIED) if takes_ipv4_too => {
            " (every IPv4 and IPv6 address of this machine)"
        }
        IpAddr::V6(Ipv6Addr::UNSPECIFIED) => " (every IPv6 address of this machine)",
        IpAddr::V4(_) | IpAddr::V6(_) => "",
    };
    let ListeningService { name, exposes, .. } = service;
    let (who, protection) = match service.clients {
        ClientSide::AsClientsLike => ("anyone who reaches it can", ""),
        ClientSide::Keys => ("who has a key that it knows can", ""),
        ClientSide::PlainBeforeTls(_) => (
            "anyone who reaches it can",
            "; clients send to it in plain text, and only the way from here to the server is encrypted",
        ),
    };
    Some(format!(
        "{name} is open to other machines at {address}{reach}: {who} {exposes}{protection}"
    ))
}

/// Skipped if it would block. Names may come from clients, so control characters and line breaks
/// are replaced.
fn warn(text: &str) {
    let replaced = |letter: char| {
        if letter.is_control() {
            char::REPLACEMENT_CHARACTER
        } else {
            letter
        }
    };
    let text: String = text.chars().map(replaced).collect();
    let mut stderr = io::stderr().lock();
    if takes_a_line(stderr.as_fd()) {
        // Fails if stderr is closed.
        writeln!(stderr, "longwire: warning: {text}").ok();
    }
}

/// Makes a blocking socket.
pub fn on_loopback() -> io::Result<TcpListener> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
}

/// Makes a blocking socket. The namespace of the calling thread was made by longwire and is unreachable
/// from other machines.
pub fn in_namespace(address: SocketAddr) -> io::Result<TcpListener> {
    TcpListener::bind(address)
}

pub fn datagrams_in_namespace(address: SocketAddr) -> io::Result<UdpSocket> {
    UdpSocket::bind(address)
}

/// Receives from `peer` only. Making it sends no packet.
pub fn datagrams_with(peer: SocketAddr) -> io::Result<UdpSocket> {
    let any = match peer {
        SocketAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        SocketAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
    };
    let socket = UdpSocket::bind((any, 0))?;
    socket.connect(peer)?;
    Ok(socket)
}

/// With the standard library's backlog of 128, application pools that start together would see
/// resets or wait a second.
const MAX_WAITING: i32 = 4096;

pub fn raise_file_limit() {
    let maximum = getrlimit(Resource::Nofile).maximum;
    let most = Rlimit {
        current: maximum,
        maximum,
    };
    // Failure leaves the limit as it was, which shows when it is reached.
    setrlimit(Resource::Nofile, most).ok();
}

#[cfg(test)]
mod tests;
