//! Classifies packets for the gateway, on the forwarder's thread.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use sys::poller::Waker;

/// Holds packets back that the event loop must prepare for.
#[derive(Debug)]
pub(in crate::network) struct PacketFilter {
    gateway: Ipv4Addr,
    event_loop: SyncSender<Vec<u8>>,
    waker: Arc<Waker>,
}

impl PacketFilter {
    pub(super) const fn new(gateway: Ipv4Addr, event_loop: SyncSender<Vec<u8>>, waker: Arc<Waker>) -> Self {
        Self {
            gateway,
            event_loop,
            waker,
        }
    }

    /// Whether the gateway's kernel may have the packet now.
    pub(in crate::network) fn passes(&self, packet: &[u8]) -> bool {
        match Meaning::parse(packet) {
            Some(Meaning::PendingConnection { .. } | Meaning::Name { .. }) => {
                if self.event_loop.try_send(packet.to_vec()).is_ok() {
                    self.waker.wake();
                }
                false
            }
            // The gateway must not answer pings for hosts outside.
            Some(Meaning::Echo { to }) => to == self.gateway,
            None => true,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    PendingConnection {
        client: SocketAddrV4,
        server: SocketAddrV4,
        sequence: u32,
    },
    Name {
        server: SocketAddrV4,
    },
    Echo {
        to: Ipv4Addr,
    },
}

impl Meaning {
    /// `None` for all other packets, truncated ones and fragments.
    pub(super) fn parse(packet: &[u8]) -> Option<Self> {
        let header = usize::from(packet.first()? & 0x0f) * 4;
        let is_part = u16::from_be_bytes([*packet.get(6)?, *packet.get(7)?]) & 0x3fff != 0;
        if packet.first()? >> 4 != 4 || is_part {
            return None;
        }
        let address = |at: usize| {
            let bytes: [u8; 4] = packet.get(at..at + 4)?.try_into().ok()?;
            Some(Ipv4Addr::from(bytes))
        };
        let content = packet.get(header..)?;
        let number = |at: usize| Some(u16::from_be_bytes([*content.get(at)?, *content.get(at + 1)?]));
        let (from, to) = (address(12)?, address(16)?);
        match *packet.get(9)? {
            TCP if content.get(13)? & (SYN | ACK | RST) == SYN => Some(Self::PendingConnection {
                client: SocketAddrV4::new(from, number(0)?),
                server: SocketAddrV4::new(to, number(2)?),
                sequence: u32::from_be_bytes(content.get(4..8)?.try_into().ok()?),
            }),
            UDP if number(2)? == NAME_SERVICE => Some(Self::Name {
                server: SocketAddrV4::new(to, NAME_SERVICE),
            }),
            ICMP if *content.first()? == ECHO_REQUEST => Some(Self::Echo { to }),
            _ => None,
        }
    }
}

pub(super) const ICMP: u8 = 1;
pub(super) const TCP: u8 = 6;
const UDP: u8 = 17;
const SYN: u8 = 0x02;
pub(super) const RST: u8 = 0x04;
pub(super) const ACK: u8 = 0x10;
const ECHO_REQUEST: u8 = 8;
pub(super) const NAME_SERVICE: u16 = 53;
