//! From the target's host to addresses, and a first try whether anybody is there.

use crate::error::{LiveError, OsError};
use crate::relay::negotiation;
use crate::target::Target;
use crate::tls::{self, Security};
use std::io::ErrorKind;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

/// The addresses of a target's host, at least one, in the order in which the system prefers them. Blocks for as
/// long as the system's resolver does.
pub(crate) fn addresses(target: &Target) -> Result<Vec<SocketAddr>, LiveError> {
    if target.socket.is_some() {
        return Err(LiveError::UnixSocket {
            socket: target.server(),
        });
    }
    let no_such_host = || LiveError::NoSuchHost {
        host: target.host.clone(),
    };
    let found: Vec<_> = (target.host.as_str(), target.port)
        .to_socket_addrs()
        .map_err(|_| no_such_host())?
        .collect();
    if found.is_empty() {
        Err(no_such_host())
    } else {
        Ok(found)
    }
}

/// Connects to the target, agrees on TLS where it insists on that, and hangs up: tells a wrong host or port, or a
/// certificate that is not good enough, at once instead of at the first query. Waits at most `longest` for each of
/// the host's addresses. Returns how long connecting took, TLS not included. To a MySQL server this is one aborted
/// connection.
///
/// # Errors
/// [`LiveError::NoSuchHost`], [`LiveError::Refused`], [`LiveError::ConnectTimedOut`], [`LiveError::ConnectFailed`];
/// with TLS those about certificates and TLS too.
pub fn probe(target: &Target, longest: Duration) -> Result<Duration, LiveError> {
    let security = Security::of(target)?;
    let tls = match security.mode.insists() {
        true => tls::configure(target, &security)?,
        false => None,
    };
    let addresses = addresses(target)?;
    let started = Instant::now();
    let stream = connect(target, &addresses, longest)?;
    let took = started.elapsed();
    if let Some(config) = tls {
        negotiation::probe(stream, config, target, &security)?;
    }
    Ok(took)
}

/// Whether TLS can be agreed on with the target, as carefully as it asks for. Costs one connection.
///
/// # Errors
/// As [`probe`], without those about TLS.
pub fn offers_tls(target: &Target, longest: Duration) -> Result<bool, LiveError> {
    let security = Security::of(target)?;
    let Some(config) = tls::configure(target, &security)? else {
        return Ok(false);
    };
    let stream = connect(target, &addresses(target)?, longest)?;
    match negotiation::probe(stream, config, target, &security) {
        Ok(()) => Ok(true),
        Err(error) if error.is_about_tls() => Ok(false),
        Err(error) => Err(error),
    }
}

/// Connects to the first address that answers, blocking.
pub(crate) fn connect(
    target: &Target,
    addresses: &[SocketAddr],
    longest: Duration,
) -> Result<TcpStream, LiveError> {
    let mut last = LiveError::NoSuchHost {
        host: target.host.clone(),
    };
    for address in addresses {
        match TcpStream::connect_timeout(address, longest) {
            Ok(stream) => return Ok(stream),
            Err(error) if error.kind() == ErrorKind::TimedOut => {
                last = timed_out(target, *address, longest);
            }
            Err(error) => last = failed(target, *address, OsError::of(&error)),
        }
    }
    Err(last)
}

/// The error for a connection attempt that the operating system gave up.
pub(crate) fn failed(target: &Target, address: SocketAddr, reason: OsError) -> LiveError {
    let server = target.server();
    match reason {
        OsError(libc::ECONNREFUSED) => LiveError::Refused { server, address },
        reason => LiveError::ConnectFailed {
            server,
            address,
            reason,
        },
    }
}

/// The error for a connection attempt that nobody answered in time.
pub(crate) fn timed_out(target: &Target, address: SocketAddr, after: Duration) -> LiveError {
    LiveError::ConnectTimedOut {
        server: target.server(),
        address,
        after,
    }
}
