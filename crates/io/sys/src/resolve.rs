//! Resolves the target's host and connects to it.

use crate::error::{LiveError, OsError};
use crate::target::Target;
use std::io::ErrorKind;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

/// Returns at least one address. Blocks as long as the system's resolver.
pub fn addresses(target: &Target) -> Result<Vec<SocketAddr>, LiveError> {
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

/// Blocks until the first address answers.
pub fn connect(target: &Target, addresses: &[SocketAddr], longest: Duration) -> Result<TcpStream, LiveError> {
    let mut last = LiveError::NoSuchHost {
        host: target.host.clone(),
    };
    for address in addresses {
        match TcpStream::connect_timeout(address, longest) {
            Ok(stream) => return Ok(stream),
            Err(error) if error.kind() == ErrorKind::TimedOut => {
                last = timed_out(target, *address, longest);
            }
            Err(error) => last = failed(target, *address, OsError::from_io_error(&error)),
        }
    }
    Err(last)
}

pub fn failed(target: &Target, address: SocketAddr, reason: OsError) -> LiveError {
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

pub fn timed_out(target: &Target, address: SocketAddr, after: Duration) -> LiveError {
    LiveError::ConnectTimedOut {
        server: target.server(),
        address,
        after,
    }
}
