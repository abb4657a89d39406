//! The bytes of one connection: sent, waited for, counted, stamped.

use super::deadline::Deadline;
use super::tap::SessionTap;
use super::{SessionError, SessionOptions};
use model::{Direction, Timestamp};
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

/// A connection to the server, as bytes.
pub(super) struct ClientConnection<'a> {
    transport: Transport,
    clock: Clock,
    stop: &'a AtomicBool,
    spin: bool,
    buffer: Box<[u8]>,
    /// Bytes of the buffer that came and were not looked at.
    unread: Range<usize>,
    passed: Passed,
    /// Payload before TLS began.
    before_tls: [u64; 2],
    /// Whether the next byte of the server ends a wait.
    awaited: bool,
    /// When the last bytes came, by the kernel's stamp where it gives one.
    arrived: Timestamp,
    tap: Option<SessionTap>,
}

/// What has passed on a connection since it was begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Passed {
    /// Changes from the client's bytes to the server's; the handshake and the first word of a server that speaks first
    /// are such changes too.
    pub turns: u64,
    /// Payload of TCP ([`Direction::index`]): with TLS, ciphertext.
    pub bytes: [u64; 2],
}

impl<'a> ClientConnection<'a> {
    /// Over `socket`, which has just been connected, in `turns`.
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
            buffer: vec![0; BUFFER].into_boxed_slice(),
            unread: 0..0,
            passed: Passed { turns, bytes: [0; 2] },
            before_tls: [0; 2],
            awaited: true,
            arrived: connected,
        }
    }

    pub fn transport(&self) -> &Transport {
        &self.transport
    }

    pub fn into_parts(self) -> (Transport, Option<SessionTap>) {
        (self.transport, self.tap)
    }

    pub const fn clock(&self) -> Clock {
        self.clock
    }

    pub const fn passed(&self) -> Passed {
        self.passed
    }

    /// When the last bytes came.
    pub const fn arrived(&self) -> Timestamp {
        self.arrived
    }

    /// The same line, encrypted: makes the TLS handshake. What the client says last in it waits for its first bytes.
    pub fn encrypted(
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

    /// Sends all of `bytes`; gives when the first were handed to the kernel.
    pub fn send(&mut self, bytes: &[u8], deadline: &Deadline) -> Result<Timestamp, SessionError> {
        let at = self.clock.now();
        let mut left = bytes;
        while !left.is_empty() || self.transport.has_unsent() {
            let taken = match self.transport.send(left) {
                Sent::Bytes(count) => count,
                Sent::Broken(reason) => return Err(broken(reason)),
            };
            self.sent(taken);
            left = left.get(taken..).unwrap_or_default();
            if taken == 0 {
                self.wait(PollFlags::OUT, deadline)?;
                if !self.transport.flush() {
                    return Err(SessionError::Closed);
                }
                self.sent(0);
            }
        }
        if let Some(tap) = &mut self.tap {
            tap.passed(Direction::ClientToServer, at, bytes);
        }
        Ok(at)
    }

    /// Bytes that came and were not looked at. Waits for the next ones when there are none; empty at the end of the
    /// connection.
    pub fn receive(&mut self, deadline: &Deadline) -> Result<&[u8], SessionError> {
        if self.unread.is_empty() {
            self.fill(deadline)?;
        }
        let range = std::mem::take(&mut self.unread);
        Ok(self.buffer.get(range).unwrap_or_default())
    }

    /// Waits for the next `count` bytes and appends them to `bytes`.
    pub fn take(
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

    /// Reads what is there, waiting for it; false at the end of the connection.
    fn fill(&mut self, deadline: &Deadline) -> Result<bool, SessionError> {
        loop {
            match self.transport.receive(&mut self.buffer) {
                Received::Bytes { count, stamp, .. } => {
                    self.came(count, stamp);
                    if let Some(tap) = &mut self.tap {
                        let bytes = self.buffer.get(..count).unwrap_or_default();
                        tap.passed(Direction::ServerToClient, self.arrived, bytes);
                    }
                    self.unread = 0..count;
                    return Ok(true);
                }
                Received::Nothing => {
                    self.came(0, None);
                    self.wait(PollFlags::IN, deadline)?;
                }
                Received::End => return Ok(false),
                Received::Broken(reason) => return Err(broken(reason)),
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
        let stamped = stamp.map(|stamp| self.clock.place(stamp, WallOffset::now()));
        // A stamp is off if the wall clock was set since: never later than now, never before what came earlier.
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

    /// Whether it was stopped, for whoever waits otherwise.
    #[cfg(feature = "oracle")]
    pub fn look_up(&self) -> Result<(), SessionError> {
        match self.stop.load(Ordering::Relaxed) {
            true => Err(SessionError::Stopped),
            false => Ok(()),
        }
    }

    /// Waits until the socket is ready for `events`, or for a while.
    fn wait(&self, events: PollFlags, deadline: &Deadline) -> Result<(), SessionError> {
        let left = deadline.left()?;
        if self.stop.load(Ordering::Relaxed) {
            return Err(SessionError::Stopped);
        }
        if self.spin {
            std::hint::spin_loop();
        } else {
            until_ready(self.transport.socket().as_fd(), events, left.min(LOOK_UP));
        }
        Ok(())
    }
}

fn broken(reason: OsError) -> SessionError {
    match reason {
        OsError(libc::ECONNRESET | libc::EPIPE) => SessionError::Closed,
        reason => SessionError::Broken { reason },
    }
}

/// How long is waited before looking whether it was stopped.
pub(super) const LOOK_UP: Duration = Duration::from_millis(200);
const BUFFER: usize = 64 * 1024;
