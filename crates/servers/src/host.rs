use std::io;
use std::net::{Ipv4Addr, TcpStream};
use std::process::Command;
use std::time::Duration;

/// This machine, or a network namespace with separate addresses.
pub trait ServerHost: Sync {
    /// Makes `command` start on this host. Call it before other preparations: it may need
    /// privileges that the command then drops.
    fn prepare_command(&self, command: &mut Command);

    /// Connects to `port` of this host's loopback address, from this host.
    ///
    /// # Errors
    /// Returns the operating system's error.
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
