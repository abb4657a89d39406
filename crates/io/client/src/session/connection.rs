//! Byte stream of one connection: sends, waits, counts, takes time stamps.

use super::deadline::Deadline;
use super::tap::SessionTap;
use super::{SessionError, SessionOptions};
use model::{Direction, PerDirection, Protocol, Timestamp};
use rustls::ClientConfig;
use std::ops::Range;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;
use sys::StopToken;
use sys::clock::{Clock, WallOffset, WallStamp};
use sys::error::OsError;
use sys::socket::{Received, Sent, Socket};
use sys::target::Target;
use sys::tls::{TlsHandshake, TlsSocket};
use sys::transport::Transport;
use sys::wait::PollFlags;

/// A connection to a server as a byte stream, logged in or not.
///
/// Waits end at a deadline and when the run is stopped. Non-blocking code can send and receive at
/// once with [`ClientConnection::offer`] and [`ClientConnection::receive_now`].
pub struct ClientConnection<'a> {
    transport: Transport,
    clock: Clock,
    stop: &'a StopToken,
    spin: bool,
    is_stamped: bool,
    /// Whether a reset is a separate error instead of an end.
    names_resets: bool,
    buffer: Box<[u8]>,
    unread: Range<usize>,
    passed: PassedTraffic,
    before_tls: PerDirection<u64>,
    /// Whether the next byte of the server ends a wait.
    awaited: bool,
    /// Arrival of the last bytes, by the kernel's stamp if available.
    arrived: Timestamp,
    stamp: Option<WallStamp>,
    tap: Option<SessionTap>,
    first_bytes: Option<(Protocol, Vec<u8>)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PassedTraffic {
    /// Changes from the client's bytes to the server's, including the TCP handshake and the
    /// greeting of a server that speaks first.
    pub turns: u64,
    /// Payload of TCP, ciphertext with TLS.
    pub bytes: PerDirection<u64>,
}

impl<'a> ClientConnection<'a> {
    pub const BUFFER: usize = 64 * 1024;

    /// Takes a newly connected `socket`, with the times of `connect` and the round trips so far.
    pub fn new(
        socket: Socket,
        (tried, connected): (Timestamp, Timestamp),
        turns: u64,
        options: SessionOptions<'a>,
    ) -> Self {
        let tap = options
            .observer
            .map(|(id, observer)| SessionTap::new(id, observer, &socket, tried, connected));
        Self {
            tap,
            transport: Transport::Plain(socket),
            clock: options.clock,
            stop: options.stop,
            spin: options.spin,
            is_stamped: true,
            names_resets: false,
            buffer: vec![0; Self::BUFFER].into_boxed_slice(),
            unread: 0..0,
            passed: PassedTraffic {
                turns,
                bytes: PerDirection::default(),
            },
            before_tls: PerDirection::default(),
            awaited: true,
            arrived: connected,
            stamp: None,
            first_bytes: None,
        }
    }

    /// Reports first bytes of another protocol as [`SessionError::OtherProtocol`].
    #[must_use]
    pub fn expecting(self, protocol: Protocol) -> Self {
        Self {
            first_bytes: Some((protocol, Vec::new())),
            ..self
        }
    }

    /// Reports a reset as [`SessionError::Broken`] instead of [`SessionError::Closed`].
    #[must_use]
    pub fn naming_resets(self) -> Self {
        Self {
            names_resets: true,
            ..self
        }
    }

    /// Disables time stamps of the kernel, which cost a little, unless there is an observer.
    #[must_use]
    pub fn stamped_if_watched(self) -> Self {
        if self.tap.is_none() {
            self.transport.socket().forget_stamps();
        }
        Self {
            is_stamped: self.tap.is_some(),
            ..self
        }
    }

    pub fn transport(&self) -> &Transport {
        &self.transport
    }

    pub(super) fn into_parts(self) -> (Transport, Option<SessionTap>) {
        (self.transport, self.tap)
    }

    pub const fn clock(&self) -> Clock {
        self.clock
    }

    pub const fn passed(&self) -> PassedTraffic {
        self.passed
    }

    pub const fn arrived(&self) -> Timestamp {
        self.arrived
    }

    pub const fn stamp(&self) -> Option<WallStamp> {
        self.stamp
    }

    /// Makes the TLS handshake. The client's last handshake message is sent with its first bytes.
    pub(super) fn encrypted(
        self,
        config: Arc<ClientConfig>,
        target: &Target,
        deadline: &Deadline,
    ) -> Result<Self, SessionError> {
        let Transport::Plain(socket) = self.transport else {
            return Ok(self);
        };
        if !self.unread.is_empty() {
            return Err(SessionError::NotTheProtocol {
                protocol: "TLS",
                found: "unencrypted bytes behind the agreement on it",
            });
        }
        let tls = TlsSocket::unshaken(socket, config, target)?;
        let mut line = Self {
            transport: Transport::Tls(Box::new(tls)),
            before_tls: self.passed.bytes,
            first_bytes: None,
            ..self
        };
        while let Transport::Tls(tls) = &mut line.transport {
            let step = tls.shake(target)?;
            let stamp = tls.stamp();
            line.sent(0);
            line.came(0, stamp);
            match step {
                TlsHandshake::Onward => {}
                TlsHandshake::Waits => line.wait(PollFlags::IN, deadline)?,
                TlsHandshake::Done => break,
            }
        }
        Ok(line)
    }

    /// Sends all of `bytes`; returns when the first were handed to the kernel.
    ///
    /// # Errors
    /// [`SessionError::TimedOut`], [`SessionError::Closed`], [`SessionError::Broken`],
    /// [`SessionError::Stopped`].
    pub fn send(&mut self, bytes: &[u8], deadline: &Deadline) -> Result<Timestamp, SessionError> {
        let at = self.clock.now();
        let mut left = bytes;
        while !left.is_empty() || self.has_unsent() {
            let taken = self.offer(left)?;
            left = left.get(taken..).unwrap_or_default();
            if taken == 0 {
                self.wait(PollFlags::OUT, deadline)?;
            }
        }
        self.show_sent(at, bytes);
        Ok(at)
    }

    /// Sends without blocking, and returns the number of bytes taken.
    ///
    /// # Errors
    /// [`SessionError::Closed`], [`SessionError::Broken`].
    pub fn offer(&mut self, bytes: &[u8]) -> Result<usize, SessionError> {
        match self.transport.send(bytes) {
            Sent::Bytes(count) => {
                self.sent(count);
                Ok(count)
            }
            Sent::Broken(reason) => Err(self.broken(reason)),
        }
    }

    pub fn has_unsent(&self) -> bool {
        self.transport.has_unsent()
    }

    /// Shows the observer bytes that were, or will be, [offered](ClientConnection::offer).
    pub fn show_sent(&mut self, at: Timestamp, bytes: &[u8]) {
        if let Some(tap) = &mut self.tap {
            tap.passed(Direction::ClientToServer, at, bytes);
        }
    }

    /// Returns received bytes, waiting for some if necessary; empty at the end of the connection.
    ///
    /// # Errors
    /// As [`ClientConnection::send`].
    pub fn receive(&mut self, deadline: &Deadline) -> Result<&[u8], SessionError> {
        if self.unread.is_empty() {
            self.fill(deadline)?;
        }
        Ok(self.take_unread())
    }

    /// Returns at most `most` bytes without blocking; empty if there are none.
    ///
    /// # Errors
    /// [`SessionError::Closed`], [`SessionError::Broken`].
    pub fn receive_now(&mut self, most: usize) -> Result<&[u8], SessionError> {
        if self.unread.is_empty() && self.read_bytes(most)? == Arrival::End {
            return Err(SessionError::Closed);
        }
        Ok(self.take_unread())
    }

    fn take_unread(&mut self) -> &[u8] {
        let range = std::mem::take(&mut self.unread);
        self.buffer.get(range).unwrap_or_default()
    }

    pub(super) fn process_bytes(
        &mut self,
        count: usize,
        bytes: &mut Vec<u8>,
        deadline: &Deadline,
    ) -> Result<(), SessionError> {
        let wanted = bytes.len() + count;
        while bytes.len() < wanted {
            if self.unread.is_empty() && !self.fill(deadline)? {
                return Err(SessionError::Closed);
            }
            let end = self.unread.end.min(self.unread.start + wanted - bytes.len());
            bytes.extend_from_slice(self.buffer.get(self.unread.start..end).unwrap_or_default());
            self.unread.start = end;
        }
        Ok(())
    }

    pub(super) fn await_bytes(&mut self, deadline: &Deadline) -> Result<(), SessionError> {
        match self.unread.is_empty() {
            true => self.fill(deadline).map(|_| ()),
            false => Ok(()),
        }
    }

    fn fill(&mut self, deadline: &Deadline) -> Result<bool, SessionError> {
        loop {
            match self.read_bytes(Self::BUFFER)? {
                Arrival::Bytes => return Ok(true),
                Arrival::Nothing => self.wait(PollFlags::IN, deadline)?,
                Arrival::End => return Ok(false),
            }
        }
    }

    fn read_bytes(&mut self, most: usize) -> Result<Arrival, SessionError> {
        let most = most.min(Self::BUFFER);
        let room = self.buffer.get_mut(..most).unwrap_or_default();
        let received = if self.is_stamped {
            self.transport.receive(room)
        } else {
            self.transport.receive_bytes(room)
        };
        Ok(match received {
            Received::Bytes { count, stamp, .. } => {
                self.stamp = stamp;
                self.came(count, stamp);
                if let Some(tap) = &mut self.tap {
                    let bytes = self.buffer.get(..count).unwrap_or_default();
                    tap.passed(Direction::ServerToClient, self.arrived, bytes);
                }
                self.unread = 0..count;
                self.compare_with_expected(count)?;
                Arrival::Bytes
            }
            Received::Nothing => {
                self.came(0, None);
                Arrival::Nothing
            }
            Received::End => Arrival::End,
            Received::Broken(reason) => return Err(self.broken(reason)),
        })
    }

    fn compare_with_expected(&mut self, count: usize) -> Result<(), SessionError> {
        let Some((expected, first)) = &mut self.first_bytes else {
            return Ok(());
        };
        let room = MAX_FIRST_BYTES.saturating_sub(first.len());
        first.extend_from_slice(self.buffer.get(..count.min(room)).unwrap_or_default());
        let expected = *expected;
        match wire::protocols::other_protocol(expected, first) {
            Some(found) => Err(SessionError::OtherProtocol { expected, found }),
            None => {
                if first.len() >= MAX_FIRST_BYTES {
                    self.first_bytes = None;
                }
                Ok(())
            }
        }
    }

    fn sent(&mut self, plain: usize) {
        let before = self.passed.bytes;
        self.count(Direction::ClientToServer, plain);
        if self.passed.bytes[Direction::ClientToServer] > before[Direction::ClientToServer] {
            self.awaited = true;
        }
    }

    fn came(&mut self, plain: usize, stamp: Option<WallStamp>) {
        let before = self.passed.bytes;
        self.count(Direction::ServerToClient, plain);
        if self.passed.bytes[Direction::ServerToClient] == before[Direction::ServerToClient] {
            return;
        }
        self.passed.turns += u64::from(std::mem::take(&mut self.awaited));
        let now = self.clock.now();
        let stamped = stamp.map(|stamp| self.clock.to_timestamp(stamp, WallOffset::now()));
        // A stamp is off if the wall clock was set since: never later than now, never before
        // earlier arrivals.
        self.arrived = stamped.unwrap_or(now).min(now).max(self.arrived);
    }

    fn count(&mut self, direction: Direction, plain: usize) {
        match &self.transport {
            Transport::Plain(_) => self.passed.bytes[direction] += plain as u64,
            Transport::Tls(tls) => {
                self.passed.bytes[direction] = self.before_tls[direction] + tls.passed()[direction];
            }
        }
    }

    pub fn sample_when_due(&mut self) {
        let now = self.clock.now();
        if let Some(tap) = &mut self.tap {
            tap.sample_when_due(now, self.transport.socket());
        }
    }

    pub fn sample(&mut self) {
        if let Some(tap) = &mut self.tap {
            tap.sample(self.clock.now(), self.transport.socket());
        }
    }

    pub const fn stop(&self) -> &StopToken {
        self.stop
    }

    /// Checks for a stop, for callers with another way of waiting, or short waits.
    ///
    /// # Errors
    /// [`SessionError::Stopped`].
    pub fn look_up(&self) -> Result<(), SessionError> {
        match self.stop.is_stopped() {
            true => Err(SessionError::Stopped),
            false => Ok(()),
        }
    }

    /// Waits until the socket is ready for `events`; then sends bytes that the
    /// kernel did not take before.
    ///
    /// # Errors
    /// As [`ClientConnection::send`].
    pub fn wait(&mut self, events: PollFlags, deadline: &Deadline) -> Result<(), SessionError> {
        let left = deadline.left()?;
        self.look_up()?;
        if self.spin {
            std::hint::spin_loop();
        } else {
            // Some callers sample the connection in between.
            let longest = self.tap.as_ref().map_or(left, |_| left.min(POLL_INTERVAL));
            self.stop
                .until_ready(self.transport.socket().as_fd(), events, longest);
        }
        if events.contains(PollFlags::OUT) {
            if !self.transport.flush() {
                return Err(SessionError::Closed);
            }
            self.sent(0);
        }
        Ok(())
    }

    const fn broken(&self, reason: OsError) -> SessionError {
        match reason {
            OsError(libc::ECONNRESET | libc::EPIPE) if !self.names_resets => SessionError::Closed,
            reason => SessionError::Broken { reason },
        }
    }
}

const MAX_FIRST_BYTES: usize = 256;

#[derive(PartialEq, Eq)]
enum Arrival {
    Bytes,
    Nothing,
    End,
}

pub(super) const POLL_INTERVAL: Duration = Duration::from_millis(200);
