//! Routes and rules by netlink (`rtnetlink(7)`), in the calling thread's namespace.

use super::addresses::Route;
use super::system;
use rustix::net::netdevice::name_to_index;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, socket_with};
use std::net::Ipv4Addr;
use std::os::fd::OwnedFd;
use sys::{LiveError, OsError};

/// Replaces earlier routes. TCP over it uses `congestion_control`, or else the system's default.
pub(super) fn set_route(route: &Route, congestion_control: Option<&str>) -> Result<(), LiveError> {
    let set = || {
        let mut message = Message::route(libc::RT_TABLE_MAIN, 32, libc::RTN_UNICAST, libc::RT_SCOPE_LINK);
        message.replaces();
        message.attribute(libc::RTA_DST, &route.to.octets());
        message.attribute(libc::RTA_OIF, &number(&route.device)?.to_ne_bytes());
        if let Some(name) = congestion_control {
            let mut metrics = Message(Vec::new());
            metrics.attribute(RTAX_CC_ALGO, &[name.as_bytes(), b"\0"].concat());
            message.attribute(libc::RTA_METRICS, &metrics.0);
        }
        message.send()
    };
    set().map_err(system("set a route"))
}

pub(super) fn add_default_route(device: &str) -> Result<(), LiveError> {
    through_device(device, libc::RT_TABLE_MAIN, None, None).map_err(system("add a route"))
}

/// Makes every address local to the current host, except `peer`, which stays behind `device`.
pub(super) fn own_every_address(peer: Ipv4Addr, device: &str) -> Result<(), LiveError> {
    let own = || {
        through_device(device, libc::RT_TABLE_LOCAL, Some(peer), None)?;
        let mut message = Message::route(libc::RT_TABLE_LOCAL, 0, libc::RTN_LOCAL, libc::RT_SCOPE_HOST);
        message.attribute(libc::RTA_OIF, &number("lo")?.to_ne_bytes());
        message.send()
    };
    own().map_err(system("let a host answer for all addresses"))
}

/// For TCP connections of the current host to 127.0.0.1 and one of `ports`.
pub(super) fn send_out_loopback_ports(ports: &[u16], device: &str, own: Ipv4Addr) -> Result<(), LiveError> {
    let send_out = || {
        through_device(device, FORWARDS_TABLE, None, Some(own))?;
        for port in ports {
            let mut rule = Message::rule(libc::RTM_NEWRULE, 32, FORWARDS_TABLE, FORWARDS_PRIORITY);
            rule.attribute(FRA_DST, &Ipv4Addr::LOCALHOST.octets());
            rule.attribute(FRA_IP_PROTO, &[libc::IPPROTO_TCP as u8]);
            let range = [port.to_ne_bytes(), port.to_ne_bytes()].concat();
            rule.attribute(FRA_DPORT_RANGE, &range);
            rule.send()?;
        }
        // The rule for local addresses comes first: moves it behind the new ones.
        Message::rule(libc::RTM_NEWRULE, 0, libc::RT_TABLE_LOCAL, LOCAL_PRIORITY).send()?;
        Message::rule(libc::RTM_DELRULE, 0, libc::RT_TABLE_LOCAL, 0).send()
    };
    send_out().map_err(system("forward ports of 127.0.0.1"))
}

fn through_device(
    device: &str,
    table: u8,
    to: Option<Ipv4Addr>,
    source: Option<Ipv4Addr>,
) -> Result<(), OsError> {
    let bits = if to.is_some() { 32 } else { 0 };
    let mut message = Message::route(table, bits, libc::RTN_UNICAST, libc::RT_SCOPE_LINK);
    if let Some(to) = to {
        message.attribute(libc::RTA_DST, &to.octets());
    }
    if let Some(source) = source {
        message.attribute(libc::RTA_PREFSRC, &source.octets());
    }
    message.attribute(libc::RTA_OIF, &number(device)?.to_ne_bytes());
    message.send()
}

pub(super) fn control_socket() -> Result<OwnedFd, OsError> {
    let (family, kind) = (AddressFamily::INET, SocketType::DGRAM);
    Ok(socket_with(family, kind, SocketFlags::CLOEXEC, None)?)
}

fn number(name: &str) -> Result<u32, OsError> {
    Ok(name_to_index(control_socket()?, name)?)
}

/// The `ioctl` for it is only for root of the whole system.
pub(super) fn set_queue(device: &str, packets: u32) -> Result<(), OsError> {
    // An `ifinfomsg`: family and type of any kind, the number, no change of flags.
    let number = number(device)?.to_ne_bytes();
    let mut message = Message::new(libc::RTM_NEWLINK, &[[0; 4], number, [0; 4], [0; 4]]);
    message.attribute(libc::IFLA_TXQLEN, &packets.to_ne_bytes());
    message.send()
}

struct Message(Vec<u8>);

impl Message {
    fn route(table: u8, destination_bits: u8, kind: u8, scope: u8) -> Self {
        let family = libc::AF_INET as u8;
        let first = [family, destination_bits, 0, 0];
        Self::new(
            libc::RTM_NEWROUTE,
            &[first, [table, libc::RTPROT_STATIC, scope, kind], [0; 4]],
        )
    }

    fn rule(kind: u16, destination_bits: u8, table: u8, priority: u32) -> Self {
        let family = libc::AF_INET as u8;
        let first = [family, destination_bits, 0, 0];
        let mut message = Self::new(kind, &[first, [table, 0, 0, FR_ACT_TO_TBL], [0; 4]]);
        message.attribute(FRA_PRIORITY, &priority.to_ne_bytes());
        message
    }

    fn new(kind: u16, header: &[[u8; 4]]) -> Self {
        let mut bytes = vec![0; HEADER_BYTES];
        bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
        let flags = (libc::NLM_F_REQUEST | libc::NLM_F_ACK | libc::NLM_F_CREATE) as u16;
        bytes[6..8].copy_from_slice(&flags.to_ne_bytes());
        bytes.extend(header.concat());
        Self(bytes)
    }

    fn replaces(&mut self) {
        let flags = u16::from_ne_bytes([self.0[6], self.0[7]]) | libc::NLM_F_REPLACE as u16;
        self.0[6..8].copy_from_slice(&flags.to_ne_bytes());
    }

    fn attribute(&mut self, kind: u16, value: &[u8]) {
        let length = u16::try_from(4 + value.len()).unwrap_or(u16::MAX);
        self.0.extend(length.to_ne_bytes());
        self.0.extend(kind.to_ne_bytes());
        self.0.extend(value);
        self.0.resize(self.0.len().next_multiple_of(4), 0);
    }

    fn send(mut self) -> Result<(), OsError> {
        let length = u32::try_from(self.0.len()).unwrap_or(u32::MAX);
        self.0[..4].copy_from_slice(&length.to_ne_bytes());
        let socket = socket()?;
        rustix::net::send(&socket, &self.0, SendFlags::empty())?;
        let mut answer = [0_u8; 1024];
        rustix::net::recv(&socket, &mut answer, RecvFlags::empty())?;
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
    let kind = SocketType::RAW;
    let socket = socket_with(AddressFamily::NETLINK, kind, SocketFlags::CLOEXEC, None)?;
    Ok(socket)
}

/// The value of `linux/rtnetlink.h`.
const RTAX_CC_ALGO: u16 = 16;

const HEADER_BYTES: usize = 16;

/// The value of `linux/fib_rules.h`.
const FR_ACT_TO_TBL: u8 = 1;
const FRA_DST: u16 = 1;
const FRA_PRIORITY: u16 = 6;
const FRA_IP_PROTO: u16 = 22;
const FRA_DPORT_RANGE: u16 = 24;

/// A private table, and priorities in the order of the kernel's lookup.
const FORWARDS_TABLE: u8 = 100;
const FORWARDS_PRIORITY: u32 = 100;
const LOCAL_PRIORITY: u32 = 200;
