//! What this machine adds to a round trip through a link without any delay.

use crate::OsError;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::os::fd::{FromRawFd, OwnedFd};
use std::time::{Duration, Instant};

/// The median time of echoes that the kernel of `peer` answers, asked on a thread of the other host of a link without
/// delay. Between them the machine rests, as it does between the packets of a link with delay. Absent where the system does not let
/// this process ping.
pub(super) fn measure(peer: Ipv4Addr) -> Option<Duration> {
    let socket = ping_socket().ok()?;
    socket.set_read_timeout(Some(PATIENCE)).ok()?;
    socket.connect(SocketAddr::from((peer, 0))).ok()?;
    let mut spans: Vec<Duration> = (0..ECHOES).filter_map(|_| echo(&socket)).collect();
    spans.sort_unstable();
    spans.get(spans.len() / 2).copied()
}

fn echo(socket: &UdpSocket) -> Option<Duration> {
    std::thread::sleep(REST);
    let begin = Instant::now();
    // Type 8, code 0 (RFC 792); the kernel fills in identifier and checksum.
    socket.send(&[8, 0, 0, 0, 0, 0, 0, 0]).ok()?;
    socket.recv(&mut [0; 64]).ok()?;
    Some(begin.elapsed())
}

/// A socket that sends ICMP echoes without privileges (`icmp(7)`); beyond its making it behaves as one of UDP.
fn ping_socket() -> Result<UdpSocket, OsError> {
    // SAFETY: integers; the result is checked before it is owned.
    let fd = unsafe {
        libc::socket(
            libc::AF_INET,
            libc::SOCK_DGRAM | libc::SOCK_CLOEXEC,
            libc::IPPROTO_ICMP,
        )
    };
    if fd < 0 {
        return Err(OsError::last());
    }
    // SAFETY: a new descriptor that nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) }.into())
}

const ECHOES: u32 = 24;
const REST: Duration = Duration::from_millis(1);
const PATIENCE: Duration = Duration::from_millis(100);
