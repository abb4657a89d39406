//! Where a server runs.

use std::io;
use std::net::{Ipv4Addr, TcpStream};
use std::process::Command;
use std::time::Duration;

/// A host: this machine, or a network namespace of it that has its own addresses.
pub trait ServerHost: Sync {
    /// Makes `command` start on this host. Called before anything else is asked of the command, so that the
    /// host may need privileges which the command then gives up.
    fn prepare_command(&self, command: &mut Command);

    /// Opens a connection to `port` of this host's own loopback address, from this host.
    ///
    /// # Errors
    /// What the operating system says.
    fn connect(&self, port: u16) -> io::Result<TcpStream>;
}

/// This machine, in the network namespace of this process.
#[derive(Debug, Clone, Copy)]
pub struct Here;

impl ServerHost for Here {
    fn prepare_command(&self, _command: &mut Command) {}

    fn connect(&self, port: u16) -> io::Result<TcpStream> {
        TcpStream::connect_timeout(&(Ipv4Addr::LOCALHOST, port).into(), CONNECT_WITHIN)
    }
}

const CONNECT_WITHIN: Duration = Duration::from_secs(2);
