//! A client's non-blocking connection with an optional observer.

use super::super::Error;
use super::blocking_reads::{BlockingRead, BlockingReads};
use client::Watch;
use client::session::SessionTap;
use model::{ConnectionId, Direction};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use sys::clock::{Clock, WallOffset};
use sys::error::OsError;
use sys::socket::{Received, Sent, Socket};
use sys::transport::Transport;

pub(crate) struct Connection {
    transport: Transport,
    /// Bytes not yet accepted by the kernel.
    unsent: Vec<u8>,
    /// `None` without an observer: then receives have no timestamps.
    witness: Option<(SessionTap, Clock)>,
    read: Option<BlockingRead>,
}

impl Connection {
    pub fn adopt(transport: Transport, witness: Option<(SessionTap, Clock)>) -> Self {
        if witness.is_none() {
            transport.socket().forget_stamps();
        }
        Self {
            transport,
            unsent: Vec::new(),
            witness,
            read: None,
        }
    }

    /// Bytes may be queued at once and leave when it is open.
    pub fn begin(address: &SocketAddr) -> Result<Self, OsError> {
        Self::over(Socket::plain(address)?, address)
    }

    /// As [`Connection::begin`], for an observed connection.
    pub fn begin_stamped(address: &SocketAddr) -> Result<Self, OsError> {
        Self::over(Socket::unconnected(address)?, address)
    }

    fn over(socket: Socket, address: &SocketAddr) -> Result<Self, OsError> {
        socket.begin_to_connect(address)?;
        Ok(Self {
            transport: Transport::Plain(socket),
            unsent: Vec::new(),
            witness: None,
            read: None,
        })
    }

    pub fn socket(&self) -> &Socket {
        self.transport.socket()
    }

    /// Starts observing the connection, which took `took` to open.
    pub fn watched_by(&mut self, watch: &Watch<'_>, id: ConnectionId, took: Duration) {
        let connected = watch.clock.now();
        let began = connected.before(took);
        let mut witness = SessionTap::new(
            id,
            watch.factory.observe(id),
            self.transport.socket(),
            began,
            connected,
        );
        if !self.unsent.is_empty() {
            witness.passed(Direction::ClientToServer, connected, &self.unsent);
        }
        self.witness = Some((witness, watch.clock));
    }

    /// Makes reads block for at most `longest`, or until `reads` are ended.
    pub fn block(&mut self, longest: Duration, reads: &Arc<BlockingReads>) -> Result<(), Error> {
        self.read = Some(reads.add(self.socket().stream())?);
        self.set_blocking(Some(longest))
    }

    pub const fn blocks(&self) -> bool {
        self.read.is_some()
    }

    fn set_blocking(&self, longest: Option<Duration>) -> Result<(), Error> {
        self.socket()
            .set_patience(longest)
            .map_err(|reason| Error::Broken { reason })
    }

    /// Queues `bytes` until the connection is open.
    pub fn buffer_reply(&mut self, bytes: &[u8]) {
        self.unsent.extend_from_slice(bytes);
    }

    /// Sends `bytes`, or queues the part that the kernel does not accept.
    pub fn send(&mut self, bytes: &[u8]) -> Result<(), Error> {
        if let Some((witness, clock)) = &mut self.witness {
            witness.passed(Direction::ClientToServer, clock.now(), bytes);
        }
        if !self.unsent.is_empty() {
            self.unsent.extend_from_slice(bytes);
            return self.flush();
        }
        match self.transport.send(bytes) {
            Sent::Bytes(count) => {
                self.unsent
                    .extend_from_slice(bytes.get(count..).unwrap_or_default());
                Ok(())
            }
            Sent::Broken(reason) => Err(broken(reason)),
        }
    }

    /// The socket, if it is unencrypted, unobserved, and has no queued bytes.
    pub fn bare_socket(&self) -> Option<&Socket> {
        match &self.transport {
            Transport::Plain(socket) if self.witness.is_none() && self.unsent.is_empty() => Some(socket),
            Transport::Plain(_) | Transport::Tls(_) => None,
        }
    }

    pub fn has_unsent(&self) -> bool {
        !self.unsent.is_empty()
    }

    /// Sends queued bytes, as far as the kernel accepts them.
    pub fn flush(&mut self) -> Result<(), Error> {
        if !self.transport.flush() {
            return Err(Error::Closed);
        }
        while !self.unsent.is_empty() {
            match self.transport.send(&self.unsent) {
                Sent::Bytes(0) => return Ok(()),
                Sent::Bytes(count) => {
                    self.unsent.drain(..count.min(self.unsent.len()));
                }
                Sent::Broken(reason) => return Err(broken(reason)),
            }
        }
        Ok(())
    }

    pub fn receive(&mut self, buffer: &mut [u8]) -> Received {
        let Some((witness, clock)) = &mut self.witness else {
            return match &mut self.transport {
                Transport::Plain(socket) => socket.receive_bytes(buffer),
                Transport::Tls(tls) => tls.receive(buffer),
            };
        };
        let received = self.transport.receive(buffer);
        if let Received::Bytes { count, stamp, .. } = received {
            let now = clock.now();
            let stamped = stamp.map(|stamp| clock.to_timestamp(stamp, WallOffset::now()));
            // If the wall clock was set since, the timestamp is wrong; it is never later than now.
            let at = stamped.unwrap_or(now).min(now);
            witness.passed(
                Direction::ServerToClient,
                at,
                buffer.get(..count).unwrap_or_default(),
            );
            witness.sample_when_due(now, self.transport.socket());
        }
        received
    }

    /// Sends `farewell`, closes and ignores errors.
    pub fn leave(mut self, farewell: &[u8]) {
        if !farewell.is_empty() && self.unsent.is_empty() {
            self.set_blocking(None).ok();
            self.send(farewell).ok();
        }
        self.close();
    }

    pub fn close(mut self) {
        if let Some((witness, clock)) = &mut self.witness {
            witness.sample(clock.now(), self.transport.socket());
        }
    }
}

pub(crate) fn broken(reason: OsError) -> Error {
    match reason {
        OsError(libc::ECONNRESET | libc::EPIPE) => Error::Closed,
        reason => Error::Broken { reason },
    }
}
