//! A connection read packet by packet.

use super::{Language, RowsError, RowsOptions};
use client::ReplyReader;
use client::session::{ClientConnection, Deadline, KernelFigures, SessionError};
use model::Timestamp;
use std::time::Duration;
use sys::clock::WallOffset;
use sys::socket::Socket;
use sys::wait::PollFlags;

pub(super) struct WireLine<'a> {
    connection: ClientConnection<'a>,
    timeout: Duration,
    packet: Vec<u8>,
    asking: Asking,
}

#[derive(Default)]
struct Asking {
    requests: Vec<u8>,
    sent: usize,
}

impl<'a> WireLine<'a> {
    pub fn new(connection: ClientConnection<'a>, options: &RowsOptions<'a>) -> Self {
        Self {
            connection: connection.naming_resets(),
            timeout: options.timeout,
            packet: Vec::new(),
            asking: Asking::default(),
        }
    }

    fn socket(&self) -> &Socket {
        self.connection.transport().socket()
    }

    pub fn kernel(&self) -> Option<KernelFigures> {
        self.socket().info()
    }

    /// As estimated by the kernel.
    pub fn received_segment(&self) -> Option<usize> {
        self.kernel()?
            .received_segment_size
            .and_then(|size| size.try_into().ok())
    }

    pub fn own_segment(&self) -> Option<usize> {
        self.kernel()?.segment_size.and_then(|size| size.try_into().ok())
    }

    /// Received packets with payload.
    pub fn data_packets(&self) -> Option<u32> {
        self.kernel()?.data_packets_in
    }

    /// Headers of IP and TCP per packet: without IP options, with TCP timestamps where negotiated.
    pub fn header_bytes(&self) -> usize {
        let ip = match self.socket().peer() {
            Ok(peer) if peer.is_ipv6() && peer.ip().to_canonical().is_ipv6() => 40,
            _ => 20,
        };
        let timestamps = self.kernel().and_then(|kernel| kernel.timestamps).unwrap_or(true);
        ip + 20 + if timestamps { 12 } else { 0 }
    }

    pub fn send_all(&mut self, bytes: &[u8]) -> Result<(), RowsError> {
        self.connection.send(bytes, &Deadline::after(self.timeout))?;
        Ok(())
    }

    pub fn send_request(&mut self, request: &[u8], replies: &mut impl ReplyReader) -> Result<(), RowsError> {
        self.send_all(request)?;
        while replies.expected_replies() > 0 {
            let bytes = self.connection.receive(&Deadline::after(self.timeout))?;
            if bytes.is_empty() {
                return Err(SessionError::Closed.into());
            }
            replies.process_bytes(bytes)?;
        }
        Ok(())
    }

    /// Starts sending `request` repeatedly; the rest follows while packets are read.
    pub fn begin_asking(&mut self, request: &[u8], times: u64) -> Timestamp {
        self.asking = Asking {
            requests: request.repeat(usize::try_from(times).unwrap_or_default()),
            sent: 0,
        };
        self.connection.clock().now()
    }

    /// Returns the arrival of the last byte, and whether earlier bytes had the same timestamp. An
    /// error packet is shorter.
    pub fn read_packet(&mut self, length: usize, language: Language) -> Result<(Timestamp, bool), RowsError> {
        let before = self.connection.stamp();
        let mut deadline = Deadline::after(self.timeout);
        self.packet.clear();
        while self.packet.len() < length {
            let bytes = self.connection.receive_now(length - self.packet.len())?;
            if bytes.is_empty() {
                self.send_or_wait(&deadline)?;
                continue;
            }
            deadline = Deadline::after(self.timeout);
            self.packet.extend_from_slice(bytes);
            if let Some(refused) = language.0.begun_error(&self.packet) {
                return Err(refused.into());
            }
        }
        language.check(&self.packet)?;
        let clock = self.connection.clock();
        let now = clock.now();
        let stamp = self.connection.stamp();
        let at = stamp.map_or(now, |stamp| clock.to_timestamp(stamp, WallOffset::now()).min(now));
        Ok((at, before.is_some() && before == stamp))
    }

    fn send_or_wait(&mut self, deadline: &Deadline) -> Result<(), RowsError> {
        let rest = self.asking.requests.get(self.asking.sent..).unwrap_or_default();
        let mut events = PollFlags::IN;
        if !rest.is_empty() {
            let taken = self.connection.offer(rest)?;
            self.asking.sent += taken;
            if taken > 0 {
                return Ok(());
            }
            events |= PollFlags::OUT;
        }
        Ok(self.connection.wait(events, deadline)?)
    }
}
