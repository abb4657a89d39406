//! One TCP socket of the relay: non-blocking, without Nagle's delay, with kernel time stamps.

pub(crate) mod options;
mod stamped;

pub(crate) use options::get as get_option;

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

/// A connected, or connecting, TCP socket.
#[derive(Debug)]
pub struct Socket {
    stream: TcpStream,
}

/// What a read gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Received {
    /// Bytes: how many, whether the read emptied the socket, and when the kernel received the last packet of
    /// them (absent where it gives no stamp).
    Bytes {
        /// How many, at least one.
        count: usize,
        /// Whether nothing is left to read.
        emptied: bool,
        /// When the kernel received the last packet of them.
        stamp: Option<WallStamp>,
    },
    /// Nothing now.
    Nothing,
    /// The peer will send no more.
    End,
    /// The connection is broken.
    Broken(OsError),
}

/// What a send took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sent {
    /// This many bytes; less than offered when the peer does not read fast enough.
    Bytes(usize),
    /// The connection is broken.
    Broken(OsError),
}

impl Socket {
    /// Takes over a connected stream.
    pub fn adopt(stream: TcpStream) -> Result<Self, OsError> {
        let socket = Self { stream };
        socket.prepare()?;
        Ok(socket)
    }

    /// Takes over a connected Unix-domain stream: non-blocking, and nothing of TCP's settings, figures and
    /// time stamps.
    pub fn adopt_local(stream: UnixStream) -> Result<Self, OsError> {
        stream
            .set_nonblocking(true)
            .map_err(|error| OsError::from_io_error(&error))?;
        // What is used of the stream are system calls that do not ask for its family.
        let stream = TcpStream::from(OwnedFd::from(stream));
        Ok(Self { stream })
    }

    /// Begins to connect; the socket becomes writable when that is done, and [`Socket::connected`] returns
    /// how it ended.
    pub fn connect(address: &SocketAddr) -> Result<Self, OsError> {
        let socket = Self::unconnected(address)?;
        socket.begin_to_connect(address)?;
        Ok(socket)
    }

    /// A socket for connections to addresses of this family. It belongs to the network namespace of this
    /// thread.
    pub fn unconnected(address: &SocketAddr) -> Result<Self, OsError> {
        let socket = Self::stream_for(address)?;
        socket.prepare()?;
        Ok(socket)
    }

    /// As [`Socket::unconnected`], for one short conversation of its own: neither time stamps nor keep-alive.
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

    /// A socket for ICMP's echoes alone (`icmp(7)`), non-blocking, with time stamps. Beyond its making it is
    /// used like one of TCP.
    pub fn icmp_echo(address: &IpAddr) -> Result<Self, OsError> {
        Self::icmp(address, SocketType::DGRAM)
    }

    /// As [`Socket::icmp_echo`], for all of ICMP, of which more comes than is meant for it (`raw(7)`). Only
    /// for root.
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

    /// The kernel need not stamp arrivals any more.
    pub fn forget_stamps(&self) {
        // A socket that still has stamps costs a little more, nothing else.
        self.stamp(false).ok();
    }

    /// Sets whether the kernel stamps arrivals.
    fn stamp(&self, on: bool) -> Result<(), OsError> {
        options::set(self.as_fd(), libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, on.into())
    }

    /// Has the kernel take more to send only while less than `bytes` of what it took have not left.
    pub fn limit_unsent(&self, bytes: u32) {
        // A socket without the limit holds more back from its sender's second thoughts, nothing else.
        let bytes = bytes.cast_signed();
        options::set(self.as_fd(), libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, bytes).ok();
    }

    /// Begins to connect a socket that is not connected yet.
    pub fn begin_to_connect(&self, address: &SocketAddr) -> Result<(), OsError> {
        match rustix::net::connect(&self.stream, address) {
            Ok(()) | Err(Errno::INPROGRESS) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// The port of this end.
    pub fn local_port(&self) -> Result<u16, OsError> {
        let address = self
            .stream
            .local_addr()
            .map_err(|error| OsError::from_io_error(&error))?;
        Ok(address.port())
    }

    /// Lets reads and writes wait, at most `longest` each; absent for the non-blocking way that workers need.
    pub fn set_patience(&self, longest: Option<Duration>) -> Result<(), OsError> {
        let set = || {
            self.stream.set_nonblocking(longest.is_none())?;
            self.stream.set_read_timeout(longest)?;
            self.stream.set_write_timeout(longest)
        };
        set().map_err(|error: std::io::Error| OsError::from_io_error(&error))
    }

    /// The stream itself, for conversations that wait for their answer.
    pub fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Whether it is connected by now.
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

    /// Non-blocking; segments leave as they come (the sender has decided on Nagle's delay already); time
    /// stamps; urgent bytes stay in the stream (their urgency is lost, no byte is); a peer that vanished is
    /// noticed.
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

    /// Reads what is there into `buffer`, which must not be empty.
    pub fn receive(&self, buffer: &mut [u8]) -> Received {
        let room = buffer.len();
        match stamped::receive(self.as_fd(), buffer) {
            Ok((count, stamp)) => received(count, room, stamp),
            Err(error) => not_received(OsError::from_io_error(&error)),
        }
    }

    /// As [`Socket::receive`], without asking for the stamp.
    pub fn receive_bytes(&self, buffer: &mut [u8]) -> Received {
        let room = buffer.len();
        match rustix::net::recv(&self.stream, buffer, RecvFlags::empty()) {
            Ok((count, _)) => received(count, room, None),
            Err(error) => not_received(error.into()),
        }
    }

    /// Sends what the kernel takes of `bytes`.
    pub fn send(&self, bytes: &[u8]) -> Sent {
        sent(rustix::net::send(&self.stream, bytes, SendFlags::NOSIGNAL))
    }

    /// Sends what the kernel takes of `parts`, in one call.
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

    /// Informs the peer that no more will come. A peer that is gone already need not be informed.
    pub fn finish(&self) {
        self.stream.shutdown(std::net::Shutdown::Write).ok();
    }

    /// Closes with a reset, as the other side of the relay did: what is still on its way to the peer is
    /// dropped.
    pub fn reset(self) {
        // If this fails the peer gets an ordinary end; there is nothing better left to do.
        sockopt::set_socket_linger(&self.stream, Some(Duration::ZERO)).ok();
    }

    /// The kernel's figures for it.
    pub fn info(&self) -> Option<KernelFigures> {
        KernelFigures::read_socket(self.stream.as_fd())
    }

    /// The address of the other end.
    pub fn peer(&self) -> Result<SocketAddr, OsError> {
        self.stream
            .peer_addr()
            .map_err(|error| OsError::from_io_error(&error))
    }
}

/// What a call returned that read `count` bytes into `room`.
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

/// What a call returned that read nothing.
fn not_received(reason: OsError) -> Received {
    match reason {
        OsError(libc::EAGAIN | libc::EINTR) => Received::Nothing,
        reason => Received::Broken(reason),
    }
}

/// What a send call returned.
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

/// `IOV_MAX`: the kernel takes no more parts at once.
const MAX_PARTS: usize = 1024;
const KEEPALIVE_IDLE: Duration = Duration::from_secs(60);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);
const KEEPALIVE_PROBES: u32 = 6;
