//! The secure handshake is TLS 1.3 between two known keys (RFC 8446, RFC 7250), then a welcome by
//! the far end.
//!
//! Both sides authenticate. There is no resumption and no early data, so a recorded handshake
//! cannot be replayed. The welcome tells the near end that its key was accepted: in TLS 1.3 a
//! client learns this only from the server's first bytes. Without keys, both ends exchange the same
//! four plain bytes to detect strangers.

use super::keys::{KeyError, KeyFingerprint, SecretKey, TunnelSecurity};
use super::peer_fault::{PeerFault, fault, told};
use super::verifier::KnownKeys;
use rustls::client::{AlwaysResolvesClientRawPublicKeys, Resumption};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::ServerName;
use rustls::server::{AlwaysResolvesServerRawPublicKeys, NoServerSessionStorage};
use rustls::version::TLS13;
use rustls::{ClientConfig, ClientConnection, ServerConfig, ServerConnection};
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::{Duration, Instant};
use sys::error::OsError;
use sys::socket::{Received, Sent, Socket};
use sys::tls::{HandshakeFault, TlsHandshake, TlsSocket};
use sys::transport::Transport;
use sys::wait::{PollFlags, until_ready};

#[derive(Debug, Clone)]
pub(crate) struct ClientHandshake {
    params: HandshakeParams<ClientConfig>,
}

#[derive(Debug, Clone)]
pub(crate) struct ServerHandshake {
    params: HandshakeParams<ServerConfig>,
}

#[derive(Debug, Clone)]
enum HandshakeParams<C> {
    Plain,
    Encrypted {
        config: Arc<C>,
        own: KeyFingerprint,
        shared: bool,
    },
}

impl ClientHandshake {
    pub(crate) fn new(security: &TunnelSecurity) -> Result<Self, PeerFault> {
        let Some((own, known, shared)) = roles(security, End::Near) else {
            return Ok(Self {
                params: HandshakeParams::Plain,
            });
        };
        let provider = provider();
        let mut config = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&[&TLS13])
            .map_err(PeerFault::Tls)?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(KnownKeys::new(known, &provider)))
            .with_client_cert_resolver(Arc::new(AlwaysResolvesClientRawPublicKeys::new(own.certified())));
        config.alpn_protocols = vec![PROTOCOL.to_vec()];
        config.resumption = Resumption::disabled();
        config.enable_sni = false;
        Ok(Self {
            params: HandshakeParams::Encrypted {
                config: Arc::new(config),
                own: own.fingerprint(),
                shared,
            },
        })
    }

    pub(crate) fn suits(&self, address: SocketAddr) -> Result<(), KeyError> {
        match self.params {
            HandshakeParams::Plain => TunnelSecurity::None.suits(&[address]),
            HandshakeParams::Encrypted { .. } => Ok(()),
        }
    }

    /// Performs the near end's handshake on a connected socket; blocks at most `longest`.
    pub(crate) fn complete(&self, socket: Socket, longest: Duration) -> Result<Transport, PeerFault> {
        let wait = Wait {
            until: Instant::now() + longest,
            longest,
        };
        match &self.params {
            HandshakeParams::Plain => greet_in_plain(socket, &wait),
            HandshakeParams::Encrypted { config, own, shared } => self
                .encrypt(socket, config, &wait)
                .map_err(|fault| told(fault, *own, *shared)),
        }
    }

    fn encrypt(
        &self,
        socket: Socket,
        config: &Arc<ClientConfig>,
        wait: &Wait,
    ) -> Result<Transport, PeerFault> {
        // Neither sent nor checked: identity is the key, not a name.
        let name = ServerName::try_from("far.longwire").map_err(|_| PeerFault::NotATunnel)?;
        let session = ClientConnection::new(Arc::clone(config), name).map_err(PeerFault::Tls)?;
        let mut tls = TlsSocket::with_session(socket, session.into());
        tls.flush();
        wait.readable(tls.socket())?;
        if opening(tls.socket()) == FirstByte::Plain {
            return Err(PeerFault::Unencrypted);
        }
        loop {
            match tls.shake_hands().map_err(fault)? {
                TlsHandshake::Onward => {}
                TlsHandshake::Waits => wait.readable(tls.socket())?,
                TlsHandshake::Done => break,
            }
        }
        if tls.agreed_protocol() != Some(PROTOCOL) {
            return Err(PeerFault::NotATunnel);
        }
        // The last handshake bytes; then the far end checks the key.
        tls.flush();
        let mut lane = Transport::Tls(Box::new(tls));
        hear_welcome(&mut lane, wait)?;
        Ok(lane)
    }
}

impl ServerHandshake {
    pub(crate) fn new(security: &TunnelSecurity) -> Result<Self, PeerFault> {
        let Some((own, known, shared)) = roles(security, End::Far) else {
            return Ok(Self {
                params: HandshakeParams::Plain,
            });
        };
        let provider = provider();
        let mut config = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&[&TLS13])
            .map_err(PeerFault::Tls)?
            .with_client_cert_verifier(Arc::new(KnownKeys::new(known, &provider)))
            .with_cert_resolver(Arc::new(AlwaysResolvesServerRawPublicKeys::new(own.certified())));
        config.alpn_protocols = vec![PROTOCOL.to_vec()];
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        Ok(Self {
            params: HandshakeParams::Encrypted {
                config: Arc::new(config),
                own: own.fingerprint(),
                shared,
            },
        })
    }

    pub(crate) fn answer(&self, socket: Socket) -> Result<PendingHandshake, PeerFault> {
        let transport = match &self.params {
            HandshakeParams::Plain => Transport::Plain(socket),
            HandshakeParams::Encrypted { config, .. } => {
                let session = ServerConnection::new(Arc::clone(config)).map_err(PeerFault::Tls)?;
                Transport::Tls(Box::new(TlsSocket::with_session(socket, session.into())))
            }
        };
        Ok(PendingHandshake {
            transport,
            looked_at: false,
        })
    }

    /// Continues the handshake and returns whether it is complete.
    pub(crate) fn go_on(&self, pending: &mut PendingHandshake) -> Result<bool, PeerFault> {
        pending.go_on().map_err(|fault| match &self.params {
            HandshakeParams::Plain => fault,
            HandshakeParams::Encrypted { own, shared, .. } => told(fault, *own, *shared),
        })
    }
}

#[derive(Debug)]
pub(crate) struct PendingHandshake {
    transport: Transport,
    /// Whether the first byte has arrived and is valid.
    looked_at: bool,
}

impl PendingHandshake {
    pub(crate) fn socket(&self) -> &Socket {
        self.transport.socket()
    }

    /// Admits the peer after the handshake and returns the transport.
    pub(crate) fn welcome(mut self) -> Result<Transport, PeerFault> {
        match self.transport.send(WELCOME) {
            Sent::Bytes(count) if count == WELCOME.len() => Ok(self.transport),
            // The kernel always has room for four bytes on a fresh connection.
            Sent::Bytes(_) | Sent::Broken(_) => Err(PeerFault::Left),
        }
    }

    /// Tells the peer after the handshake that there is no room for another lane.
    pub(crate) fn turn_away(mut self) {
        self.transport.send(NO_ROOM);
        self.transport.finish();
    }

    fn go_on(&mut self) -> Result<bool, PeerFault> {
        if !self.looked_at && !self.advance_handshake()? {
            return Ok(false);
        }
        match &mut self.transport {
            Transport::Plain(socket) => {
                if !heard_greeting(socket)? {
                    return Ok(false);
                }
            }
            Transport::Tls(tls) => loop {
                match tls.shake_hands().map_err(fault)? {
                    TlsHandshake::Onward => {}
                    TlsHandshake::Waits => return Ok(false),
                    TlsHandshake::Done if tls.agreed_protocol() == Some(PROTOCOL) => break,
                    TlsHandshake::Done => return Err(PeerFault::NotATunnel),
                }
            },
        }
        Ok(true)
    }

    /// Whether the first byte has arrived and matches this end's mode.
    fn advance_handshake(&mut self) -> Result<bool, PeerFault> {
        let (encrypts, here) = match &self.transport {
            Transport::Plain(socket) => (false, opening(socket)),
            Transport::Tls(tls) => (true, opening(tls.socket())),
        };
        match (here, encrypts) {
            (FirstByte::Nothing, _) => return Ok(false),
            (FirstByte::End, _) => return Err(PeerFault::Left),
            (FirstByte::Tls, true) | (FirstByte::Plain, false) => {}
            (FirstByte::Tls, false) => {
                // In plain, as this end speaks: the near end knows by it.
                self.socket().send(WELCOME);
                return Err(PeerFault::Encrypted);
            }
            (FirstByte::Plain, true) => {
                self.socket().send(&TLS_ALERT);
                return Err(PeerFault::Unencrypted);
            }
            (FirstByte::Strange, _) => return Err(PeerFault::NotATunnel),
        }
        self.looked_at = true;
        Ok(true)
    }
}

/// The peer's key, `None` without encryption.
pub(super) fn shown_key(lane: &Transport) -> Option<KeyFingerprint> {
    match lane {
        Transport::Plain(_) => None,
        Transport::Tls(tls) => tls.shown_key().map(KeyFingerprint::of_shown),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Near,
    Far,
}

/// This end's key, the accepted keys, and whether they come from one secret, `None` without
/// encryption.
fn roles(security: &TunnelSecurity, end: End) -> Option<(&SecretKey, Vec<KeyFingerprint>, bool)> {
    match security {
        TunnelSecurity::None => None,
        TunnelSecurity::Keys { own, peers } => Some((own, peers.clone(), false)),
        TunnelSecurity::Shared(shared) => {
            let (own, other) = match end {
                End::Near => (&shared.near, &shared.far),
                End::Far => (&shared.far, &shared.near),
            };
            Some((own, vec![other.fingerprint()], true))
        }
    }
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// The plain handshake is symmetric.
fn greet_in_plain(socket: Socket, wait: &Wait) -> Result<Transport, PeerFault> {
    if socket.send(WELCOME) != Sent::Bytes(WELCOME.len()) {
        return Err(PeerFault::Left);
    }
    wait.readable(&socket)?;
    if opening(&socket) == FirstByte::Tls {
        return Err(PeerFault::Encrypted);
    }
    let mut lane = Transport::Plain(socket);
    hear_welcome(&mut lane, wait)?;
    Ok(lane)
}

fn hear_welcome(lane: &mut Transport, wait: &Wait) -> Result<(), PeerFault> {
    let mut heard = [0; WELCOME.len()];
    let mut count = 0;
    while let Some(room) = heard.get_mut(count..).filter(|room| !room.is_empty()) {
        match receive(lane, room)? {
            0 => wait.readable(lane.socket())?,
            more => count += more,
        }
    }
    match &heard {
        WELCOME => Ok(()),
        NO_ROOM => Err(PeerFault::NoRoom),
        _ => Err(PeerFault::NotATunnel),
    }
}

fn receive(lane: &mut Transport, room: &mut [u8]) -> Result<usize, PeerFault> {
    let received = match lane {
        Transport::Plain(socket) => socket.receive(room),
        Transport::Tls(tls) => {
            let received = tls.receive(room);
            if let Some(reason) = tls.fault() {
                return Err(fault(HandshakeFault::Tls(reason)));
            }
            received
        }
    };
    match received {
        Received::Bytes { count, .. } => Ok(count),
        Received::Nothing => Ok(0),
        Received::End | Received::Broken(OsError(_)) => Err(PeerFault::Left),
    }
}

/// Consumes the plain greeting and returns whether it has arrived.
fn heard_greeting(socket: &Socket) -> Result<bool, PeerFault> {
    let mut heard = [0; WELCOME.len()];
    let count = peek(socket, &mut heard).unwrap_or(0);
    if !WELCOME.starts_with(heard.get(..count).unwrap_or_default()) {
        return Err(PeerFault::NotATunnel);
    }
    Ok(count == WELCOME.len() && socket.receive(&mut heard) != Received::Nothing)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FirstByte {
    Nothing,
    End,
    /// A TLS record begins with 20 to 23 (RFC 8446, section 5.1).
    Tls,
    /// The greeting of an end without keys.
    Plain,
    Strange,
}

fn opening(socket: &Socket) -> FirstByte {
    let mut first = [0];
    match peek(socket, &mut first) {
        None => FirstByte::Nothing,
        Some(0) => FirstByte::End,
        Some(_) => match first[0] {
            20..=23 => FirstByte::Tls,
            byte if WELCOME.first() == Some(&byte) => FirstByte::Plain,
            _ => FirstByte::Strange,
        },
    }
}

/// Peeks at available bytes; `None` if there are none now, 0 at the end.
fn peek(socket: &Socket, room: &mut [u8]) -> Option<usize> {
    socket.stream().peek(room).map_or_else(
        |error| (error.kind() != std::io::ErrorKind::WouldBlock).then_some(0),
        Some,
    )
}

/// The near end's deadline.
struct Wait {
    until: Instant,
    longest: Duration,
}

impl Wait {
    /// Waits until the peer has sent bytes or closed.
    fn readable(&self, socket: &Socket) -> Result<(), PeerFault> {
        loop {
            let left = self.until.saturating_duration_since(Instant::now());
            // A signal may end the wait early; it is not for this thread.
            if until_ready(socket.as_fd(), PollFlags::IN, left) {
                return Ok(());
            }
            if left.is_zero() {
                return Err(PeerFault::TooSlow { after: self.longest });
            }
        }
    }
}

/// With ALPN, browsers and other servers are refused before keys are checked.
const PROTOCOL: &[u8] = b"longwire-tunnel";
const WELCOME: &[u8; 4] = b"lwt\n";
const NO_ROOM: &[u8; 4] = b"lwf\n";
/// A TLS server's reply to bytes that are not TLS: fatal, unexpected_message (RFC 8446, section 6).
const TLS_ALERT: [u8; 7] = [21, 3, 3, 0, 2, 2, 10];

#[cfg(test)]
mod tests;
