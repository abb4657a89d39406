//! One TCP socket of the relay: non-blocking, without Nagle's delay, with kernel time stamps.

use crate::clock::WallStamp;
use crate::error::OsError;
use crate::tcp_info::KernelFigures;
use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
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
    /// Bytes: how many, whether the read emptied the socket, and when the kernel received the last packet of them
    /// (absent where it gives no stamp).
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
    /// So many bytes; less than offered when the peer does not read fast enough.
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

    /// Takes over a connected Unix-domain stream: non-blocking, and nothing of TCP's settings, figures and time stamps.
    pub fn adopt_local(stream: UnixStream) -> Result<Self, OsError> {
        stream
            .set_nonblocking(true)
            .map_err(|error| OsError::of(&error))?;
        // What is used of the stream are system calls that do not ask for its family.
        let stream = TcpStream::from(OwnedFd::from(stream));
        Ok(Self { stream })
    }

    /// Begins to connect; the socket becomes writable when that is done, and [`Socket::connected`] tells how.
    pub fn connect(address: &SocketAddr) -> Result<Self, OsError> {
        let socket = Self::unconnected(address)?;
        socket.begin_to_connect(address)?;
        Ok(socket)
    }

    /// A socket for connections to addresses of this family. It belongs to the network namespace of this thread.
    pub fn unconnected(address: &SocketAddr) -> Result<Self, OsError> {
        let socket = Self::stream_for(address)?;
        socket.prepare()?;
        Ok(socket)
    }

    /// As [`Socket::unconnected`], for one short conversation of its own: neither time stamps nor keep-alive.
    pub fn plain(address: &SocketAddr) -> Result<Self, OsError> {
        let socket = Self::stream_for(address)?;
        let on: libc::c_int = 1;
        socket.set(libc::IPPROTO_TCP, libc::TCP_NODELAY, &on)?;
        Ok(socket)
    }

    fn stream_for(address: &SocketAddr) -> Result<Self, OsError> {
        let family = if address.is_ipv4() {
            libc::AF_INET
        } else {
            libc::AF_INET6
        };
        let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: no pointers; the result is checked before it is owned.
        let fd = unsafe { libc::socket(family, kind, 0) };
        if fd < 0 {
            return Err(OsError::last());
        }
        // SAFETY: a new descriptor that nobody else owns.
        Ok(Self {
            stream: TcpStream::from(unsafe { OwnedFd::from_raw_fd(fd) }),
        })
    }

    /// A socket for whole packets, non-blocking, with time stamps.
    pub fn datagrams(family: libc::c_int, kind: libc::c_int, protocol: libc::c_int) -> Result<Self, OsError> {
        // SAFETY: no pointers; the result is checked before it is owned.
        let fd = unsafe { libc::socket(family, kind | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK, protocol) };
        if fd < 0 {
            return Err(OsError::last());
        }
        // SAFETY: a new descriptor that nobody else owns. Beyond its making it is used like one of TCP.
        let socket = Self {
            stream: TcpStream::from(unsafe { OwnedFd::from_raw_fd(fd) }),
        };
        let on: libc::c_int = 1;
        socket.set(libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &on)?;
        Ok(socket)
    }

    /// The kernel need not stamp what comes any more.
    pub fn forget_stamps(&self) {
        let off: libc::c_int = 0;
        // A socket that still has stamps costs a little more, nothing else.
        self.set(libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &off).ok();
    }

    /// Has the kernel take more to send only while less than `bytes` of what it took have not left.
    pub fn limit_unsent(&self, bytes: u32) {
        // A socket without the limit holds more back from its sender's second thoughts, nothing else.
        self.set(libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, &bytes).ok();
    }

    /// Begins to connect a socket that is not connected yet.
    pub fn begin_to_connect(&self, address: &SocketAddr) -> Result<(), OsError> {
        let (name, length) = kernel_address(address);
        // SAFETY: `name` holds an address of `length` bytes of the family given to the socket.
        let result = unsafe { libc::connect(self.stream.as_raw_fd(), (&raw const name).cast(), length) };
        match OsError::last() {
            _ if result == 0 => Ok(()),
            OsError(libc::EINPROGRESS) => Ok(()),
            error => Err(error),
        }
    }

    /// The port of this end.
    pub fn local_port(&self) -> Result<u16, OsError> {
        let address = self.stream.local_addr().map_err(|error| OsError::of(&error))?;
        Ok(address.port())
    }

    /// Lets reads and writes wait, at most `longest` each; absent for the non-blocking way that workers need.
    pub fn set_patience(&self, longest: Option<Duration>) -> Result<(), OsError> {
        let set = || {
            self.stream.set_nonblocking(longest.is_none())?;
            self.stream.set_read_timeout(longest)?;
            self.stream.set_write_timeout(longest)
        };
        set().map_err(|error: std::io::Error| OsError::of(&error))
    }

    /// The stream itself, for conversations that wait for their answer.
    pub fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Whether it is connected by now.
    pub fn connected(&self) -> Result<bool, OsError> {
        if let Ok(Some(error)) | Err(error) = self.stream.take_error() {
            return Err(OsError::of(&error));
        }
        match self.peer() {
            Ok(_) => Ok(true),
            Err(OsError(libc::ENOTCONN)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Non-blocking; segments leave as they come (the sender has decided on Nagle's delay already); time stamps;
    /// urgent bytes stay in the stream (their urgency is lost, no byte is); a peer that vanished is noticed.
    fn prepare(&self) -> Result<(), OsError> {
        self.stream
            .set_nonblocking(true)
            .map_err(|error| OsError::of(&error))?;
        self.stream
            .set_nodelay(true)
            .map_err(|error| OsError::of(&error))?;
        let on: libc::c_int = 1;
        self.set(libc::SOL_SOCKET, libc::SO_OOBINLINE, &on)?;
        self.set(libc::SOL_SOCKET, libc::SO_KEEPALIVE, &on)?;
        self.set(libc::IPPROTO_TCP, libc::TCP_KEEPIDLE, &KEEPALIVE_IDLE_SECONDS)?;
        self.set(
            libc::IPPROTO_TCP,
            libc::TCP_KEEPINTVL,
            &KEEPALIVE_INTERVAL_SECONDS,
        )?;
        self.set(libc::IPPROTO_TCP, libc::TCP_KEEPCNT, &KEEPALIVE_PROBES)?;
        self.set(libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &on)
    }

    fn set<T>(&self, level: libc::c_int, name: libc::c_int, value: &T) -> Result<(), OsError> {
        let length = libc::socklen_t::try_from(size_of::<T>()).unwrap_or(0);
        // SAFETY: the kernel reads `length` bytes of `value`.
        let result = unsafe {
            libc::setsockopt(
                self.stream.as_raw_fd(),
                level,
                name,
                std::ptr::from_ref(value).cast(),
                length,
            )
        };
        if result < 0 { Err(OsError::last()) } else { Ok(()) }
    }

    /// Reads what is there into `buffer`, which must not be empty.
    pub fn receive(&self, buffer: &mut [u8]) -> Received {
        let mut part = libc::iovec {
            iov_base: buffer.as_mut_ptr().cast(),
            iov_len: buffer.len(),
        };
        let mut control = MaybeUninit::<ControlSpace>::uninit();
        // SAFETY: all-zero is a valid msghdr.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = size_of::<ControlSpace>();
        // SAFETY: `message` points at one valid part and at control space of the length given.
        let result = unsafe { libc::recvmsg(self.stream.as_raw_fd(), &raw mut message, 0) };
        match usize::try_from(result) {
            Ok(0) => Received::End,
            Ok(count) => Received::Bytes {
                count,
                emptied: count < buffer.len(),
                stamp: stamp_in(&message),
            },
            Err(_) => match OsError::last() {
                OsError(libc::EAGAIN | libc::EINTR) => Received::Nothing,
                error => Received::Broken(error),
            },
        }
    }

    /// As [`Socket::receive`], without asking for the stamp.
    pub fn read(&self, buffer: &mut [u8]) -> Received {
        // SAFETY: the kernel writes at most `buffer.len()` bytes into `buffer`.
        let result = unsafe {
            libc::recv(
                self.stream.as_raw_fd(),
                buffer.as_mut_ptr().cast(),
                buffer.len(),
                0,
            )
        };
        match usize::try_from(result) {
            Ok(0) => Received::End,
            Ok(count) => Received::Bytes {
                count,
                emptied: count < buffer.len(),
                stamp: None,
            },
            Err(_) => match OsError::last() {
                OsError(libc::EAGAIN | libc::EINTR) => Received::Nothing,
                error => Received::Broken(error),
            },
        }
    }

    /// Sends what the kernel takes of `bytes`.
    pub fn send(&self, bytes: &[u8]) -> Sent {
        // SAFETY: the kernel reads at most `bytes.len()` bytes from `bytes`.
        let result = unsafe {
            libc::send(
                self.stream.as_raw_fd(),
                bytes.as_ptr().cast(),
                bytes.len(),
                libc::MSG_NOSIGNAL,
            )
        };
        sent(result)
    }

    /// Sends what the kernel takes of `parts`, in one call.
    pub fn send_parts(&self, parts: &[IoSlice<'_>]) -> Sent {
        // SAFETY: all-zero is a valid msghdr.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        // An IoSlice has the layout of an iovec, and the kernel only reads from these.
        message.msg_iov = parts.as_ptr().cast_mut().cast();
        message.msg_iovlen = parts.len().min(MOST_PARTS);
        // SAFETY: `message` points at as many valid parts as it says.
        let result =
            unsafe { libc::sendmsg(self.stream.as_raw_fd(), &raw const message, libc::MSG_NOSIGNAL) };
        sent(result)
    }

    /// Tells the peer that no more will come. A peer that is gone already need not be told.
    pub fn finish(&self) {
        self.stream.shutdown(std::net::Shutdown::Write).ok();
    }

    /// Closes with a reset, as the other side of the relay did: what is still on its way to the peer is dropped.
    pub fn reset(self) {
        let linger = libc::linger {
            l_onoff: 1,
            l_linger: 0,
        };
        // If this fails the peer gets an ordinary end; there is nothing better left to do.
        self.set(libc::SOL_SOCKET, libc::SO_LINGER, &linger).ok();
    }

    /// The kernel's figures for it.
    pub fn info(&self) -> Option<KernelFigures> {
        KernelFigures::of(self.stream.as_fd())
    }

    /// The address of the other end.
    pub fn peer(&self) -> Result<SocketAddr, OsError> {
        self.stream.peer_addr().map_err(|error| OsError::of(&error))
    }
}

/// What a send call returned.
fn sent(result: libc::ssize_t) -> Sent {
    match usize::try_from(result) {
        Ok(count) => Sent::Bytes(count),
        Err(_) => match OsError::last() {
            OsError(libc::EAGAIN | libc::EINTR | libc::ENOBUFS | libc::ENOMEM) => Sent::Bytes(0),
            error => Sent::Broken(error),
        },
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

/// Room for one time stamp and its header, aligned as control messages must be.
#[repr(C)]
union ControlSpace {
    header: libc::cmsghdr,
    bytes: [u8; 64],
}

/// The time stamp among a message's control messages. On TCP it is that of the last packet read from
/// (`tcp_recv_timestamp` in Linux `net/ipv4/tcp.c`).
fn stamp_in(message: &libc::msghdr) -> Option<WallStamp> {
    // SAFETY: the kernel has filled the control space and set its length; these macros stay within it.
    unsafe {
        let header = libc::CMSG_FIRSTHDR(message);
        if header.is_null()
            || (*header).cmsg_level != libc::SOL_SOCKET
            || (*header).cmsg_type != libc::SCM_TIMESTAMPNS
        {
            return None;
        }
        let time: libc::timespec = std::ptr::read_unaligned(libc::CMSG_DATA(header).cast());
        let seconds = u64::try_from(time.tv_sec).ok().filter(|seconds| *seconds > 0)?;
        seconds
            .checked_mul(1_000_000_000)?
            .checked_add(u64::try_from(time.tv_nsec).ok()?)
            .map(WallStamp)
    }
}

fn kernel_address(address: &SocketAddr) -> (libc::sockaddr_storage, libc::socklen_t) {
    // SAFETY: all-zero is a valid sockaddr_storage.
    let mut storage: libc::sockaddr_storage = unsafe { std::mem::zeroed() };
    let length = match address {
        SocketAddr::V4(address) => {
            let name = libc::sockaddr_in {
                sin_family: libc::AF_INET as libc::sa_family_t,
                sin_port: address.port().to_be(),
                sin_addr: libc::in_addr {
                    s_addr: u32::from_ne_bytes(address.ip().octets()),
                },
                sin_zero: [0; 8],
            };
            // SAFETY: sockaddr_storage is large and aligned enough for every address family.
            unsafe { (&raw mut storage).cast::<libc::sockaddr_in>().write(name) };
            size_of::<libc::sockaddr_in>()
        }
        SocketAddr::V6(address) => {
            let name = libc::sockaddr_in6 {
                sin6_family: libc::AF_INET6 as libc::sa_family_t,
                sin6_port: address.port().to_be(),
                sin6_flowinfo: address.flowinfo(),
                sin6_addr: libc::in6_addr {
                    s6_addr: address.ip().octets(),
                },
                sin6_scope_id: address.scope_id(),
            };
            // SAFETY: as above.
            unsafe { (&raw mut storage).cast::<libc::sockaddr_in6>().write(name) };
            size_of::<libc::sockaddr_in6>()
        }
    };
    (storage, length as libc::socklen_t)
}

/// `IOV_MAX`: the kernel takes no more parts at once.
const MOST_PARTS: usize = 1024;
const KEEPALIVE_IDLE_SECONDS: libc::c_int = 60;
const KEEPALIVE_INTERVAL_SECONDS: libc::c_int = 10;
const KEEPALIVE_PROBES: libc::c_int = 6;
