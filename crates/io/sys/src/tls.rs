//! A TLS socket, as client or server of the session, and trust in database servers.

mod common_name;
pub mod der;
mod identity;
pub mod security;
mod trust;

use crate::clock::{Clock, WallOffset, WallStamp};
use crate::error::{LiveError, OsError};
use crate::socket::{Received, Sent, Socket};
use crate::target::Target;
use model::{Direction, PerDirection, RelayHandshake};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{CertificateError, ClientConfig, ClientConnection, Connection, HandshakeKind};
use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::ops::Range;
use std::sync::Arc;

pub use security::TlsSettings;
pub use trust::configure;

#[derive(Debug)]
pub struct TlsSocket {
    socket: Socket,
    session: Connection,
    stamp: Option<WallStamp>,
    emptied: bool,
    /// Is `None` if the session reads by itself, a few KiB at a time.
    ahead: Option<Ahead>,
    farewell_said: bool,
    passed: PerDirection<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TlsHandshake {
    /// Remaining handshake bytes leave with the client's first bytes.
    Done,
    /// The peer must send first.
    Waits,
    /// Can continue at once.
    Onward,
}

#[derive(Debug, Clone, PartialEq)]
pub enum HandshakeFault {
    Left,
    Tls(rustls::Error),
}

impl TlsSocket {
    /// Blocks, and reports each of its round trips.
    pub fn begin(
        socket: Socket,
        config: Arc<ClientConfig>,
        target: &Target,
        clock: Clock,
    ) -> Result<(Self, Vec<RelayHandshake>), LiveError> {
        let mut tls = Self::unshaken(socket, config, target)?;
        let mut trips: Vec<RelayHandshake> = Vec::new();
        loop {
            let (asked, before) = (clock.now(), tls.passed);
            let step = tls.shake(target)?;
            let stamped = tls
                .stamp
                .map(|stamp| clock.to_timestamp(stamp, WallOffset::now()));
            let came = stamped.unwrap_or_else(|| clock.now()).max(asked);
            let moved = tls.passed.zip(before).map(|(now, before)| now - before);
            match trips.last_mut().filter(|_| moved[Direction::ClientToServer] == 0) {
                Some(trip) => trip.goes_on(came, moved[Direction::ServerToClient]),
                None => trips.push(RelayHandshake::asked(asked, came, moved)),
            }
            match step {
                TlsHandshake::Onward => {}
                // The socket's read timeout has passed.
                TlsHandshake::Waits => return Err(server_left(target)),
                TlsHandshake::Done => {
                    tls.flush();
                    return Ok((tls, trips));
                }
            }
        }
    }

    /// [`TlsSocket::shake`] makes its handshake.
    pub fn unshaken(socket: Socket, config: Arc<ClientConfig>, target: &Target) -> Result<Self, LiveError> {
        let server = || target.server();
        let name = ServerName::try_from(
            target
                .certificate_name
                .clone()
                .unwrap_or_else(|| target.host.clone()),
        )
        .map_err(|_| LiveError::NameMismatch { server: server() })?;
        let session = ClientConnection::new(config, name).map_err(|reason| LiveError::TlsFailed {
            server: server(),
            reason,
        })?;
        Ok(Self::with_session(socket, session.into()))
    }

    /// [`TlsSocket::shake_hands`] makes its handshake.
    pub fn with_session(socket: Socket, mut session: Connection) -> Self {
        session.set_buffer_limit(Some(CIPHERTEXT_LIMIT));
        Self {
            socket,
            session,
            stamp: None,
            emptied: false,
            ahead: None,
            farewell_said: false,
            passed: PerDirection::default(),
        }
    }

    pub fn shake(&mut self, target: &Target) -> Result<TlsHandshake, LiveError> {
        self.shake_hands().map_err(|fault| match fault {
            HandshakeFault::Left => server_left(target),
            HandshakeFault::Tls(reason) => tls_failed(reason, target),
        })
    }

    /// Sends pending bytes, then reads once.
    pub fn shake_hands(&mut self) -> Result<TlsHandshake, HandshakeFault> {
        if let Sent::Broken(_) = self.flush() {
            return Err(HandshakeFault::Left);
        }
        match self.read_ciphertext() {
            Ok(0) => return Err(HandshakeFault::Left),
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(TlsHandshake::Waits),
            Err(_) => return Err(HandshakeFault::Left),
        }
        if let Err(reason) = self.session.process_new_packets() {
            // Sends the alert, if the peer still listens.
            self.flush();
            return Err(HandshakeFault::Tls(reason));
        }
        Ok(if self.session.is_handshaking() {
            TlsHandshake::Onward
        } else {
            TlsHandshake::Done
        })
    }

    /// Whether the server requested another key (HelloRetryRequest).
    pub fn was_begun_anew(&self) -> bool {
        self.session.handshake_kind() == Some(HandshakeKind::FullWithHelloRetryRequest)
    }

    /// `None` before the end of the handshake, or if neither side named one.
    pub fn agreed_protocol(&self) -> Option<&[u8]> {
        self.session.alpn_protocol()
    }

    /// A certificate, or a raw public key.
    pub fn shown_key(&self) -> Option<&CertificateDer<'static>> {
        self.session.peer_certificates()?.first()
    }

    pub fn fault(&mut self) -> Option<rustls::Error> {
        // A failed session reports the error again.
        self.session.process_new_packets().err()
    }

    pub const fn passed(&self) -> PerDirection<u64> {
        self.passed
    }

    pub const fn stamp(&self) -> Option<WallStamp> {
        self.stamp
    }

    pub fn has_unsent(&self) -> bool {
        self.session.wants_write()
    }

    const fn sends(&self) -> Direction {
        match self.session {
            Connection::Client(_) => Direction::ClientToServer,
            Connection::Server(_) => Direction::ServerToClient,
        }
    }

    /// For sockets with much traffic.
    pub fn read_ahead(&mut self) {
        self.ahead.get_or_insert_with(|| Ahead {
            bytes: vec![0; READ_AHEAD].into_boxed_slice(),
            waiting: 0..0,
        });
    }

    fn read_ciphertext(&mut self) -> io::Result<usize> {
        if let Some(ahead) = &mut self.ahead {
            if ahead.waiting.is_empty() {
                self.emptied = ahead.fill(&self.socket)?;
            }
            let mut waiting = ahead.bytes.get(ahead.waiting.clone()).unwrap_or_default();
            let count = self.session.read_tls(&mut waiting)?;
            ahead.waiting.start += count;
            let direction = self.sends().reverse();
            self.passed[direction] += count as u64;
            return Ok(count);
        }
        let mut wire = Wire {
            socket: &self.socket,
            stamp: None,
            emptied: true,
        };
        let count = self.session.read_tls(&mut wire)?;
        self.stamp = wire.stamp;
        self.emptied = wire.emptied;
        let direction = self.sends().reverse();
        self.passed[direction] += count as u64;
        Ok(count)
    }

    pub fn socket(&self) -> &Socket {
        &self.socket
    }

    pub fn into_socket(self) -> Socket {
        self.socket
    }

    /// `buffer` must not be empty.
    pub fn receive(&mut self, buffer: &mut [u8]) -> Received {
        loop {
            match self.session.reader().read(buffer) {
                Ok(0) => return Received::End,
                // More decrypted bytes may be left, for any count.
                Ok(count) => {
                    return Received::Bytes {
                        count,
                        emptied: false,
                        stamp: self.stamp,
                    };
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                // The peer closed the socket without close_notify.
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Received::End,
                Err(error) => return Received::Broken(OsError::from_io_error(&error)),
            }
            match self.read_ciphertext() {
                Ok(0) => return Received::End,
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Received::Nothing,
                Err(error) => return Received::Broken(OsError::from_io_error(&error)),
            }
            if self.session.process_new_packets().is_err() {
                return Received::Broken(OsError(libc::EPROTO));
            }
            if let Sent::Broken(error) = self.flush() {
                return Received::Broken(error);
            }
        }
    }

    /// Reports whether the socket was emptied.
    pub fn receive_bytes(&mut self, buffer: &mut [u8]) -> Received {
        match self.receive(buffer) {
            Received::Bytes { count, stamp, .. } => Received::Bytes {
                count,
                emptied: self.emptied && !self.has_ahead() && count < buffer.len(),
                stamp,
            },
            other => other,
        }
    }

    fn has_ahead(&self) -> bool {
        self.ahead.as_ref().is_some_and(|ahead| !ahead.waiting.is_empty())
    }

    /// Accepts no more bytes while [`CIPHERTEXT_LIMIT`] are unsent.
    pub fn send(&mut self, bytes: &[u8]) -> Sent {
        let mut taken = 0;
        while let Some(rest) = bytes.get(taken..).filter(|rest| !rest.is_empty()) {
            match self.session.writer().write(rest) {
                Ok(0) => break,
                Ok(count) => taken += count,
                Err(error) => return Sent::Broken(OsError::from_io_error(&error)),
            }
            if let Sent::Broken(error) = self.flush() {
                return Sent::Broken(error);
            }
        }
        Sent::Bytes(taken)
    }

    /// A return of [`Sent::Bytes`] only means that the socket works.
    pub fn flush(&mut self) -> Sent {
        let direction = self.sends();
        let mut wire = Wire {
            socket: &self.socket,
            stamp: None,
            emptied: true,
        };
        while self.session.wants_write() {
            match self.session.write_tls(&mut wire) {
                Ok(count) => self.passed[direction] += count as u64,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Sent::Broken(OsError::from_io_error(&error)),
            }
        }
        Sent::Bytes(0)
    }

    /// Returns false while ciphertext is still unsent, so that it must be called again.
    pub fn finish(&mut self) -> bool {
        if !self.farewell_said {
            self.session.send_close_notify();
            self.farewell_said = true;
        }
        self.flush();
        let said = !self.session.wants_write();
        if said {
            self.socket.finish();
        }
        said
    }
}

#[derive(Debug)]
struct Ahead {
    bytes: Box<[u8]>,
    waiting: Range<usize>,
}

impl Ahead {
    /// Returns whether the socket was emptied. At the end no bytes wait, which the session takes
    /// for the end.
    fn fill(&mut self, socket: &Socket) -> io::Result<bool> {
        match socket.receive_bytes(&mut self.bytes) {
            Received::Bytes { count, emptied, .. } => {
                self.waiting = 0..count;
                Ok(emptied)
            }
            Received::Nothing => Err(ErrorKind::WouldBlock.into()),
            Received::End => Ok(true),
            Received::Broken(OsError(code)) => Err(io::Error::from_raw_os_error(code)),
        }
    }
}

const READ_AHEAD: usize = 64 * 1024;

struct Wire<'a> {
    socket: &'a Socket,
    stamp: Option<WallStamp>,
    emptied: bool,
}

impl Read for Wire<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.socket.receive(buffer) {
            Received::Bytes {
                count,
                emptied,
                stamp,
            } => {
                self.stamp = stamp;
                self.emptied = emptied;
                Ok(count)
            }
            Received::Nothing => Err(ErrorKind::WouldBlock.into()),
            Received::End => Ok(0),
            Received::Broken(OsError(code)) => Err(io::Error::from_raw_os_error(code)),
        }
    }
}

impl Write for Wire<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        sent(self.socket.send(bytes))
    }

    /// One call for all records, so that they share packets.
    fn write_vectored(&mut self, records: &[IoSlice<'_>]) -> io::Result<usize> {
        sent(self.socket.send_parts(records))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn sent(outcome: Sent) -> io::Result<usize> {
    match outcome {
        Sent::Bytes(0) => Err(ErrorKind::WouldBlock.into()),
        Sent::Bytes(count) => Ok(count),
        Sent::Broken(OsError(code)) => Err(io::Error::from_raw_os_error(code)),
    }
}

fn server_left(target: &Target) -> LiveError {
    LiveError::ServerLeft {
        server: target.server(),
    }
}

fn tls_failed(reason: rustls::Error, target: &Target) -> LiveError {
    let server = target.server();
    let rustls::Error::InvalidCertificate(fault) = &reason else {
        return LiveError::TlsFailed { server, reason };
    };
    if let CertificateError::Other(other) = fault
        && let Some(why) = other.0.downcast_ref::<trust::Distrusted>()
    {
        return match why {
            trust::Distrusted::SelfSigned => LiveError::SelfSigned { server },
            trust::Distrusted::UntrustedRoot => LiveError::UntrustedRoot { server },
        };
    }
    match fault {
        CertificateError::Expired
        | CertificateError::ExpiredContext { .. }
        | CertificateError::NotValidYet
        | CertificateError::NotValidYetContext { .. } => LiveError::CertificateExpired { server },
        // BadSignature is by an authority with a trusted name and another key.
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            LiveError::UnknownAuthority { server }
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            LiveError::NameMismatch { server }
        }
        _ => LiveError::TlsFailed { server, reason },
    }
}

/// For unsent ciphertext, and likewise for plain text before encryption.
const CIPHERTEXT_LIMIT: usize = 64 * 1024;
