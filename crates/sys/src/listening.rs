//! Sockets that listen: every one of the product is made here. And how many files a process may have open.
//!
//! [`listen`] is for ports that others connect to: it warns where that is possible from other machines, and
//! refuses to show in plain text what was to be encrypted. [`on_loopback`] and [`in_namespace`] are for ports
//! that nobody else reaches.

mod own_addresses;

pub use own_addresses::{collide, is_own_address, leads_to};

use crate::error::{LiveError, OsError};
use crate::terminal::takes_a_line;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, UdpSocket};
use std::os::fd::AsFd;

/// What listens at an address, and for whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListeningService<'a> {
    /// Its name, as a sentence begins with it: "the relay to db1:5432".
    pub name: &'a str,
    /// What anyone who reaches it can do: "connect to db1:5432 through it".
    pub exposes: &'a str,
    /// What protects the bytes of its clients.
    pub clients: ClientSide,
}

/// What protects the bytes between clients and a port of longwire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientSide {
    /// What the clients themselves do, and nothing was requested.
    AsClientsLike,
    /// TLS with keys: clients without one are turned away.
    Keys,
    /// Nothing, though TLS was requested from here to the server.
    PlainBeforeTls(PlainClients),
}

/// Whether clients on other machines may send in plain text what TLS protects from here to the server
/// (`--allow-plain-clients`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PlainClients {
    /// No: longwire does not start.
    #[default]
    Refused,
    /// The user says that the network between them may be trusted.
    Allowed,
}

/// A listening socket that does not block, and where it listens. Beyond loopback, who reaches it is said on
/// stderr.
///
/// # Errors
/// When the address is in use, not this host's, not permitted, or the system refuses for another reason; when
/// clients on other machines would send in plain text what was to be encrypted.
pub fn listen(
    address: SocketAddr,
    service: &ListeningService<'_>,
) -> Result<(TcpListener, SocketAddr), LiveError> {
    Ok(bind(address, service)?.open())
}

/// A socket that is bound, and of which nothing was said yet: for who still has to see whether it may listen
/// at that address.
#[derive(Debug)]
#[must_use]
pub struct BoundListener {
    listener: TcpListener,
    local_address: SocketAddr,
    warning: Option<String>,
}

impl BoundListener {
    /// Where it is bound.
    pub const fn local_address(&self) -> SocketAddr {
        self.local_address
    }

    /// Says who reaches it, as [`listen`] does.
    pub fn open(self) -> (TcpListener, SocketAddr) {
        if let Some(text) = self.warning {
            warn(&text);
        }
        (self.listener, self.local_address)
    }
}

/// The first part of [`listen`].
///
/// # Errors
/// As there.
pub fn bind(address: SocketAddr, service: &ListeningService<'_>) -> Result<BoundListener, LiveError> {
    refuse_plain_clients(address, service)?;
    let fault = |error: io::Error| match OsError::from_io_error(&error) {
        OsError(libc::EADDRINUSE) => LiveError::PortInUse { address },
        OsError(libc::EACCES | libc::EPERM) => LiveError::NotPermitted { address },
        OsError(libc::EADDRNOTAVAIL) => LiveError::AddressNotHere { address },
        reason => LiveError::ListenFailed { address, reason },
    };
    let listener = TcpListener::bind(address).map_err(fault)?;
    // It listens already, which makes this a change of how many may wait. When it fails, they are 128.
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

/// Whether `service` may listen at `address`: what [`listen`] refuses before it does anything.
///
/// # Errors
/// When clients on other machines would send in plain text what was to be encrypted.
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

/// What is to be known of a port that other machines reach; `None` for one of loopback.
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

/// Writes to stderr, unless that would have to wait. Names in it may come from clients: what moves the cursor
/// of a terminal, or would begin a line of its own, is replaced.
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
        // A closed stderr has no reader to warn.
        writeln!(stderr, "longwire: warning: {text}").ok();
    }
}

/// A listening socket on a free port of 127.0.0.1, which blocks.
///
/// # Errors
/// When the system has no port or descriptor left.
pub fn on_loopback() -> io::Result<TcpListener> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
}

/// A listening socket that blocks, at an address of a network namespace that longwire made and the calling
/// thread is in: no other machine reaches it.
///
/// # Errors
/// When the namespace does not have the address, or the port is taken.
pub fn in_namespace(address: SocketAddr) -> io::Result<TcpListener> {
    TcpListener::bind(address)
}

/// As [`in_namespace`], for datagrams.
///
/// # Errors
/// As there.
pub fn datagrams_in_namespace(address: SocketAddr) -> io::Result<UdpSocket> {
    UdpSocket::bind(address)
}

/// A socket for datagrams that takes them from `peer` alone. Nothing is sent.
///
/// # Errors
/// When the system has no port or no route.
pub fn datagrams_with(peer: SocketAddr) -> io::Result<UdpSocket> {
    let any = match peer {
        SocketAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        SocketAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
    };
    let socket = UdpSocket::bind((any, 0))?;
    socket.connect(peer)?;
    Ok(socket)
}

/// Connections that the kernel holds until they are accepted. Of more at a time some would be reset or wait a
/// second: 128, as the standard library has it, are less than an application's pools that start together.
const MAX_WAITING: i32 = 4096;

/// As many open files as the system lets this process have.
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
