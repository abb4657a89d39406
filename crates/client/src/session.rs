//! Sessions: a client's own connection to a server, connected, encrypted where the target asks for it, logged
//! in where its protocol has a login. What instruments that ask on their own (`ping`, `load`, `split`) ask
//! with.
//!
//! All bytes sent and received are shown to the same decoders that read captures, which determine when a
//! reply is complete. Round trips and bytes are counted on the socket, arrivals stamped by the kernel where
//! it does that.
//!
//! A protocol that has a login, or a query, is a file and a row of [`Dialect`]. Start reading at
//! [`Session::open`].

mod connection;
mod deadline;
mod error;
mod legs;
mod mysql;
mod opening;
#[cfg(feature = "oracle")]
pub mod oracle;
mod postgres;
mod redis;
mod reply;
mod tap;

pub use connection::{ClientConnection, PassedTraffic};
pub use deadline::Deadline;
pub use error::SessionError;
pub use reply::{Reply, ReplyProgress, Rows};
pub use sys::tcp_info::KernelFigures;

use crate::SqlProtocol;
use legs::Legs;
use model::{ConnectionId, Direction, Leg, Observer, Timestamp};
use opening::LoginContext;
use reply::Listening;
use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use sys::clock::Clock;
use sys::target::{Credentials, Scheme, Target, TlsMode};
use sys::tls;
use sys::tls::TlsSettings;
use sys::transport::Transport;
pub use tap::SessionTap;
use wire::Decoder;

/// An open session. After an error it is not to be used again: a reply may still be on its way.
pub struct Session<'a> {
    line: ClientConnection<'a>,
    decoder: Option<Box<dyn Decoder + Send>>,
    dialect: Dialect,
    legs: Legs,
    version: Option<String>,
    process: Option<u32>,
    takes_bulk: bool,
}

/// How a session is opened.
pub struct SessionOptions<'a> {
    /// How long connecting, encrypting and logging in may take together.
    pub timeout: Duration,
    /// Set to end waiting early, within a fifth of a second.
    pub stop: &'a AtomicBool,
    /// The timeline of all timestamps.
    pub clock: Clock,
    /// Where to connect instead of asking for the addresses of the target's host.
    pub address: Option<SocketAddr>,
    /// Whether to look again and again while waiting for a reply instead of sleeping: costs a processor,
    /// saves what waking up takes.
    pub spin: bool,
    /// Whether a MySQL or MariaDB server is asked to compress. What is said to it then has to be in blocks
    /// ([`crate::mysql::in_blocks`]): [`Session::exchange`] is not for such a session.
    pub compression: bool,
    /// Whether a MySQL or MariaDB server is informed that it may ask for data (`LOAD DATA LOCAL`), and a
    /// MariaDB server that rows may come in bulk (`COM_STMT_BULK_EXECUTE`). The code that sets it has to
    /// answer such a request.
    pub loading: bool,
    /// Whether a server that says nothing where it has to speak first is asked in other protocols, on
    /// connections of their own: for one session with a server, not for many at once.
    pub asks_otherwise: bool,
    /// Is shown every byte as a relay would show it, under this number.
    pub observer: Option<(ConnectionId, Box<dyn Observer + Send>)>,
}

impl<'a> SessionOptions<'a> {
    /// Ten seconds, the system's resolver, no spinning, a clock of its own.
    pub fn new(stop: &'a AtomicBool) -> Self {
        Self {
            timeout: Duration::from_secs(10),
            stop,
            clock: Clock::anchored_now(),
            address: None,
            spin: false,
            compression: false,
            loading: false,
            asks_otherwise: false,
            observer: None,
        }
    }

    /// The same for another connection to the same server; `None` if an observer watches, which sees one.
    fn again(&self) -> Option<Self> {
        self.observer.is_none().then(|| Self {
            observer: None,
            ..*self
        })
    }
}

/// What is said to a server of some protocol beyond what its decoder knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dialect {
    Sql(SqlProtocol),
    Redis,
    /// No login and no query that longwire knows.
    Other,
}

impl<'a> Session<'a> {
    /// Connects to the target, agrees on TLS where it asks for that, and logs in where its protocol has a
    /// login.
    ///
    /// # Errors
    /// Every [`SessionError`] but [`SessionError::TooLong`].
    pub fn open(target: &Target, options: SessionOptions<'a>) -> Result<Self, SessionError> {
        let security = TlsSettings::from_target(target)?;
        let deadline = Deadline::after(options.timeout);
        let again = options.again();
        // As in libpq: `allow` begins without.
        let first = match security.mode {
            TlsMode::Allow => security.with_mode(TlsMode::Disable),
            _ => security.clone(),
        };
        match (Self::attempt(target, options, &first, &deadline), again) {
            (Err(error), Some(again)) => match second(&security, &error) {
                // The error of a server that refused the first way says more than what follows.
                Some(mode) => Self::attempt(target, again, &security.with_mode(mode), &deadline)
                    .map_err(|later| if is_kept_out(&error) { error } else { later }),
                None => Err(error),
            },
            (outcome, _) => outcome,
        }
    }

    /// Opens it on one connection.
    fn attempt(
        target: &Target,
        options: SessionOptions<'a>,
        security: &TlsSettings,
        deadline: &Deadline,
    ) -> Result<Self, SessionError> {
        let tls = tls::configure(target, security)?;
        let (compression, loading) = (options.compression, options.loading);
        let asks_otherwise = options.asks_otherwise;
        let (line, legs) = opening::connect(target, options, deadline)?;
        let credentials = Credentials::from_target(target);
        let opening = LoginContext {
            user: credentials.user,
            password: credentials.password,
            ignored: credentials.ignored,
            target,
            security,
            line,
            decoder: decoder(target.scheme),
            legs,
            deadline: *deadline,
            version: None,
            process: None,
            tls,
            compression,
            loading,
            asks_otherwise,
            takes_bulk: false,
        };
        let dialect = Dialect::from_scheme(target.scheme);
        let opening = match dialect {
            Dialect::Sql(SqlProtocol::Postgres) => postgres::log_in(opening)?,
            Dialect::Sql(SqlProtocol::Mysql) => mysql::log_in(opening)?,
            Dialect::Redis => redis::log_in(opening)?,
            Dialect::Other => opening,
        };
        Ok(Self {
            line: opening.line,
            decoder: opening.decoder,
            dialect,
            legs: opening.legs,
            version: opening.version,
            process: opening.process,
            takes_bulk: opening.takes_bulk,
        })
    }

    /// Connects to the target and says nothing: for requests that need no login. TLS is not begun.
    ///
    /// # Errors
    /// As [`Session::open`], without those of the login.
    pub fn connect(target: &Target, options: SessionOptions<'a>) -> Result<Self, SessionError> {
        let deadline = Deadline::after(options.timeout);
        let (line, legs) = opening::connect(target, options, &deadline)?;
        Ok(Self {
            line,
            decoder: decoder(target.scheme),
            dialect: Dialect::Other,
            legs,
            version: None,
            process: None,
            takes_bulk: false,
        })
    }

    /// The legs of opening it, one after another: their durations sum to [`Session::opening_time`] exactly.
    pub fn legs(&self) -> &[Leg] {
        self.legs.as_slice()
    }

    /// When opening it began, and when the last byte of that had come.
    pub const fn opened(&self) -> (Timestamp, Timestamp) {
        self.legs.span()
    }

    /// How long opening it took.
    pub fn opening_time(&self) -> Duration {
        self.legs.total()
    }

    /// Sends the bytes of one request, or of several that are sent together, and waits for the complete reply
    /// to all of them. Where the protocol is not decoded, the first bytes received are taken for the reply.
    /// Data that the server asks for in the middle of it (COPY, LOCAL INFILE) is refused.
    ///
    /// # Errors
    /// [`SessionError::TimedOut`], [`SessionError::Closed`], [`SessionError::Broken`],
    /// [`SessionError::Unexpected`], [`SessionError::Stopped`]. What the server answers, errors of statements
    /// among it, is in the reply.
    pub fn exchange(&mut self, request: &[u8], timeout: Duration) -> Result<Reply, SessionError> {
        self.converse(request, timeout, Listening::default())
            .map(|(reply, _)| reply)
    }

    /// Runs the statements of `sql` in one simple query and keeps the rows of the last result.
    ///
    /// # Errors
    /// As [`Session::exchange`]; [`SessionError::TooLong`] when the reply has more than [`Rows::LIMIT`]
    /// bytes, [`SessionError::NoSql`] where there is no SQL.
    pub fn query(&mut self, sql: &str, timeout: Duration) -> Result<Rows, SessionError> {
        let protocol = self.dialect.sql().ok_or(SessionError::NoSql)?;
        let mut request = Vec::new();
        protocol.query(&mut request, |text| text.extend_from_slice(sql.as_bytes()));
        let (reply, kept) = self.converse(&request, timeout, Listening::keeping())?;
        let read = protocol.text_rows(&kept);
        Ok(Rows {
            columns: read.columns,
            rows: read.rows,
            reply,
        })
    }

    /// The server's product and version as it introduces itself.
    pub fn server_version(&self) -> Option<&str> {
        self.version.as_deref()
    }

    /// The server's own number of what serves this session: PostgreSQL's process, MySQL's and MariaDB's
    /// connection. `None` if it does not report it.
    pub const fn server_process(&self) -> Option<u32> {
        self.process
    }

    /// Whether the server takes `COM_STMT_BULK_EXECUTE` from this session: MariaDB, when
    /// [`SessionOptions::loading`] was said.
    pub const fn takes_bulk(&self) -> bool {
        self.takes_bulk
    }

    /// The server's address; `None` for a Unix-domain socket.
    pub fn server(&self) -> Option<SocketAddr> {
        self.line.transport().socket().peer().ok()
    }

    /// The kernel's own figures for the connection now; `None` for a Unix-domain socket.
    pub fn kernel(&self) -> Option<KernelFigures> {
        self.line.transport().socket().info()
    }

    /// Its connection, for code that sends requests in another way. Bytes that came with the login and were
    /// not inspected are in it.
    pub fn into_connection(self) -> ClientConnection<'a> {
        self.line
    }

    /// Its parts, for code that waits for many at once.
    pub fn take_apart(self) -> Parts {
        let (transport, tap) = self.line.into_parts();
        Parts {
            transport,
            decoder: self.decoder,
            tap,
        }
    }

    /// Takes leave, so that the server does not log a client that only hung up. Best effort.
    pub fn close(mut self) {
        let Some(protocol) = self.dialect.sql() else {
            return;
        };
        // The work is done: whether the server hears it changes nothing.
        let deadline = Deadline::after(LEAVE_WITHIN);
        self.line.send(protocol.goodbye(), &deadline).ok();
    }

    fn converse(
        &mut self,
        request: &[u8],
        timeout: Duration,
        mut listening: Listening,
    ) -> Result<(Reply, Vec<u8>), SessionError> {
        let deadline = Deadline::after(timeout);
        let before = self.line.passed();
        let sent_at = self.send_request(request, &deadline, &mut listening)?;
        while !listening.is_over() {
            let came = self.line.receive(&deadline)?;
            if came.is_empty() {
                return listening.ended(self.decoder.as_deref_mut(), sent_at, before, &self.line);
            }
            listening.came(self.decoder.as_deref_mut(), came)?;
            listening.stamp(self.line.arrived());
            if listening.is_asked_for_data() {
                let refusal = self.dialect.sql().map_or(&b""[..], SqlProtocol::refusal);
                self.send_request(refusal, &deadline, &mut listening)?;
                listening.goes_on();
            }
        }
        Ok(listening.reply(sent_at, before, &self.line))
    }

    fn send_request(
        &mut self,
        bytes: &[u8],
        deadline: &Deadline,
        listening: &mut Listening,
    ) -> Result<Timestamp, SessionError> {
        let at = self.line.send(bytes, deadline)?;
        if let Some(decoder) = &mut self.decoder {
            decoder.feed(at, Direction::ClientToServer, bytes, &mut |message| {
                listening.said(&message);
            })?;
        }
        Ok(at)
    }
}

/// What a session consists of, for an event loop.
pub struct Parts {
    /// Plain or encrypted.
    pub transport: Transport,
    /// It has seen the login; `None` if the protocol is not decoded.
    pub decoder: Option<Box<dyn Decoder + Send>>,
    /// Tells the observer of the session, where there is one.
    pub tap: Option<SessionTap>,
}

impl Dialect {
    const fn from_scheme(scheme: Scheme) -> Self {
        match (scheme, SqlProtocol::from_scheme(scheme)) {
            (_, Some(protocol)) => Self::Sql(protocol),
            (Scheme::Redis, None) => Self::Redis,
            (_, None) => Self::Other,
        }
    }

    const fn sql(self) -> Option<SqlProtocol> {
        match self {
            Self::Sql(protocol) => Some(protocol),
            Self::Redis | Self::Other => None,
        }
    }
}

/// How a connection is tried that failed for `error`, where libpq would try again: `prefer` without TLS when
/// that could not be agreed on, or the server accepts no login with it; `allow` with TLS when it accepts none
/// without.
fn second(security: &TlsSettings, error: &SessionError) -> Option<TlsMode> {
    let kept_out = is_kept_out(error);
    let without_tls = matches!(error, SessionError::Connect(error) if error.is_about_tls());
    match security.mode {
        TlsMode::Prefer if kept_out || without_tls => Some(TlsMode::Disable),
        TlsMode::Allow if kept_out => Some(TlsMode::Require),
        _ => None,
    }
}

fn is_kept_out(error: &SessionError) -> bool {
    matches!(error, SessionError::Login { code, .. } if code == NOT_LET_IN)
}

/// The SQLSTATE of a server whose pg_hba.conf has no line for such a connection.
const NOT_LET_IN: &str = "28000";

/// A decoder for the scheme's protocol, where there is one.
fn decoder(scheme: Scheme) -> Option<Box<dyn Decoder + Send>> {
    let protocol = scheme.protocol();
    let row = wire::PROTOCOLS.iter().find(|row| row.protocol == protocol)?;
    Some((row.decoder)([&[], &[]]))
}

const LEAVE_WITHIN: Duration = Duration::from_millis(200);
