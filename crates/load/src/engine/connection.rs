//! A client's connection: bytes out, bytes in, and its observer.

use super::super::LoadError;
use client::Watch;
use client::session::SessionTap;
use model::{ConnectionId, Direction};
use std::net::SocketAddr;
use std::time::Duration;
use sys::clock::{Clock, WallOffset};
use sys::error::OsError;
use sys::socket::{Received, Sent, Socket};
use sys::transport::Transport;

/// A connection of a client in the event loop.
pub(crate) struct Connection {
    transport: Transport,
    /// What the kernel would not take yet.
    unsent: Vec<u8>,
    /// `None` if no observer watches: then nothing is stamped either.
    witness: Option<(SessionTap, Clock)>,
    /// Whether reads wait.
    patient: bool,
}

impl Connection {
    /// Takes over one that is open.
    pub fn adopt(transport: Transport, witness: Option<(SessionTap, Clock)>) -> Self {
        if witness.is_none() {
            transport.socket().forget_stamps();
        }
        Self {
            transport,
            unsent: Vec::new(),
            witness,
            patient: false,
        }
    }

    /// Begins one; bytes may be sent at once, they leave when it is open.
    pub fn begin(address: &SocketAddr) -> Result<Self, OsError> {
        Self::over(Socket::plain(address)?, address)
    }

    /// As [`Connection::begin`], of one that is to be watched.
    pub fn begin_stamped(address: &SocketAddr) -> Result<Self, OsError> {
        Self::over(Socket::unconnected(address)?, address)
    }

    fn over(socket: Socket, address: &SocketAddr) -> Result<Self, OsError> {
        socket.begin_to_connect(address)?;
        Ok(Self {
            transport: Transport::Plain(socket),
            unsent: Vec::new(),
            witness: None,
            patient: false,
        })
    }

    pub fn socket(&self) -> &Socket {
        self.transport.socket()
    }

    /// It is open now, after `took`, and watched from now on.
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

    /// From now on reads wait, `longest` at most.
    pub fn be_patient(&mut self, longest: Duration) -> Result<(), LoadError> {
        self.set_patience(Some(longest))?;
        self.patient = true;
        Ok(())
    }

    pub const fn is_patient(&self) -> bool {
        self.patient
    }

    fn set_patience(&self, longest: Option<Duration>) -> Result<(), LoadError> {
        self.socket()
            .set_patience(longest)
            .map_err(|reason| LoadError::Broken { reason })
    }

    /// Sends `bytes` when it is open.
    pub fn buffer_reply(&mut self, bytes: &[u8]) {
        self.unsent.extend_from_slice(bytes);
    }

    /// Sends `bytes`, now or when the kernel takes them.
    pub fn send(&mut self, bytes: &[u8]) -> Result<(), LoadError> {
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

    /// Its socket, where bytes pass as they are, nobody watches and nothing waits to be sent.
    pub fn bare_socket(&self) -> Option<&Socket> {
        match &self.transport {
            Transport::Plain(socket) if self.witness.is_none() && self.unsent.is_empty() => Some(socket),
            Transport::Plain(_) | Transport::Tls(_) => None,
        }
    }

    /// Whether some of what was sent waits for the kernel.
    pub fn has_unsent(&self) -> bool {
        !self.unsent.is_empty()
    }

    /// Sends what waits, as far as the kernel takes it.
    pub fn flush(&mut self) -> Result<(), LoadError> {
        if !self.transport.flush() {
            return Err(LoadError::Closed);
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

    /// Reads what is there.
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
            // A stamp is off if the wall clock was set since: never later than now.
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

    /// Says `farewell` and hangs up. Best effort: whether the server hears it changes nothing.
    pub fn leave(mut self, farewell: &[u8]) {
        if !farewell.is_empty() && self.unsent.is_empty() {
            self.set_patience(None).ok();
            self.send(farewell).ok();
        }
        self.close();
    }

    /// Hangs up.
    pub fn close(mut self) {
        if let Some((witness, clock)) = &mut self.witness {
            witness.sample(clock.now(), self.transport.socket());
        }
    }
}

pub(crate) fn broken(reason: OsError) -> LoadError {
    match reason {
        OsError(libc::ECONNRESET | libc::EPIPE) => LoadError::Closed,
        reason => LoadError::Broken { reason },
    }
}
