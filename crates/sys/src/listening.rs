//! Sockets that listen, and how many files a process may have open.

use crate::error::{LiveError, OsError};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::net::{SocketAddr, TcpListener};

/// A listening socket that does not block, and where it listens.
///
/// # Errors
/// When the address is in use, not this host's, not permitted, or the system refuses for another reason.
pub fn listen(address: SocketAddr) -> Result<(TcpListener, SocketAddr), LiveError> {
    let fault = |error: std::io::Error| match OsError::of(&error) {
        OsError(libc::EADDRINUSE) => LiveError::PortInUse { address },
        OsError(libc::EACCES | libc::EPERM) => LiveError::NotPermitted { address },
        OsError(libc::EADDRNOTAVAIL) => LiveError::AddressNotHere { address },
        reason => LiveError::ListenFailed { address, reason },
    };
    let listener = TcpListener::bind(address).map_err(fault)?;
    // It listens already, which makes this a change of how many may wait. When it fails, they are 128.
    rustix::net::listen(&listener, MOST_WAITING).ok();
    listener.set_nonblocking(true).map_err(fault)?;
    let local_address = listener.local_addr().map_err(fault)?;
    Ok((listener, local_address))
}

/// Connections that the kernel holds until they are accepted. Of more at a time some would be reset or wait a second: 128, as
/// the standard library has it, are less than an application's pools that start together.
const MOST_WAITING: i32 = 4096;

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
