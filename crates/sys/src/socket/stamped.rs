//! Reading from a socket with the kernel's time stamp: `rustix` gives no control messages of this kind.

use crate::clock::WallStamp;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Reads what is there into `buffer`: how many bytes, and when the kernel received the last packet of them.
/// On TCP it is that of the last packet read from (`tcp_recv_timestamp` in Linux `net/ipv4/tcp.c`).
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

/// The time stamp in the first control message: a `cmsghdr` (its length, the level, the kind), then a
/// `timespec` (`socket(7)`).
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

/// Of the kernel's `long` and of a length.
const WORD: usize = size_of::<usize>();
