//! The bytes of one connection: sent, waited for, counted, stamped.

use super::deadline::Deadline;
use super::tap::SessionTap;
use super::{SessionError, SessionOptions};
use model::{Direction, Protocol, Timestamp};
use rustls::ClientConfig;
use std::ops::Range;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use sys::clock::{Clock, WallOffset, WallStamp};
use sys::error::OsError;
use sys::socket::{Received, Sent, Socket};
use sys::target::Target;
use sys::tls::{TlsHandshake, TlsSocket};
use sys::transport::Transport;
use sys::wait::{PollFlags, until_ready};

/// A connection to a server, as bytes: whether logged in or not, and whatever is asked over it.
///
/// Waiting for the server ends at a deadline and when the run is stopped. Code that only sends what the
/// kernel takes now and reads what is there now ([`ClientConnection::offer`],
/// [`ClientConnection::receive_now`]) can do both at a time.
pub struct ClientConnection<'a> {
    transport: Transport,
    clock: Clock,
    stop: &'a AtomicBool,
    spin: bool,
    /// Whether arrivals are stamped by the kernel.
    is_stamped: bool,
    /// Whether a reset is an error of its own instead of an end.
    names_resets: bool,
    buffer: Box<[u8]>,
    /// Bytes of the buffer that came and were not inspected.
    unread: Range<usize>,
    passed: PassedTraffic,
    /// Payload before TLS began.
    before_tls: [u64; 2],
    /// Whether the next byte of the server ends a wait.
    awaited: bool,
    /// When the last bytes came, by the kernel's stamp where it gives one.
    arrived: Timestamp,
    stamp: Option<WallStamp>,
    tap: Option<SessionTap>,
    /// The server's first bytes, as long as it is not known whether they are of the expected protocol.
    first_bytes: Option<(Protocol, Vec<u8>)>,
}

/// What has passed on a connection since it was begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PassedTraffic {
    /// Changes from the client's bytes to the server's; the handshake and the first word of a server that
    /// speaks first are such changes too.
    pub turns: u64,
    /// Payload of TCP ([`Direction::index`]): with TLS, ciphertext.
    pub bytes: [u64; 2],
}

impl<'a> ClientConnection<'a> {
    /// Bytes that are read at a time, at most.
    pub const BUFFER: usize = 64 * 1024;

    /// Over `socket`, which has just been connected (begun and done then), in `turns`.
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
            passed: PassedTraffic { turns, bytes: [0; 2] },
            before_tls: [0; 2],
            awaited: true,
            arrived: connected,
            stamp: None,
            first_bytes: None,
        }
    }

    /// The same, on which first bytes of another protocol are [`SessionError::OtherProtocol`].
    #[must_use]
    pub fn expecting(self, protocol: Protocol) -> Self {
        Self {
            first_bytes: Some((protocol, Vec::new())),
            ..self
        }
    }

    /// The same, on which a reset is [`SessionError::Broken`]; otherwise it is [`SessionError::Closed`].
    #[must_use]
    pub fn naming_resets(self) -> Self {
        Self {
            names_resets: true,
            ..self
        }
    }

    /// The same without stamps of the kernel's, which cost a little, unless an observer watches it.
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

    /// What it is sent over.
    pub fn transport(&self) -> &Transport {
        &self.transport
    }

    pub(super) fn into_parts(self) -> (Transport, Option<SessionTap>) {
        (self.transport, self.tap)
    }

    /// The timeline of its timestamps.
    pub const fn clock(&self) -> Clock {
        self.clock
    }

    /// What has passed until now.
    pub const fn passed(&self) -> PassedTraffic {
        self.passed
    }

    /// When the last bytes came.
    pub const fn arrived(&self) -> Timestamp {
        self.arrived
    }

    /// The kernel's stamp of the bytes that came last, where it gave one.
    pub const fn stamp(&self) -> Option<WallStamp> {
        self.stamp
    }

    /// The same line, encrypted: makes the TLS handshake. What the client says last in it waits for its first
    /// bytes.
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

    /// Sends as many of `bytes` as the kernel takes now, and returns how many those are.
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

    /// Whether bytes that were taken wait for the kernel.
    pub fn has_unsent(&self) -> bool {
        self.transport.has_unsent()
    }

    /// Shows bytes that were, or will be, [offered](ClientConnection::offer) to the observer.
    pub fn show_sent(&mut self, at: Timestamp, bytes: &[u8]) {
        if let Some(tap) = &mut self.tap {
            tap.passed(Direction::ClientToServer, at, bytes);
        }
    }

    /// Bytes that came and were not inspected. Waits for the next ones when there are none; empty at the end
    /// of the connection.
    ///
    /// # Errors
    /// As [`ClientConnection::send`].
    pub fn receive(&mut self, deadline: &Deadline) -> Result<&[u8], SessionError> {
        if self.unread.is_empty() {
            self.fill(deadline)?;
        }
        Ok(self.take_unread())
    }

    /// Bytes that are there now, at most `most`; none where there are none.
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

    /// Waits for the next `count` bytes and appends them to `bytes`.
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

    /// Waits until something has come, or the connection has ended.
    pub(super) fn await_bytes(&mut self, deadline: &Deadline) -> Result<(), SessionError> {
        match self.unread.is_empty() {
            true => self.fill(deadline).map(|_| ()),
            false => Ok(()),
        }
    }

    /// Reads what is there, waiting for it; false at the end of the connection.
    fn fill(&mut self, deadline: &Deadline) -> Result<bool, SessionError> {
        loop {
            match self.read_bytes(Self::BUFFER)? {
                Arrival::Bytes => return Ok(true),
                Arrival::Nothing => self.wait(PollFlags::IN, deadline)?,
                Arrival::End => return Ok(false),
            }
        }
    }

    /// Reads what is there now, at most `most` bytes.
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

    /// Whether the bytes that just came are of another protocol than the expected one.
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
        if self.passed.bytes[0] > before[0] {
            self.awaited = true;
        }
    }

    fn came(&mut self, plain: usize, stamp: Option<WallStamp>) {
        let before = self.passed.bytes;
        self.count(Direction::ServerToClient, plain);
        if self.passed.bytes[1] == before[1] {
            return;
        }
        self.passed.turns += u64::from(std::mem::take(&mut self.awaited));
        let now = self.clock.now();
        let stamped = stamp.map(|stamp| self.clock.to_timestamp(stamp, WallOffset::now()));
        // A stamp is off if the wall clock was set since: never later than now, never before what came
        // earlier.
        self.arrived = stamped.unwrap_or(now).min(now).max(self.arrived);
    }

    /// Counts what passed: of TLS the session itself knows.
    fn count(&mut self, direction: Direction, plain: usize) {
        match &self.transport {
            Transport::Plain(_) => self.passed.bytes[direction.index()] += plain as u64,
            Transport::Tls(tls) => {
                self.passed.bytes[direction.index()] =
                    self.before_tls[direction.index()] + tls.passed()[direction.index()];
            }
        }
    }

    /// Asks the kernel for the round trip now and then, where an observer watches.
    pub fn sample_when_due(&mut self) {
        let now = self.clock.now();
        if let Some(tap) = &mut self.tap {
            tap.sample_when_due(now, self.transport.socket());
        }
    }

    /// Asks the kernel for the round trip, where an observer watches.
    pub fn sample(&mut self) {
        if let Some(tap) = &mut self.tap {
            tap.sample(self.clock.now(), self.transport.socket());
        }
    }

    /// Whether the run was stopped, for callers that wait in another way, or do not have to wait for long.
    ///
    /// # Errors
    /// [`SessionError::Stopped`].
    pub fn look_up(&self) -> Result<(), SessionError> {
        match self.stop.load(Ordering::Relaxed) {
            true => Err(SessionError::Stopped),
            false => Ok(()),
        }
    }

    /// Waits until the socket is ready for `events`, or for a while; then passes to the kernel what it did
    /// not take before.
    ///
    /// # Errors
    /// As [`ClientConnection::send`].
    pub fn wait(&mut self, events: PollFlags, deadline: &Deadline) -> Result<(), SessionError> {
        let left = deadline.left()?;
        self.look_up()?;
        if self.spin {
            std::hint::spin_loop();
        } else {
            until_ready(self.transport.socket().as_fd(), events, left.min(POLL_INTERVAL));
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

/// First bytes of a server that are compared with protocols: a greeting fits in.
const MAX_FIRST_BYTES: usize = 256;

/// What a read gave.
#[derive(PartialEq, Eq)]
enum Arrival {
    Bytes,
    Nothing,
    End,
}

/// How long is waited before looking whether it was stopped.
pub(super) const POLL_INTERVAL: Duration = Duration::from_millis(200);
