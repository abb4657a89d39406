//! TUN devices: one end of a link, in the namespace of the thread that makes it.

use super::{netlink, system};
use std::fs::OpenOptions;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use sys::{LiveError, OsError};

/// A TUN device that is up: packets that its host sends are read from it, packets written to it its host receives. Gone
/// with its descriptor.
#[derive(Debug)]
pub(super) struct Device(OwnedFd);

impl Device {
    /// Makes `name` with `own` as its address and `peer` as the one at the other end.
    pub(super) fn make(name: &str, own: Ipv4Addr, peer: Ipv4Addr, mtu: u16) -> Result<Self, LiveError> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC)
            .open("/dev/net/tun")
            .map_err(|error| LiveError::TunRefused {
                reason: OsError::of(&error),
            })?;
        let fd = OwnedFd::from(file);
        let mut create = request(name);
        create.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
        call(fd.as_fd(), libc::TUNSETIFF as libc::Ioctl, &mut create)
            .map_err(|reason| LiveError::TunRefused { reason })?;
        configure(name, own, peer, mtu).map_err(system("configure a network device"))?;
        Ok(Self(fd))
    }

    /// Reads one packet into `room`; absent when none waits.
    pub(super) fn read(&self, room: &mut [u8]) -> Option<usize> {
        // SAFETY: the kernel writes at most `room.len()` bytes into it.
        let count = unsafe { libc::read(self.0.as_raw_fd(), room.as_mut_ptr().cast(), room.len()) };
        usize::try_from(count).ok().filter(|count| *count > 0)
    }

    /// Hands one packet to the host.
    pub(super) fn write(&self, packet: &[u8]) -> Result<(), OsError> {
        // SAFETY: `packet` is valid for its length.
        let count = unsafe { libc::write(self.0.as_raw_fd(), packet.as_ptr().cast(), packet.len()) };
        if count < 0 { Err(OsError::last()) } else { Ok(()) }
    }
}

impl AsFd for Device {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Raises the loopback of the present namespace.
pub(super) fn raise_loopback() -> Result<(), LiveError> {
    control_socket()
        .and_then(|socket| raise(&socket, "lo"))
        .map_err(system("raise a loopback device"))
}

fn configure(name: &str, own: Ipv4Addr, peer: Ipv4Addr, mtu: u16) -> Result<(), OsError> {
    let socket = control_socket()?;
    let mut set = request(name);
    set.ifr_ifru.ifru_mtu = libc::c_int::from(mtu);
    call(socket.as_fd(), libc::SIOCSIFMTU, &mut set)?;
    // What the device holds until it is read; beyond it the kernel drops, which nobody asked for.
    netlink::set_queue(name, QUEUE_PACKETS)?;
    let addresses = [
        (libc::SIOCSIFADDR, own),
        (libc::SIOCSIFDSTADDR, peer),
        (libc::SIOCSIFNETMASK, Ipv4Addr::BROADCAST),
    ];
    for (operation, address) in addresses {
        let mut set = request(name);
        set.ifr_ifru.ifru_addr = kernel_address(address);
        call(socket.as_fd(), operation, &mut set)?;
    }
    raise(&socket, name)
}

fn raise(socket: &OwnedFd, name: &str) -> Result<(), OsError> {
    let mut set = request(name);
    set.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    call(socket.as_fd(), libc::SIOCSIFFLAGS, &mut set)
}

fn control_socket() -> Result<OwnedFd, OsError> {
    // SAFETY: integers; the result is checked before it is owned.
    let fd = unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
    if fd < 0 {
        return Err(OsError::last());
    }
    // SAFETY: a new descriptor that nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// The number under which the kernel knows the device `name` of the present namespace.
pub(super) fn number(name: &str) -> Result<u32, OsError> {
    let socket = control_socket()?;
    let mut get = request(name);
    call(socket.as_fd(), libc::SIOCGIFINDEX, &mut get)?;
    // SAFETY: SIOCGIFINDEX fills this member.
    let number = unsafe { get.ifr_ifru.ifru_ifindex };
    u32::try_from(number).map_err(|_| OsError(libc::ENODEV))
}

fn call(fd: BorrowedFd<'_>, operation: libc::Ioctl, request: &mut libc::ifreq) -> Result<(), OsError> {
    // SAFETY: every operation used here reads and writes one `ifreq`.
    if unsafe { libc::ioctl(fd.as_raw_fd(), operation, std::ptr::from_mut(request)) } < 0 {
        return Err(OsError::last());
    }
    Ok(())
}

fn request(name: &str) -> libc::ifreq {
    // SAFETY: all-zero is a valid ifreq.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    // The last byte stays zero.
    let room = libc::IFNAMSIZ - 1;
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes().take(room)) {
        *to = from as libc::c_char;
    }
    request
}

fn kernel_address(address: Ipv4Addr) -> libc::sockaddr {
    // SAFETY: all-zero is a valid sockaddr.
    let mut kernel: libc::sockaddr = unsafe { std::mem::zeroed() };
    kernel.sa_family = libc::AF_INET as libc::sa_family_t;
    // A sockaddr_in: two bytes of port, then the address.
    for (to, from) in kernel.sa_data[2..6].iter_mut().zip(address.octets()) {
        *to = from as libc::c_char;
    }
    kernel
}

/// Packets that a device holds until the forwarder has read them: 16 ms of the smallest ones at 1 Gbit/s.
const QUEUE_PACKETS: u32 = 32_768;
