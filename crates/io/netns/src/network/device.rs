//! TUN devices, made in the namespace of the calling thread.

use super::{netlink, system};
use std::fs::OpenOptions;
use std::io::IoSlice;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use sys::{LiveError, OsError};

/// Header of each packet read or written: `struct virtio_net_hdr` of `linux/virtio_net.h`.
pub(super) const PREFIX_BYTES: usize = 10;

/// Packets sent by its host are read from it, packets written to it are received by its host.
#[derive(Debug)]
pub(super) struct Device(OwnedFd);

impl Device {
    pub(super) fn make(name: &str, own: Ipv4Addr, peer: Ipv4Addr, mtu: u16) -> Result<Self, LiveError> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC)
            .open("/dev/net/tun")
            .map_err(|error| LiveError::TunRefused {
                reason: OsError::from_io_error(&error),
            })?;
        let fd = OwnedFd::from(file);
        let flags = (libc::IFF_TUN | libc::IFF_NO_PI | libc::IFF_VNET_HDR) as libc::c_short;
        call(
            fd.as_fd(),
            libc::TUNSETIFF as libc::Ioctl,
            name,
            &flags.to_ne_bytes(),
        )
        .map_err(|reason| LiveError::TunRefused { reason })?;
        leave_cutting_to_us(fd.as_fd()).map_err(system("configure a network device"))?;
        configure(name, own, peer, mtu).map_err(system("configure a network device"))?;
        Ok(Self(fd))
    }

    pub(super) fn read<'a>(&self, room: &'a mut [u8]) -> Option<&'a mut [u8]> {
        let count = rustix::io::read(&self.0, &mut *room).ok()?;
        room.get_mut(..count)
    }

    pub(super) fn write(&self, packet: &[u8]) -> Result<(), OsError> {
        self.write_parts(&[IoSlice::new(&[0; PREFIX_BYTES]), IoSlice::new(packet)])
    }

    /// A frame is a `virtio_net_hdr` and its content.
    pub(super) fn write_parts(&self, parts: &[IoSlice<'_>]) -> Result<(), OsError> {
        rustix::io::writev(&self.0, parts)?;
        Ok(())
    }
}

impl AsFd for Device {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

pub(super) fn raise_loopback() -> Result<(), LiveError> {
    netlink::control_socket()
        .and_then(|socket| raise(&socket, "lo"))
        .map_err(system("raise a loopback device"))
}

fn configure(name: &str, own: Ipv4Addr, peer: Ipv4Addr, mtu: u16) -> Result<(), OsError> {
    let socket = netlink::control_socket()?;
    let bytes = libc::c_int::from(mtu).to_ne_bytes();
    call(socket.as_fd(), libc::SIOCSIFMTU, name, &bytes)?;
    // Beyond this queue the kernel drops packets, which the link did not request.
    netlink::set_queue(name, QUEUE_PACKETS)?;
    let addresses = [
        (libc::SIOCSIFADDR, own),
        (libc::SIOCSIFDSTADDR, peer),
        (libc::SIOCSIFNETMASK, Ipv4Addr::BROADCAST),
    ];
    for (operation, address) in addresses {
        call(socket.as_fd(), operation, name, &kernel_address(address))?;
    }
    raise(&socket, name)
}

fn raise(socket: &OwnedFd, name: &str) -> Result<(), OsError> {
    let flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    call(socket.as_fd(), libc::SIOCSIFFLAGS, name, &flags.to_ne_bytes())
}

fn call(fd: BorrowedFd<'_>, operation: libc::Ioctl, name: &str, value: &[u8]) -> Result<(), OsError> {
    let mut request = Request::default();
    // The last byte of the name stays zero.
    let room = libc::IFNAMSIZ - 1;
    request.name[..room]
        .iter_mut()
        .zip(name.bytes())
        .for_each(|(to, from)| *to = from);
    request
        .value
        .iter_mut()
        .zip(value)
        .for_each(|(to, from)| *to = *from);
    // SAFETY: every operation used here reads and writes one `ifreq`, and `request` has its layout.
    if unsafe { libc::ioctl(fd.as_raw_fd(), operation, &raw mut request) } < 0 {
        return Err(OsError::last());
    }
    Ok(())
}

/// Enables TCP segmentation and checksum offload, which `segmentation` then does per packet.
fn leave_cutting_to_us(fd: BorrowedFd<'_>) -> Result<(), OsError> {
    let features = libc::c_ulong::from(libc::TUN_F_CSUM | libc::TUN_F_TSO4);
    // SAFETY: the operation takes a number, and no memory of this process.
    if unsafe { libc::ioctl(fd.as_raw_fd(), libc::TUNSETOFFLOAD as libc::Ioctl, features) } < 0 {
        return Err(OsError::last());
    }
    Ok(())
}

/// The kernel's `ifreq` (`netdevice(7)`), with a union of which each operation uses one member.
#[repr(C, align(8))]
#[derive(Default)]
struct Request {
    name: [u8; libc::IFNAMSIZ],
    value: [u8; UNION_BYTES],
}

const UNION_BYTES: usize = size_of::<libc::ifreq>() - libc::IFNAMSIZ;

/// The kernel's `sockaddr_in`, with family, two bytes of port, then the address.
fn kernel_address(address: Ipv4Addr) -> [u8; 8] {
    let mut kernel = [0; 8];
    kernel[..2].copy_from_slice(&(libc::AF_INET as libc::sa_family_t).to_ne_bytes());
    kernel[4..].copy_from_slice(&address.octets());
    kernel
}

/// Queue of a device: 16 ms of the smallest packets at 1 Gbit/s.
const QUEUE_PACKETS: u32 = 32_768;
