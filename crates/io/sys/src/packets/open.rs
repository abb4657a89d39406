//! Opens a packet ring.

use super::blocks::Blocks;
use super::{FilterStep, Interfaces};
use crate::error::{LiveError, OsError};
use crate::socket::options;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use rustix::thread::{CapabilitySet, capabilities, set_capabilities};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// No packet is received before `bind`, when the filter is in place.
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

/// Halves the size while the system refuses; returns the number of blocks.
fn make_ring(socket: BorrowedFd<'_>, bytes: usize) -> Result<usize, OsError> {
    let mut count = (bytes / BLOCK).clamp(MIN_BLOCKS, MAX_BLOCKS);
    loop {
        // `struct tpacket_req3`: size and number of blocks, size and number of frames (which only
        // have to fit), block timeout in ms, bytes of a private part, features.
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

/// Drops the rights to capture and to configure the network. A program that root starts from here
/// has them again.
pub(super) fn give_up_right() {
    let Ok(mut rights) = capabilities(None) else {
        return;
    };
    let needless = CapabilitySet::NET_RAW | CapabilitySet::NET_ADMIN;
    rights.effective -= needless;
    rights.permitted -= needless;
    rights.inheritable -= needless;
    // Keeping them would do no harm: open sockets work either way.
    set_capabilities(None, rights).ok();
}

/// Room for three packets of the usual maximum with offload (64 KiB). A block released early is
/// used up all the same, so larger blocks would let the ring cover less time.
const BLOCK: usize = 256 << 10;
/// The kernel requires it, though frames of TPACKET_V3 are as long as their packets.
const FRAME: usize = 1 << 11;
const MIN_BLOCKS: usize = 8;
const MAX_BLOCKS: usize = 8192;
pub const RING_SIZES: std::ops::RangeInclusive<u64> =
    (MIN_BLOCKS * BLOCK) as u64..=(MAX_BLOCKS * BLOCK) as u64;
/// The kernel's block timeout.
const PASSED_ON_MS: usize = 40;
