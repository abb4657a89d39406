//! An ICMP echo of the target's host.

use super::{Kind, Probe};
use crate::ping::plain::{Answer, ProbeContext};
use crate::ping::{Opened, PingError};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use std::time::Instant;
use sys::checksum::checksum;
use sys::clock::WallOffset;
use sys::error::OsError;
use sys::resolve;
use sys::socket::{Received, Sent, Socket};
use sys::wait::PollFlags;

/// Uses a ping socket (`icmp(7)`), or a raw one where only those are allowed.
pub(super) struct Icmp<'a> {
    context: ProbeContext<'a>,
    socket: Option<Socket>,
    address: Option<IpAddr>,
    raw: bool,
    number: u16,
}

impl<'a> Icmp<'a> {
    pub(super) fn new(context: ProbeContext<'a>) -> Self {
        Self {
            context,
            socket: None,
            address: None,
            raw: false,
            number: 0,
        }
    }

    /// Type, code, checksum, identifier, sequence number, and 56 bytes as ping has. The kernel sets
    /// checksum and identifier of a ping socket.
    fn request(&self) -> Vec<u8> {
        let kind = if self.is_v6() { 128 } else { 8 };
        let mut request = vec![kind, 0, 0, 0];
        request.extend_from_slice(&identifier());
        request.extend_from_slice(&self.number.to_be_bytes());
        request.extend_from_slice(&[0; 56]);
        if self.raw && !self.is_v6() {
            let sum = checksum(&request).to_be_bytes();
            request.splice(2..4, sum);
        }
        request
    }

    fn is_v6(&self) -> bool {
        self.address.is_some_and(|address| address.is_ipv6())
    }

    fn answers(&self, packet: &[u8]) -> bool {
        // A raw IPv4 socket also returns the IP header.
        let skipped = match packet.first() {
            Some(first) if self.raw && !self.is_v6() => usize::from(first & 0xf) * 4,
            _ => 0,
        };
        let Some(message) = packet.get(skipped..) else {
            return false;
        };
        let kind = if self.is_v6() { 129 } else { 0 };
        let ours = !self.raw || message.get(4..6) == Some(&identifier());
        message.first() == Some(&kind) && ours && message.get(6..8) == Some(&self.number.to_be_bytes())
    }
}

impl Probe for Icmp<'_> {
    fn open(&mut self) -> Result<Opened, PingError> {
        let address = resolve::addresses(self.context.target)?
            .first()
            .map_or(self.address, |address| Some(address.ip()));
        let address = address.ok_or(PingError::Closed)?;
        let (socket, raw) = icmp_socket(&address).map_err(|reason| PingError::IcmpRefused { reason })?;
        socket
            .begin_to_connect(&SocketAddr::new(address, 0))
            .map_err(|reason| PingError::Broken { reason })?;
        (self.socket, self.address, self.raw) = (Some(socket), Some(address), raw);
        Ok(Opened {
            server: Some(SocketAddr::new(address, 0)),
            question: "an ICMP echo, answered by the host's kernel".to_owned(),
            ..Opened::default()
        })
    }

    fn send_request(&mut self) -> Result<Answer, PingError> {
        self.number = self.number.wrapping_add(1);
        let request = self.request();
        let socket = self.socket.as_ref().ok_or(PingError::Closed)?;
        let ProbeContext {
            clock, timeout, stop, ..
        } = self.context;
        let deadline = Instant::now() + timeout;
        let at = clock.now();
        if let Sent::Broken(reason) = socket.send(&request) {
            return Err(PingError::Broken { reason });
        }
        let mut packet = [0; 2048];
        loop {
            match socket.receive(&mut packet) {
                Received::Bytes { count, stamp, .. }
                    if self.answers(packet.get(..count).unwrap_or_default()) =>
                {
                    let read = clock.now();
                    let arrived = stamp.map_or(read, |stamp| {
                        clock.to_timestamp(stamp, WallOffset::now()).min(read)
                    });
                    return Ok(Answer {
                        at,
                        duration: arrived.since(at),
                        server: None,
                        turns: Some(1),
                        kernel_rtt: None,
                        request_bytes: request.len() as u64,
                        reply_bytes: count as u64,
                        error: None,
                    });
                }
                Received::Bytes { .. } => {}
                Received::Nothing => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    if stop.is_stopped() {
                        return Err(PingError::Stopped);
                    } else if left.is_zero() {
                        return Err(PingError::TimedOut { after: timeout });
                    }
                    stop.until_ready(socket.as_fd(), PollFlags::IN, left);
                }
                Received::End => return Err(PingError::Closed),
                Received::Broken(reason) => return Err(PingError::Broken { reason }),
            }
        }
    }

    fn close(&mut self) {
        self.socket = None;
    }

    fn kind(&self) -> Option<Kind> {
        None
    }
}

/// Returns the socket, and whether it is raw.
fn icmp_socket(address: &IpAddr) -> Result<(Socket, bool), OsError> {
    Socket::icmp_echo(address)
        .map(|socket| (socket, false))
        .or_else(|_| Socket::icmp_raw(address).map(|socket| (socket, true)))
}

/// Distinguishes raw echoes of this process from others.
fn identifier() -> [u8; 2] {
    (std::process::id() as u16).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_with_its_checksum_sums_to_nothing() {
        let mut packet = vec![8, 0, 0, 0, 1, 2, 3, 4, 5];
        let sum = checksum(&packet).to_be_bytes();
        packet.splice(2..4, sum);
        assert_eq!(checksum(&packet), 0);
    }
}
