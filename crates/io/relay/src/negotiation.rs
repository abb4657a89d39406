//! TLS negotiation with the server for a client that stays plain.
//!
//! Blocks its own thread; each step of the server, and all of the client's together, are bounded by
//! [`TIMEOUT`] or [`SILENCE`]. Client traffic is shown to the observer later; traffic seen by the
//! server only is reported as the relay's.
//!
//! - PostgreSQL: the client takes no part. Its own TLS request is declined, or forwarded with
//!   everything after it ([`RelayTls::InTheClientsStead`]). SCRAM-SHA-256-PLUS is removed from the
//!   server's offer (`offer.rs`).
//! - MySQL: the server's greeting comes first. The client sees it without the TLS offer, and
//!   longwire builds its TLS request from the client's reply.

mod offer;

use super::connecting::CONNECT_LIMIT;
use super::connection::{Early, ReadyPair};
use super::{RelayTls, Shared};
use model::{Direction, PerDirection, Protocol, RelayHandshake, Timestamp};
use rustls::ClientConfig;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};
use sys::clock::Clock;
use sys::error::LiveError;
use sys::resolve;
use sys::socket::Socket;
use sys::target::Target;
use sys::tls::{TlsSettings, TlsSocket};
use sys::transport::Transport;
use wire::postgres::messages::encryption;
use wire::tls_request::{FIRST_TLS_REQUEST, OFFERS_TLS, SSL_REQUEST, lower_capabilities, tls_request};

/// For the next step of the server, and for all of the client's.
const TIMEOUT: Duration = Duration::from_secs(10);

/// For a client before its login, and for the server's answer to it; as long as PostgreSQL waits
/// for a login.
const SILENCE: Duration = Duration::from_secs(60);

/// Advances the client until bytes can pass unchanged (in a MySQL login, with shifted sequence
/// numbers).
pub(super) fn negotiate(
    client: Socket,
    config: Arc<ClientConfig>,
    shared: &Shared,
) -> Result<ReadyPair, LiveError> {
    let target = &shared.target;
    let tried_at = shared.clock.now();
    let stream = resolve::connect(target, &shared.addresses, CONNECT_LIMIT)?;
    let connected_at = shared.clock.now();
    let system = |reason| LiveError::System {
        operation: "set up a socket",
        reason,
    };
    let server = Socket::adopt(stream).map_err(system)?;
    let address = server.peer().map_err(system)?;
    client.set_patience(Some(TIMEOUT)).map_err(system)?;
    server.set_patience(Some(TIMEOUT)).map_err(system)?;
    let mut talk = Negotiation {
        client: &client,
        until: Instant::now() + TIMEOUT,
        shared,
        early: Vec::new(),
    };
    let is_mysql = is_mysql(target);
    let server = if is_mysql {
        Transport::Tls(Box::new(talk.mysql(server, config)?))
    } else {
        talk.postgres(server, config)?
    };
    let early = talk.early;
    client.set_patience(None).map_err(system)?;
    server.socket().set_patience(None).map_err(system)?;
    let connect_time = connected_at.since(tried_at);
    Ok(ReadyPair {
        client,
        server,
        address,
        connect_time,
        at: connected_at,
        early,
        login_shifted: is_mysql,
    })
}

struct Negotiation<'a> {
    client: &'a Socket,
    until: Instant,
    shared: &'a Shared,
    early: Vec<Early>,
}

impl Negotiation<'_> {
    /// PostgreSQL manual, sections 55.2.10 (SSLRequest) and 55.2.11 (GSSENCRequest).
    fn postgres(&mut self, server: Socket, config: Arc<ClientConfig>) -> Result<Transport, LiveError> {
        match self.shared.asked_tls {
            RelayTls::AsTheTargetInsists => {
                let server = self.postgres_server(server, config)?;
                let first = self.first_but_requests()?;
                self.start_up(first, server)
            }
            RelayTls::InTheClientsStead => {
                self.until = Instant::now() + SILENCE;
                let mut first = [0; 8];
                self.read_client(&mut first)?;
                if asks_for_encryption(first) || first[0] == TLS_RECORD {
                    let at = self.now();
                    send_to(&server, &first, &self.shared.target)?;
                    self.keep(Direction::ClientToServer, at, first.to_vec());
                    return Ok(Transport::Plain(server));
                }
                let server = self.postgres_server(server, config)?;
                self.start_up(first, server)
            }
        }
    }

    /// Skips the client's encryption requests, which are declined and not shown.
    fn first_but_requests(&self) -> Result<[u8; 8], LiveError> {
        let mut declined = Vec::new();
        loop {
            let mut first = [0; 8];
            self.read_client(&mut first)?;
            if !asks_for_encryption(first) {
                return Ok(first);
            }
            if declined.contains(&first) {
                return Err(self.client_left());
            }
            declined.push(first);
            self.send_client(&[encryption::NONE])?;
        }
    }

    fn postgres_server(&mut self, server: Socket, config: Arc<ClientConfig>) -> Result<Transport, LiveError> {
        let shared = self.shared;
        let (target, security) = (&shared.target, &shared.security);
        let agreed = postgres_tls(server, config, target, security, shared.clock)?;
        self.early.extend(agreed.trips.into_iter().map(Early::Asked));
        Ok(match agreed.server {
            Ok(tls) => Transport::Tls(Box::new(tls)),
            Err(plain) => Transport::Plain(plain),
        })
    }

    /// MySQL internals manual, "Connection Phase": greeting, SSLRequest, handshake response.
    fn mysql(&mut self, server: Socket, config: Arc<ClientConfig>) -> Result<TlsSocket, LiveError> {
        let mut greeting = read_packet_of(&server, &self.shared.target)?;
        let without_tls = || LiveError::ServerWithoutTls {
            server: self.shared.target.server(),
        };
        let capabilities = lower_capabilities(&mut greeting).ok_or_else(without_tls)?;
        if capabilities[1] & OFFERS_TLS == 0 {
            return Err(without_tls());
        }
        capabilities[1] &= !OFFERS_TLS;
        self.send_client(&greeting)?;
        let at = self.now();
        self.keep(Direction::ServerToClient, at, greeting);

        let mut response = self.read_client_packet()?;
        let shown = response.clone();
        let request = tls_request(&mut response).ok_or_else(|| self.client_left())?;
        send_to(&server, &request, &self.shared.target)?;
        let (mut tls, trips) = TlsSocket::begin(server, config, &self.shared.target, self.shared.clock)?;
        self.early.extend(trips.into_iter().map(Early::Asked));
        let at = self.now();
        self.send_tls(&mut tls, &response)?;
        self.keep(Direction::ClientToServer, at, shown);
        Ok(tls)
    }

    fn keep(&mut self, direction: Direction, at: Timestamp, bytes: Vec<u8>) {
        self.early.push(Early::Passed { direction, at, bytes });
    }

    fn now(&self) -> Timestamp {
        self.shared.clock.now()
    }

    fn set_patience(&self, socket: &Socket, longest: Duration) -> Result<(), LiveError> {
        socket
            .set_patience(Some(longest))
            .map_err(|reason| LiveError::System {
                operation: "set up a socket",
                reason,
            })
    }

    fn read_client(&self, bytes: &mut [u8]) -> Result<(), LiveError> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let left = self.until.saturating_duration_since(Instant::now());
            let waits = !left.is_zero() && self.client.set_patience(Some(left)).is_ok();
            let count = match self.client.stream().read(rest) {
                Ok(count @ 1..) if waits => count,
                _ => return Err(self.client_left()),
            };
            rest = rest.get_mut(count..).unwrap_or_default();
        }
        Ok(())
    }

    fn send_client(&self, bytes: &[u8]) -> Result<(), LiveError> {
        self.client
            .stream()
            .write_all(bytes)
            .map_err(|_| self.client_left())
    }

    fn send_tls(&self, tls: &mut TlsSocket, bytes: &[u8]) -> Result<(), LiveError> {
        match tls.send(bytes) {
            // A login is far smaller than a session's buffer.
            sys::socket::Sent::Bytes(count) if count == bytes.len() => Ok(()),
            sys::socket::Sent::Bytes(_) | sys::socket::Sent::Broken(_) => {
                Err(server_left(&self.shared.target))
            }
        }
    }

    fn read_client_packet(&self) -> Result<Vec<u8>, LiveError> {
        read_packet(|bytes| self.read_client(bytes))
            .and_then(|packet| packet.ok_or_else(|| self.client_left()))
    }

    fn client_left(&self) -> LiveError {
        LiveError::ClientLeft {
            server: self.shared.target.server(),
        }
    }
}

/// Reports a bad certificate before use.
pub(crate) fn probe(
    stream: TcpStream,
    config: Arc<ClientConfig>,
    target: &Target,
    security: &TlsSettings,
) -> Result<(), LiveError> {
    let clock = Clock::anchored_now();
    let system = |reason| LiveError::System {
        operation: "set up a socket",
        reason,
    };
    let server = Socket::adopt(stream).map_err(system)?;
    server.set_patience(Some(TIMEOUT)).map_err(system)?;
    let mut tls = if is_mysql(target) {
        let mut greeting = read_packet_of(&server, target)?;
        let offered = lower_capabilities(&mut greeting).is_some_and(|flags| flags[1] & OFFERS_TLS != 0);
        if !offered {
            return Err(LiveError::ServerWithoutTls {
                server: target.server(),
            });
        }
        send_to(&server, &FIRST_TLS_REQUEST, target)?;
        TlsSocket::begin(server, config, target, clock)?.0
    } else {
        let without_tls = |_| LiveError::ServerWithoutTls {
            server: target.server(),
        };
        postgres_tls(server, config, target, security, clock)?
            .server
            .map_err(without_tls)?
    };
    tls.finish();
    Ok(())
}

fn asks_for_encryption(first: [u8; 8]) -> bool {
    first == SSL_REQUEST || first == GSSENC_REQUEST
}

fn is_mysql(target: &Target) -> bool {
    target.scheme.protocol() == Protocol::Mysql
}

struct Agreed {
    /// The plain socket if the server has no TLS and the target does not insist.
    server: Result<TlsSocket, Socket>,
    trips: Vec<RelayHandshake>,
}

/// PostgreSQL manual, section 55.2.10: requests TLS, or starts with it if the target requires that.
fn postgres_tls(
    server: Socket,
    config: Arc<ClientConfig>,
    target: &Target,
    security: &TlsSettings,
    clock: Clock,
) -> Result<Agreed, LiveError> {
    let mut trips = Vec::new();
    if !security.direct {
        let asked = clock.now();
        send_to(&server, &SSL_REQUEST, target)?;
        let mut answer = [0];
        read_from(&server, &mut answer, target)?;
        trips.push(RelayHandshake::asked(
            asked,
            clock.now(),
            PerDirection::new(SSL_REQUEST.len() as u64, 1),
        ));
        match &answer {
            [encryption::TLS] => {}
            [encryption::NONE] if !security.mode.insists() => {
                return Ok(Agreed {
                    server: Err(server),
                    trips,
                });
            }
            _ => {
                return Err(LiveError::ServerWithoutTls {
                    server: target.server(),
                });
            }
        }
    }
    let (tls, handshake) = TlsSocket::begin(server, config, target, clock)?;
    trips.extend(handshake);
    Ok(Agreed {
        server: Ok(tls),
        trips,
    })
}

fn read_from(server: &Socket, bytes: &mut [u8], target: &Target) -> Result<(), LiveError> {
    server.stream().read_exact(bytes).map_err(|_| server_left(target))
}

fn send_to(server: &Socket, bytes: &[u8], target: &Target) -> Result<(), LiveError> {
    server.stream().write_all(bytes).map_err(|_| server_left(target))
}

fn read_packet_of(server: &Socket, target: &Target) -> Result<Vec<u8>, LiveError> {
    read_packet(|bytes| read_from(server, bytes, target))
        .and_then(|packet| packet.ok_or_else(|| server_left(target)))
}

fn server_left(target: &Target) -> LiveError {
    LiveError::ServerLeft {
        server: target.server(),
    }
}

/// `None` if longer than any login packet.
fn read_packet(read: impl Fn(&mut [u8]) -> Result<(), LiveError>) -> Result<Option<Vec<u8>>, LiveError> {
    let mut header = [0; 4];
    read(&mut header)?;
    let [low, middle, high, _] = header;
    let length = usize::from(low) | usize::from(middle) << 8 | usize::from(high) << 16;
    if length > MAX_LOGIN_PACKET_LEN {
        return Ok(None);
    }
    let mut packet = header.to_vec();
    packet.resize(header.len() + length, 0);
    read(packet.get_mut(header.len()..).unwrap_or_default())?;
    Ok(Some(packet))
}

/// Length 8, code 80877104.
const GSSENC_REQUEST: [u8; 8] = [0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x30];
const TLS_RECORD: u8 = 0x16;
/// Greetings and handshake responses are a few hundred bytes; connection attributes may add 64 KiB.
const MAX_LOGIN_PACKET_LEN: usize = 128 * 1024;
