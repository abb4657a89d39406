//! Routes, asked of the kernel by netlink (`rtnetlink(7)`), in the namespace of the calling thread.

use super::addresses::Route;
use super::{device, system};
use crate::{LiveError, OsError};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Adds a route to one address through a device.
pub(super) fn add_route(route: &Route) -> Result<(), LiveError> {
    let add = || {
        let mut message = Message::new(
            libc::RTM_NEWROUTE,
            &RouteHeader {
                destination_bits: 32,
                table: libc::RT_TABLE_MAIN,
                kind: libc::RTN_UNICAST,
                scope: libc::RT_SCOPE_LINK,
            },
        );
        message.attribute(libc::RTA_DST, &route.to.octets());
        message.attribute(libc::RTA_OIF, &device::number(&route.device)?.to_ne_bytes());
        message.send()
    };
    add().map_err(system("add a route"))
}

/// The parts of a `rtmsg` that differ between the routes made here.
struct RouteHeader {
    destination_bits: u8,
    table: u8,
    kind: u8,
    scope: u8,
}

/// A request that is being put together.
struct Message(Vec<u8>);

impl Message {
    fn new(kind: u16, route: &RouteHeader) -> Self {
        let mut bytes = vec![0; HEADER_BYTES];
        bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
        let flags = (libc::NLM_F_REQUEST | libc::NLM_F_ACK | libc::NLM_F_CREATE) as u16;
        bytes[6..8].copy_from_slice(&flags.to_ne_bytes());
        let family = libc::AF_INET as u8;
        bytes.extend([family, route.destination_bits, 0, 0]);
        bytes.extend([route.table, libc::RTPROT_STATIC, route.scope, route.kind]);
        bytes.extend([0; 4]);
        Self(bytes)
    }

    fn attribute(&mut self, kind: u16, value: &[u8]) {
        let length = u16::try_from(4 + value.len()).unwrap_or(u16::MAX);
        self.0.extend(length.to_ne_bytes());
        self.0.extend(kind.to_ne_bytes());
        self.0.extend(value);
        self.0.resize(self.0.len().next_multiple_of(4), 0);
    }

    /// Sends it and waits for the kernel's answer.
    fn send(mut self) -> Result<(), OsError> {
        let length = u32::try_from(self.0.len()).unwrap_or(u32::MAX);
        self.0[..4].copy_from_slice(&length.to_ne_bytes());
        let socket = socket()?;
        // SAFETY: the message is valid for its length.
        let sent = unsafe { libc::send(socket.as_raw_fd(), self.0.as_ptr().cast(), self.0.len(), 0) };
        if sent < 0 {
            return Err(OsError::last());
        }
        let mut answer = [0_u8; 1024];
        // SAFETY: the kernel writes at most that many bytes into it.
        let received = unsafe { libc::recv(socket.as_raw_fd(), answer.as_mut_ptr().cast(), answer.len(), 0) };
        if received < 0 {
            return Err(OsError::last());
        }
        // An acknowledgement: a header, then the error number, negative.
        let number = answer
            .get(HEADER_BYTES..HEADER_BYTES + 4)
            .and_then(|bytes| bytes.try_into().ok())
            .map_or(0, i32::from_ne_bytes);
        if number == 0 {
            Ok(())
        } else {
            Err(OsError(-number))
        }
    }
}

fn socket() -> Result<OwnedFd, OsError> {
    // SAFETY: integers; the result is checked before it is owned.
    let fd = unsafe {
        libc::socket(
            libc::AF_NETLINK,
            libc::SOCK_RAW | libc::SOCK_CLOEXEC,
            libc::NETLINK_ROUTE,
        )
    };
    if fd < 0 {
        return Err(OsError::last());
    }
    // SAFETY: a new descriptor that nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Of an `nlmsghdr`.
const HEADER_BYTES: usize = 16;
