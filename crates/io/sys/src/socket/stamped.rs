//! Reads with the kernel's time stamp, which `rustix` does not support.

use crate::clock::WallStamp;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Returns the number of bytes, and the receipt time of their last packet by the kernel. On TCP
/// that is the last packet read from (`tcp_recv_timestamp` in Linux `net/ipv4/tcp.c`).
pub(super) fn receive(
    socket: BorrowedFd<'_>,
    buffer: &mut [u8],
) -> std::io::Result<(usize, Option<WallStamp>)> {
    let mut part = libc::iovec {
        iov_base: buffer.as_mut_ptr().cast(),
        iov_len: buffer.len(),
    };
    let mut control = ControlSpace([0; CONTROL_BYTES]);
    // SAFETY: all-zero is a valid msghdr. When the kernel uses it, it points at one part, which is `buffer`,
    // and at control space of the length given, and all of them outlive the call.
    let (result, filled) = unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.0.as_mut_ptr().cast();
        message.msg_controllen = CONTROL_BYTES as _;
        let result = libc::recvmsg(socket.as_raw_fd(), &raw mut message, 0);
        (result, message.msg_controllen as usize)
    };
    match usize::try_from(result) {
        Ok(count) => Ok((count, stamp_in(control.0.get(..filled).unwrap_or_default()))),
        Err(_) => Err(std::io::Error::last_os_error()),
    }
}

/// Room for one time stamp and its header, aligned as control messages must be.
#[repr(C, align(8))]
struct ControlSpace([u8; CONTROL_BYTES]);

const CONTROL_BYTES: usize = 64;

/// The first control message: `cmsghdr` (length, level, kind), then `timespec` (`socket(7)`).
fn stamp_in(control: &[u8]) -> Option<WallStamp> {
    let (_length, rest) = control.split_first_chunk::<WORD>()?;
    let (level, rest) = rest.split_first_chunk()?;
    let (kind, rest) = rest.split_first_chunk()?;
    let kinds = (i32::from_ne_bytes(*level), i32::from_ne_bytes(*kind));
    if kinds != (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) {
        return None;
    }
    let (seconds, rest) = rest.split_first_chunk()?;
    let (nanoseconds, _) = rest.split_first_chunk()?;
    let seconds = u64::try_from(isize::from_ne_bytes(*seconds)).ok();
    seconds
        .filter(|seconds| *seconds > 0)?
        .checked_mul(1_000_000_000)?
        .checked_add(u64::try_from(isize::from_ne_bytes(*nanoseconds)).ok()?)
        .map(WallStamp)
}

/// Size of the kernel's `long` and of a length.
const WORD: usize = size_of::<usize>();
