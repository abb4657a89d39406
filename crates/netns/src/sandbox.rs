//! Namespaces for one run of the program, so that hosts and links can be made without a trace on the system.
//!
//! A command that needs them calls [`enter`] first thing. The program then runs three times, one inside the
//! other:
//!
//! 1. The process that the user started waits, passes signals on, and ends as the inner one ended (`outer`).
//! 2. The first process of a new pid namespace takes in orphans (`init`). The kernel ends it with the outer
//!    process, and every process in the namespace with it: that is what leaves nothing behind, also after
//!    `SIGKILL`.
//! 3. The same program again, with the same arguments, where [`enter`] gives [`Entered::Inside`].
//!
//! Root needs no more; any other user gets a user namespace in which only their own user and group exist. The
//! network namespace stays the system's own: hosts with namespaces of their own are made by
//! [`crate::network`].

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

/// The namespaces of this run; see [`enter`].
#[derive(Debug)]
pub struct Sandbox {
    _private: (),
}

/// Where [`enter`] returns.
#[derive(Debug)]
pub enum Entered {
    /// In the inner process: go on.
    Inside(Sandbox),
    /// In the outer process, when the inner one has ended: end with this status, at once (128 + n when a
    /// signal n ended it).
    Finished(u8),
}

/// Runs the present program again, with the same arguments, in namespaces of its own (mount, pid; also user
/// when not root), and waits for it.
///
/// Call it before any thread is started. Standard input, output, error, the terminal, the working directory
/// and the environment are shared with the inner process.
///
/// # Errors
/// When the system refuses; [`LiveError::hint`] says what to do about it.
pub fn enter() -> Result<Entered, LiveError> {
    if process::is_inside() {
        return Ok(Entered::Inside(Sandbox { _private: () }));
    }
    outer::run().map(Entered::Finished)
}

/// A file in memory with this content, as a path for programs started from here.
///
/// # Errors
/// When the system has no memory for it.
pub fn file_for_child(content: &str) -> std::io::Result<std::path::PathBuf> {
    process::file_for_child(content)
}

impl Sandbox {
    /// Lets programs started from here ask `gateway` for names, where they could not reach the system's name
    /// servers from a host behind a link (127.0.0.53, or IPv6). Nothing outside of the sandbox changes.
    ///
    /// # Errors
    /// When the system refuses the mount.
    pub fn ask_names_of(&self, gateway: Ipv4Addr) -> Result<(), LiveError> {
        resolver::ask_names_of(gateway)
    }

    /// Opens a TCP connection from the system's own network.
    ///
    /// # Errors
    /// When it is not accepted within ten seconds.
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

/// How long a connection to the outside may take.
const REACH: Duration = Duration::from_secs(10);
