//! A non-blocking TCP socket, without Nagle's delay, with kernel time stamps.

pub(crate) mod options;
mod stamped;

use crate::clock::WallStamp;
use crate::error::OsError;
use crate::tcp_info::KernelFigures;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, Protocol, RecvFlags, SendAncillaryBuffer, SendFlags, SocketFlags, SocketType, ipproto,
    sockopt,
};
use std::io::IoSlice;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

#[derive(Debug)]
pub struct Socket {
    stream: TcpStream,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Received {
    Bytes {
        count: usize,
        /// Whether the read emptied the socket.
        emptied: bool,
        /// When the kernel received the last packet, if it was stamped.
        stamp: Option<WallStamp>,
    },
    Nothing,
    End,
    Broken(OsError),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sent {
    /// Fewer than offered if the peer reads slowly.
    Bytes(usize),
    Broken(OsError),
}

impl Socket {
    pub fn adopt(stream: TcpStream) -> Result<Self, OsError> {
        let socket = Self { stream };
        socket.prepare()?;
        Ok(socket)
    }

    /// Unix-domain sockets have none of TCP's settings, figures and time stamps.
    pub fn adopt_local(stream: UnixStream) -> Result<Self, OsError> {
        stream
            .set_nonblocking(true)
            .map_err(|error| OsError::from_io_error(&error))?;
        // Only system calls are used that work for both families.
        let stream = TcpStream::from(OwnedFd::from(stream));
        Ok(Self { stream })
    }

    /// The socket becomes writable at the end, and [`Socket::connected`] returns the outcome.
    pub fn connect(address: &SocketAddr) -> Result<Self, OsError> {
        let socket = Self::unconnected(address)?;
        socket.begin_to_connect(address)?;
        Ok(socket)
    }

    /// For addresses of this family, in this thread's network namespace.
    pub fn unconnected(address: &SocketAddr) -> Result<Self, OsError> {
        let socket = Self::stream_for(address)?;
        socket.prepare()?;
        Ok(socket)
    }

    /// For one short exchange, without time stamps and keep-alive.
    pub fn plain(address: &SocketAddr) -> Result<Self, OsError> {
        let socket = Self::stream_for(address)?;
        socket
            .stream
            .set_nodelay(true)
            .map_err(|error| OsError::from_io_error(&error))?;
        Ok(socket)
    }

    fn stream_for(address: &SocketAddr) -> Result<Self, OsError> {
        let family = match address {
            SocketAddr::V4(_) => AddressFamily::INET,
            SocketAddr::V6(_) => AddressFamily::INET6,
        };
        Self::new(family, SocketType::STREAM, None)
    }

    fn new(family: AddressFamily, kind: SocketType, protocol: Option<Protocol>) -> Result<Self, OsError> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = rustix::net::socket_with(family, kind, flags, protocol)?;
        Ok(Self {
            stream: TcpStream::from(socket),
        })
    }

    /// For ICMP echoes (`icmp(7)`), with time stamps; used like a TCP socket.
    pub fn icmp_echo(address: &IpAddr) -> Result<Self, OsError> {
        Self::icmp(address, SocketType::DGRAM)
    }

    /// For root only, with all of ICMP, including other processes' messages (`raw(7)`).
    pub fn icmp_raw(address: &IpAddr) -> Result<Self, OsError> {
        Self::icmp(address, SocketType::RAW)
    }

    fn icmp(address: &IpAddr, kind: SocketType) -> Result<Self, OsError> {
        let (family, protocol) = match address {
            IpAddr::V4(_) => (AddressFamily::INET, ipproto::ICMP),
            IpAddr::V6(_) => (AddressFamily::INET6, ipproto::ICMPV6),
        };
        let socket = Self::new(family, kind, Some(protocol))?;
        socket.stamp(true)?;
        Ok(socket)
    }

    pub fn forget_stamps(&self) {
        // Failure only costs a little time.
        self.stamp(false).ok();
    }

    fn stamp(&self, on: bool) -> Result<(), OsError> {
        options::set(self.as_fd(), libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, on.into())
    }

    /// Lets the kernel accept bytes only while fewer than `bytes` are unsent.
    pub fn limit_unsent(&self, bytes: u32) {
        // Without the limit, bytes are committed earlier than necessary.
        let bytes = bytes.cast_signed();
        options::set(self.as_fd(), libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, bytes).ok();
    }

    pub fn begin_to_connect(&self, address: &SocketAddr) -> Result<(), OsError> {
        match rustix::net::connect(&self.stream, address) {
            Ok(()) | Err(Errno::INPROGRESS) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    pub fn local_port(&self) -> Result<u16, OsError> {
        let address = self
            .stream
            .local_addr()
            .map_err(|error| OsError::from_io_error(&error))?;
        Ok(address.port())
    }

    /// Lets reads and writes block, at most `longest` each. `None` makes them non-blocking.
    pub fn set_patience(&self, longest: Option<Duration>) -> Result<(), OsError> {
        let set = || {
            self.stream.set_nonblocking(longest.is_none())?;
            self.stream.set_read_timeout(longest)?;
            self.stream.set_write_timeout(longest)
        };
        set().map_err(|error: std::io::Error| OsError::from_io_error(&error))
    }

    pub fn stream(&self) -> &TcpStream {
        &self.stream
    }

    pub fn connected(&self) -> Result<bool, OsError> {
        if let Ok(Some(error)) | Err(error) = self.stream.take_error() {
            return Err(OsError::from_io_error(&error));
        }
        match self.peer() {
            Ok(_) => Ok(true),
            Err(OsError(libc::ENOTCONN)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Sets non-blocking, no delay (the sender has already applied Nagle's), time stamps, urgent
    /// bytes in the stream (only their urgency is lost), and keep-alive to detect a vanished peer.
    fn prepare(&self) -> Result<(), OsError> {
        self.stream
            .set_nonblocking(true)
            .map_err(|error| OsError::from_io_error(&error))?;
        self.stream
            .set_nodelay(true)
            .map_err(|error| OsError::from_io_error(&error))?;
        sockopt::set_socket_oobinline(&self.stream, true)?;
        sockopt::set_socket_keepalive(&self.stream, true)?;
        sockopt::set_tcp_keepidle(&self.stream, KEEPALIVE_IDLE)?;
        sockopt::set_tcp_keepintvl(&self.stream, KEEPALIVE_INTERVAL)?;
        sockopt::set_tcp_keepcnt(&self.stream, KEEPALIVE_PROBES)?;
        self.stamp(true)
    }

    /// `buffer` must not be empty.
    pub fn receive(&self, buffer: &mut [u8]) -> Received {
        let room = buffer.len();
        match stamped::receive(self.as_fd(), buffer) {
            Ok((count, stamp)) => received(count, room, stamp),
            Err(error) => not_received(OsError::from_io_error(&error)),
        }
    }

    pub fn receive_bytes(&self, buffer: &mut [u8]) -> Received {
        let room = buffer.len();
        match rustix::net::recv(&self.stream, buffer, RecvFlags::empty()) {
            Ok((count, _)) => received(count, room, None),
            Err(error) => not_received(error.into()),
        }
    }

    pub fn send(&self, bytes: &[u8]) -> Sent {
        sent(rustix::net::send(&self.stream, bytes, SendFlags::NOSIGNAL))
    }

    pub fn send_parts(&self, parts: &[IoSlice<'_>]) -> Sent {
        let parts = parts.get(..MAX_PARTS).unwrap_or(parts);
        let nothing = &mut SendAncillaryBuffer::default();
        sent(rustix::net::sendmsg(
            &self.stream,
            parts,
            nothing,
            SendFlags::NOSIGNAL,
        ))
    }

    /// Ignores a peer that is gone.
    pub fn finish(&self) {
        self.stream.shutdown(std::net::Shutdown::Write).ok();
    }

    /// Bytes in flight to the peer are dropped.
    pub fn reset(self) {
        // On failure the peer sees an ordinary end, which is the best left.
        sockopt::set_socket_linger(&self.stream, Some(Duration::ZERO)).ok();
    }

    pub fn info(&self) -> Option<KernelFigures> {
        KernelFigures::read_socket(self.stream.as_fd())
    }

    pub fn peer(&self) -> Result<SocketAddr, OsError> {
        self.stream
            .peer_addr()
            .map_err(|error| OsError::from_io_error(&error))
    }
}

fn received(count: usize, room: usize, stamp: Option<WallStamp>) -> Received {
    if count == 0 {
        return Received::End;
    }
    Received::Bytes {
        count,
        emptied: count < room,
        stamp,
    }
}

fn not_received(reason: OsError) -> Received {
    match reason {
        OsError(libc::EAGAIN | libc::EINTR) => Received::Nothing,
        reason => Received::Broken(reason),
    }
}

fn sent(result: Result<usize, Errno>) -> Sent {
    match result {
        Ok(count) => Sent::Bytes(count),
        Err(Errno::AGAIN | Errno::INTR | Errno::NOBUFS | Errno::NOMEM) => Sent::Bytes(0),
        Err(error) => Sent::Broken(error.into()),
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

/// The kernel's `IOV_MAX`.
const MAX_PARTS: usize = 1024;
const KEEPALIVE_IDLE: Duration = Duration::from_secs(60);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);
const KEEPALIVE_PROBES: u32 = 6;
