//! Namespaces for one run of the program, so that hosts and links leave no trace on the system.
//!
//! A command that needs them calls [`enter`] first. The program then runs three times, nested:
//!
//! 1. The process that the user started waits, forwards signals, and exits as the inner one
//!    (`outer`).
//! 2. The first process of a new pid namespace adopts orphans (`init`). The kernel kills it with
//!    the outer process, and every process in the namespace with it, also after `SIGKILL`.
//! 3. The same program with the same arguments, where [`enter`] returns [`Entered::Inside`].
//!
//! Users other than root get a user namespace in which only their own user and group exist. The
//! network namespace stays the system's own; [`crate::network`] makes those of hosts.

mod attended;
mod init;
mod outer;
mod process;
mod resolver;
mod rights;

use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;
use sys::LiveError;

pub use attended::Attended;
pub use process::MARK;
pub(crate) use rights::give_up_rights;

#[derive(Debug)]
pub struct Sandbox {
    _private: (),
}

#[derive(Debug)]
pub enum Entered {
    Inside(Sandbox),
    /// Exit with this status at once (128 + n after signal n).
    Finished(u8),
}

/// Runs the current program again in new namespaces (mount, pid; also user when not root), and
/// waits for it. Call it before any thread is started.
///
/// # Errors
/// If the system refuses; [`LiveError::hint`] says more.
pub fn enter() -> Result<Entered, LiveError> {
    if process::is_inside() {
        return Ok(Entered::Inside(Sandbox { _private: () }));
    }
    outer::run().map(Entered::Finished)
}

/// Returns a path that is valid in programs started from here.
pub fn file_for_child(content: &str) -> std::io::Result<std::path::PathBuf> {
    process::file_for_child(content)
}

impl Sandbox {
    /// Makes `gateway` the name server of programs started from here, if a host behind a link could
    /// not reach the system's (127.0.0.53, or IPv6).
    pub fn ask_names_of(&self, gateway: Ipv4Addr) -> Result<(), LiveError> {
        resolver::ask_names_of(gateway)
    }

    /// Opens a TCP connection from the system's own network, within ten seconds.
    pub fn connect_outside(&self, address: SocketAddr) -> Result<TcpStream, LiveError> {
        let server = address.to_string();
        TcpStream::connect_timeout(&address, REACH).map_err(|error| match error.kind() {
            std::io::ErrorKind::ConnectionRefused => LiveError::Refused { server, address },
            std::io::ErrorKind::TimedOut => LiveError::ConnectTimedOut {
                server,
                address,
                after: REACH,
            },
            _ => LiveError::ConnectFailed {
                server,
                address,
                reason: sys::OsError::from_io_error(&error),
            },
        })
    }
}

const REACH: Duration = Duration::from_secs(10);
