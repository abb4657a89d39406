//! Connects to a target: DNS, TCP, and the context of a login.

use super::connection::{ClientConnection, PassedTraffic};
use super::deadline::Deadline;
use super::legs::Legs;
use super::{SessionError, SessionOptions};
use model::{Content, Direction, Phase, Timestamp};
use rustls::ClientConfig;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use sys::error::{LiveError, OsError};
use sys::resolve;
use sys::socket::Socket;
use sys::target::{Secret, Target, credentials};
use sys::tls::TlsSettings;
use sys::transport::Transport;
use sys::wait::PollFlags;
use wire::Decoder;

pub(super) struct LoginContext<'o, 'a> {
    pub target: &'o Target,
    pub security: &'o TlsSettings,
    pub line: ClientConnection<'a>,
    pub decoder: Option<Box<dyn Decoder + Send>>,
    pub legs: Legs,
    pub deadline: Deadline,
    pub version: Option<String>,
    /// The server's number of the session's process or connection.
    pub process: Option<u32>,
    pub user: String,
    pub password: Option<Secret>,
    pub ignored: Option<PathBuf>,
    pub tls: Option<Arc<ClientConfig>>,
    pub compression: bool,
    /// Whether to offer data on request and rows in bulk.
    pub loading: bool,
    /// Whether to try other protocols with a silent server.
    pub asks_otherwise: bool,
    pub takes_bulk: bool,
}

impl LoginContext<'_, '_> {
    pub fn encrypted(self, config: Arc<ClientConfig>) -> Result<Self, SessionError> {
        let line = self.line.encrypted(config, self.target, &self.deadline)?;
        let mut opening = Self { line, ..self };
        opening.leg("tls handshake", Phase::Tls);
        let turns = opening.legs.as_slice().last().map_or(0, |leg| leg.turns);
        if matches!(opening.line.transport(), Transport::Tls(tls) if tls.was_begun_anew()) {
            opening.remedy(
                1,
                "the same key exchange first at both ends: PostgreSQL 18, or Groups = P-256:X25519 in the client's openssl.cnf",
            );
        } else if turns > 1 {
            opening.remedy(
                turns - 1,
                "TLS 1.3 at both ends: its handshake takes 1 round trip",
            );
        }
        opening.own_work("tls computing", Phase::Tls);
        Ok(opening)
    }

    pub fn is_private(&self) -> bool {
        self.target.socket.is_some() || matches!(self.line.transport(), Transport::Tls(_))
    }

    /// Whether a password may be sent in clear.
    pub fn may_send_password(&self) -> bool {
        self.is_private() || credentials::are_cleartext_passwords_allowed()
    }

    pub fn no_password(&self) -> SessionError {
        match &self.ignored {
            None => SessionError::NoPassword,
            Some(path) => SessionError::PasswordFileOpen {
                path: path.display().to_string(),
            },
        }
    }

    pub fn send_unshown(&mut self, bytes: &[u8]) -> Result<(), SessionError> {
        self.line.send(bytes, &self.deadline).map(|_| ())
    }

    pub fn bytes_unshown(&mut self, count: usize) -> Result<Vec<u8>, SessionError> {
        // Also if they are buffered: a server may keep the client busy with bytes sent at once.
        self.deadline.left()?;
        let mut bytes = Vec::new();
        self.line.process_bytes(count, &mut bytes, &self.deadline)?;
        Ok(bytes)
    }

    pub fn send(&mut self, bytes: &[u8]) -> Result<(), SessionError> {
        self.send_unshown(bytes)?;
        self.show(Direction::ClientToServer, bytes)
    }

    pub fn bytes(&mut self, count: usize) -> Result<Vec<u8>, SessionError> {
        let bytes = self.bytes_unshown(count)?;
        self.show(Direction::ServerToClient, &bytes)?;
        Ok(bytes)
    }

    pub fn leg(&mut self, name: &str, phase: Phase) {
        self.legs
            .end(name, phase, self.line.arrived(), self.line.passed());
    }

    pub fn remedy(&mut self, saves_turns: u64, text: &str) {
        self.legs.remedy(saves_turns, text);
    }

    pub fn own_work(&mut self, name: &str, phase: Phase) {
        self.legs
            .end(name, phase, self.line.clock().now(), self.line.passed());
    }

    /// The decoder must see the login to follow the later bytes.
    fn show(&mut self, direction: Direction, bytes: &[u8]) -> Result<(), SessionError> {
        let Some(decoder) = &mut self.decoder else {
            return Ok(());
        };
        let version = &mut self.version;
        decoder.feed(Timestamp::default(), direction, bytes, &mut |message| {
            if let Content::ServerVersion { text } = message.content {
                *version = Some(String::from_utf8_lossy(text).into_owned());
            }
        })?;
        Ok(())
    }
}

pub(super) fn connect<'a>(
    target: &Target,
    options: SessionOptions<'a>,
    deadline: &Deadline,
) -> Result<(ClientConnection<'a>, Legs), SessionError> {
    let mut legs = Legs::begin(options.clock.now());
    if let Some(path) = &target.socket {
        let socket = reach_local(path)?;
        legs.end(
            "unix socket",
            Phase::Connect,
            options.clock.now(),
            PassedTraffic::default(),
        );
        let connection = ClientConnection::new(socket, legs.span(), 0, options);
        return Ok((connection.expecting(target.scheme.protocol()), legs));
    }
    let addresses = match options.address {
        Some(address) => vec![address],
        None => {
            let addresses = resolve::addresses(target)?;
            if target.host.parse::<IpAddr>().is_err() {
                legs.end(
                    "dns",
                    Phase::Connect,
                    options.clock.now(),
                    PassedTraffic::default(),
                );
            }
            addresses
        }
    };
    let mut passed = PassedTraffic::default();
    let mut last = SessionError::Connect(LiveError::NoSuchHost {
        host: target.host.clone(),
    });
    for address in addresses {
        match reach(target, address, &options, deadline) {
            Ok(socket) => {
                passed.turns += 1;
                legs.end("tcp", Phase::Connect, options.clock.now(), passed);
                let connection = ClientConnection::new(socket, legs.span(), passed.turns, options);
                return Ok((connection.expecting(target.scheme.protocol()), legs));
            }
            Err(error @ (SessionError::Stopped | SessionError::TimedOut { .. })) => return Err(error),
            Err(error) => last = error,
        }
        passed.turns += 1;
        let name = format!("tcp to {}, in vain", address.ip());
        legs.end(&name, Phase::Connect, options.clock.now(), passed);
        legs.remedy(1, "name the address that answers instead of the host");
    }
    Err(last)
}

fn reach_local(path: &Path) -> Result<Socket, SessionError> {
    let connected = UnixStream::connect(path).map_err(|error| OsError::from_io_error(&error));
    let socket = connected.and_then(Socket::adopt_local);
    socket.map_err(|reason| {
        SessionError::Connect(LiveError::SocketFailed {
            socket: path.display().to_string(),
            reason,
        })
    })
}

fn reach(
    target: &Target,
    address: SocketAddr,
    options: &SessionOptions<'_>,
    deadline: &Deadline,
) -> Result<Socket, SessionError> {
    let failed = |reason| resolve::failed(target, address, reason);
    let socket = Socket::connect(&address).map_err(failed)?;
    while !socket.connected().map_err(failed)? {
        let left = deadline
            .left()
            .map_err(|_| resolve::timed_out(target, address, deadline.timeout()))?;
        if options.stop.is_stopped() {
            return Err(SessionError::Stopped);
        }
        options.stop.until_ready(socket.as_fd(), PollFlags::OUT, left);
    }
    Ok(socket)
}
