//! How a ring is opened.

use super::blocks::Blocks;
use super::{FilterStep, Interfaces};
use crate::error::{LiveError, OsError};
use crate::socket::options;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use rustix::thread::{CapabilitySet, capabilities, set_capabilities};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// The socket and its ring. Nothing is received before `bind`: by then the program is there.
pub(super) fn ring(
    interfaces: &Interfaces,
    bytes: usize,
    program: &[FilterStep],
) -> Result<(OwnedFd, Blocks), LiveError> {
    let socket = socket_with(AddressFamily::PACKET, SocketType::RAW, SocketFlags::CLOEXEC, None);
    let socket = socket.map_err(|error| refused("open a packet socket", OsError::from(error)))?;
    let here = socket.as_fd();
    let failed = |operation| move |reason| refused(operation, reason);
    attach(here, program).map_err(failed("filter packets in the kernel"))?;
    let version = libc::tpacket_versions::TPACKET_V3 as libc::c_int;
    options::set(here, libc::SOL_PACKET, libc::PACKET_VERSION, version)
        .map_err(failed("capture into a ring"))?;
    let count = make_ring(here, bytes).map_err(failed("get memory for a ring of packets"))?;
    let blocks = Blocks::map(here, BLOCK, count).map_err(failed("map a ring of packets"))?;
    bind(here, interfaces.only()).map_err(failed("capture from an interface"))?;
    Ok((socket, blocks))
}

fn refused(operation: &'static str, reason: OsError) -> LiveError {
    match reason {
        OsError(libc::EPERM | libc::EACCES) => LiveError::CaptureRefused { reason },
        reason => LiveError::System { operation, reason },
    }
}

fn attach(socket: BorrowedFd<'_>, program: &[FilterStep]) -> Result<(), OsError> {
    let steps = program.iter().map(|(code, jt, jf, k)| libc::sock_filter {
        code: *code,
        jt: *jt,
        jf: *jf,
        k: *k,
    });
    let mut steps: Vec<libc::sock_filter> = steps.collect();
    let program = libc::sock_fprog {
        len: libc::c_ushort::try_from(steps.len()).map_err(|_| OsError(libc::EINVAL))?,
        filter: steps.as_mut_ptr(),
    };
    // SAFETY: `sock_fprog` is plain data whose pointer is to `len` instructions, which live until the call is
    // over.
    unsafe { options::set_plain(socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program) }
}

/// Asks for a ring, and for half of it where the system has not so much; how many blocks it has.
fn make_ring(socket: BorrowedFd<'_>, bytes: usize) -> Result<usize, OsError> {
    let mut count = (bytes / BLOCK).clamp(MIN_BLOCKS, MAX_BLOCKS);
    loop {
        // `struct tpacket_req3`: size and number of blocks, size and number of frames (which only have to
        // fit), after how many ms a block is passed on, bytes of a private part, features.
        let request = [BLOCK, count, FRAME, BLOCK / FRAME * count, PASSED_ON_MS, 0, 0];
        let request = request.map(|number| libc::c_uint::try_from(number).unwrap_or(libc::c_uint::MAX));
        // SAFETY: seven numbers, which is what the structure is made of.
        let made = unsafe { options::set_plain(socket, libc::SOL_PACKET, libc::PACKET_RX_RING, &request) };
        match made {
            Ok(()) => return Ok(count),
            Err(OsError(libc::ENOMEM)) if count > MIN_BLOCKS => count = (count / 2).max(MIN_BLOCKS),
            Err(reason) => return Err(reason),
        }
    }
}

/// Begins to receive, from one interface or from all.
fn bind(socket: BorrowedFd<'_>, interface: Option<u32>) -> Result<(), OsError> {
    // SAFETY: all-zero is a valid address, which is filled in before the kernel reads it, as many bytes as it
    // has.
    let result = unsafe {
        let mut address: libc::sockaddr_ll = std::mem::zeroed();
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
        address.sll_ifindex = interface
            .and_then(|number| i32::try_from(number).ok())
            .unwrap_or(0);
        let length = size_of_val(&address) as libc::socklen_t;
        libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length)
    };
    if result < 0 { Err(OsError::last()) } else { Ok(()) }
}

/// Gives up the right to capture, and to configure the network, which are needed for nothing else. A program
/// that root starts from here has them again.
pub(super) fn give_up_right() {
    let Ok(mut rights) = capabilities(None) else {
        return;
    };
    let needless = CapabilitySet::NET_RAW | CapabilitySet::NET_ADMIN;
    rights.effective -= needless;
    rights.permitted -= needless;
    rights.inheritable -= needless;
    // Keeping it would do no harm by itself: what was opened stays open either way.
    set_capabilities(None, rights).ok();
}

/// Bytes of a block: room for three of the largest packets that offload usually makes (64 KiB). One that is
/// passed on before it is full is used up all the same: with larger blocks, fewer moments would fit into the
/// ring.
const BLOCK: usize = 256 << 10;
/// Bytes of a frame, which the kernel wants to know though frames of TPACKET_V3 are as long as their packets.
const FRAME: usize = 1 << 11;
const MIN_BLOCKS: usize = 8;
const MAX_BLOCKS: usize = 8192;
/// Bytes that a ring may have: what the kernel takes, and enough for the packets of a moment.
pub const RING_SIZES: std::ops::RangeInclusive<u64> =
    (MIN_BLOCKS * BLOCK) as u64..=(MAX_BLOCKS * BLOCK) as u64;
/// When a block that is not full is passed on.
const PASSED_ON_MS: usize = 40;
