//! TLS: a socket that encrypts, as the client or as the server of the session, and whom to trust as a
//! database's client.

mod common_name;
pub mod der;
mod identity;
pub mod security;
mod trust;

use crate::clock::{Clock, WallOffset, WallStamp};
use crate::error::{LiveError, OsError};
use crate::socket::{Received, Sent, Socket};
use crate::target::Target;
use model::{Direction, RelayHandshake};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{CertificateError, ClientConfig, ClientConnection, Connection, HandshakeKind};
use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::ops::Range;
use std::sync::Arc;

pub use security::TlsSettings;
pub use trust::configure;

/// A socket with a TLS session on it.
#[derive(Debug)]
pub struct TlsSocket {
    socket: Socket,
    session: Connection,
    /// When the kernel received the last ciphertext.
    stamp: Option<WallStamp>,
    /// Whether the last ciphertext was all there was.
    emptied: bool,
    /// Ciphertext that was read and not yet looked at; `None` if the session reads for itself, a few KiB at a
    /// time.
    ahead: Option<Ahead>,
    farewell_said: bool,
    /// Bytes of ciphertext that passed ([`Direction::index`]).
    passed: [u64; 2],
}

/// How far the handshake is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TlsHandshake {
    /// It is done. What is still to be sent leaves with the client's first bytes.
    Done,
    /// It goes on when the peer has sent more.
    Waits,
    /// It can go on at once.
    Onward,
}

/// Why a handshake failed.
#[derive(Debug, Clone, PartialEq)]
pub enum HandshakeFault {
    /// The peer closed the connection, or it broke.
    Left,
    /// One of the two found fault with the other.
    Tls(rustls::Error),
}

impl TlsSocket {
    /// Makes the TLS handshake on a socket that blocks, and reports each of its round trips.
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
            let [sent, read] = [0, 1].map(|index| tls.passed[index] - before[index]);
            match trips.last_mut().filter(|_| sent == 0) {
                Some(trip) => trip.goes_on(came, read),
                None => trips.push(RelayHandshake::asked(asked, came, [sent, read])),
            }
            match step {
                TlsHandshake::Onward => {}
                // Reads have waited as long as the socket lets them.
                TlsHandshake::Waits => return Err(server_left(target)),
                TlsHandshake::Done => {
                    tls.flush();
                    return Ok((tls, trips));
                }
            }
        }
    }

    /// A session whose handshake is to be made with [`TlsSocket::shake`].
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

    /// As [`TlsSocket::unshaken`], with a session of either side; its handshake is made with
    /// [`TlsSocket::shake_hands`].
    pub fn with_session(socket: Socket, mut session: Connection) -> Self {
        session.set_buffer_limit(Some(CIPHERTEXT_LIMIT));
        Self {
            socket,
            session,
            stamp: None,
            emptied: false,
            ahead: None,
            farewell_said: false,
            passed: [0; 2],
        }
    }

    /// Goes on with the handshake with a database's server.
    pub fn shake(&mut self, target: &Target) -> Result<TlsHandshake, LiveError> {
        self.shake_hands().map_err(|fault| match fault {
            HandshakeFault::Left => server_left(target),
            HandshakeFault::Tls(reason) => tls_failed(reason, target),
        })
    }

    /// Goes on with the handshake: sends what there is to send, then reads once.
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
            // The peer is informed of the reason, as far as it listens.
            self.flush();
            return Err(HandshakeFault::Tls(reason));
        }
        Ok(if self.session.is_handshaking() {
            TlsHandshake::Onward
        } else {
            TlsHandshake::Done
        })
    }

    /// Whether the server wanted the handshake restarted with another key.
    pub fn was_begun_anew(&self) -> bool {
        self.session.handshake_kind() == Some(HandshakeKind::FullWithHelloRetryRequest)
    }

    /// What the two agreed to speak inside the session; `None` before the handshake is done, or when neither
    /// named anything.
    pub fn agreed_protocol(&self) -> Option<&[u8]> {
        self.session.alpn_protocol()
    }

    /// The certificate, or raw public key, that the peer showed.
    pub fn shown_key(&self) -> Option<&CertificateDer<'static>> {
        self.session.peer_certificates()?.first()
    }

    /// What broke the session, when it was neither of the sockets.
    pub fn fault(&mut self) -> Option<rustls::Error> {
        // A session that has failed reports the error again.
        self.session.process_new_packets().err()
    }

    /// Bytes of ciphertext that passed, each way.
    pub const fn passed(&self) -> [u64; 2] {
        self.passed
    }

    /// When the kernel received the last ciphertext.
    pub const fn stamp(&self) -> Option<WallStamp> {
        self.stamp
    }

    /// Whether ciphertext waits for the kernel.
    pub fn has_unsent(&self) -> bool {
        self.session.wants_write()
    }

    /// The direction in which this end sends.
    const fn sends(&self) -> Direction {
        match self.session {
            Connection::Client(_) => Direction::ClientToServer,
            Connection::Server(_) => Direction::ServerToClient,
        }
    }

    /// From now on reads much at once: for sockets that carry much.
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
            self.passed[direction.index()] += count as u64;
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
        self.passed[direction.index()] += count as u64;
        Ok(count)
    }

    /// The socket below.
    pub fn socket(&self) -> &Socket {
        &self.socket
    }

    /// The socket below; the session is lost.
    pub fn into_socket(self) -> Socket {
        self.socket
    }

    /// Reads what has been decrypted into `buffer`, which must not be empty.
    pub fn receive(&mut self, buffer: &mut [u8]) -> Received {
        loop {
            match self.session.reader().read(buffer) {
                Ok(0) => return Received::End,
                // Decrypted bytes may be left, whatever the count.
                Ok(count) => {
                    return Received::Bytes {
                        count,
                        emptied: false,
                        stamp: self.stamp,
                    };
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                // The peer closed the socket without taking leave.
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

    /// As [`TlsSocket::receive`], and reports whether everything available has been read.
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

    /// Encrypts and sends; takes no more while [`CIPHERTEXT_LIMIT`] waits for the kernel.
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

    /// Sends ciphertext that waits; [`Sent::Bytes`] only means that the socket is in order.
    pub fn flush(&mut self) -> Sent {
        let direction = self.sends();
        let mut wire = Wire {
            socket: &self.socket,
            stamp: None,
            emptied: true,
        };
        while self.session.wants_write() {
            match self.session.write_tls(&mut wire) {
                Ok(count) => self.passed[direction.index()] += count as u64,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Sent::Broken(OsError::from_io_error(&error)),
            }
        }
        Sent::Bytes(0)
    }

    /// Takes leave; false while ciphertext still waits for the kernel: then it is to be called again.
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

/// Ciphertext between the socket and the session.
#[derive(Debug)]
struct Ahead {
    bytes: Box<[u8]>,
    waiting: Range<usize>,
}

impl Ahead {
    /// Reads what there is, when nothing waits; whether that was all. An end leaves nothing waiting, which
    /// the session takes for an end.
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

/// Several records of the longest kind.
const READ_AHEAD: usize = 64 * 1024;

/// The ciphertext end of a session.
struct Wire<'a> {
    socket: &'a Socket,
    stamp: Option<WallStamp>,
    /// The last read took all there was.
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

    /// All records in one call: they leave together as far as they fit into a packet.
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

/// What a failed handshake means.
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
        // The latter: by an authority of a trusted one's name, with another key.
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            LiveError::UnknownAuthority { server }
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            LiveError::NameMismatch { server }
        }
        _ => LiveError::TlsFailed { server, reason },
    }
}

/// Ciphertext that may wait for the kernel, and plain text that may wait to be encrypted: each at most this.
const CIPHERTEXT_LIMIT: usize = 64 * 1024;
