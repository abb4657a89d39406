//! Client sessions: connected, encrypted if the target requires it, and logged in if the protocol
//! has a login. Instruments with their own connections (`ping`, `load`, `split`) use them.
//!
//! All bytes go through the decoders that also read captures, which detect complete replies. Round
//! trips and bytes are counted on the socket; arrivals have the kernel's time stamps if available.
//!
//! A protocol with a login or a query is a file and a row of [`Dialect`]. Start reading at
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
use model::{ConnectionId, Direction, Leg, Observer, PerDirection, Protocol, Timestamp};
use opening::LoginContext;
use reply::Listening;
use std::net::SocketAddr;
use std::time::Duration;
use sys::StopToken;
use sys::clock::Clock;
use sys::target::{Credentials, Scheme, Target, TlsMode};
use sys::tls;
use sys::tls::TlsSettings;
use sys::transport::Transport;
pub use tap::SessionTap;
use wire::Decoder;

/// An open session. Do not use it after an error: a reply may still be in flight.
pub struct Session<'a> {
    line: ClientConnection<'a>,
    decoder: Option<Box<dyn Decoder + Send>>,
    dialect: Dialect,
    legs: Legs,
    version: Option<String>,
    process: Option<u32>,
    takes_bulk: bool,
}

pub struct SessionOptions<'a> {
    /// For connecting, encrypting and logging in together.
    pub timeout: Duration,
    /// Ends waiting within a fifth of a second if set.
    pub stop: &'a StopToken,
    pub clock: Clock,
    /// Replaces name resolution of the target's host.
    pub address: Option<SocketAddr>,
    /// Polls for a reply instead of sleeping: uses a whole processor, and saves the wake-up time.
    pub spin: bool,
    /// Requests compression of a MySQL or MariaDB server. Requests must then be in blocks
    /// ([`crate::mysql::in_blocks`]), so [`Session::exchange`] cannot be used.
    pub compression: bool,
    /// Offers a MySQL or MariaDB server to send data on request (`LOAD DATA LOCAL`), and a MariaDB
    /// server rows in bulk (`COM_STMT_BULK_EXECUTE`). The caller must answer these requests.
    pub loading: bool,
    /// If a server that should speak first stays silent, tries other protocols on separate
    /// connections. For a single session, not for many at once.
    pub asks_otherwise: bool,
    /// Receives every byte, as from a relay, under this number.
    pub observer: Option<(ConnectionId, Box<dyn Observer + Send>)>,
}

impl<'a> SessionOptions<'a> {
    /// Ten seconds, the system's resolver, no spinning, a new clock.
    pub fn new(stop: &'a StopToken) -> Self {
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

    /// Options for another connection to the same server; `None` with an observer, which sees one
    /// connection.
    fn again(&self) -> Option<Self> {
        self.observer.is_none().then(|| Self {
            observer: None,
            ..*self
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dialect {
    Sql(SqlProtocol),
    Redis,
    Other,
}

impl<'a> Session<'a> {
    /// Connects to the target, agrees on TLS if the target requires it, and logs in if the protocol
    /// has a login.
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
                // A refusal of the first attempt is more useful than a later error.
                Some(mode) => Self::attempt(target, again, &security.with_mode(mode), &deadline)
                    .map_err(|later| if is_kept_out(&error) { error } else { later }),
                None => Err(error),
            },
            (outcome, _) => outcome,
        }
    }

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

    /// Connects to the target without sending anything, for requests that need no login. TLS is not
    /// begun.
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

    /// Legs of opening the session. Their durations sum to [`Session::opening_time`] exactly.
    pub fn legs(&self) -> &[Leg] {
        self.legs.as_slice()
    }

    /// Start of opening, and arrival of its last byte.
    pub const fn opened(&self) -> (Timestamp, Timestamp) {
        self.legs.span()
    }

    pub fn opening_time(&self) -> Duration {
        self.legs.total()
    }

    /// Sends requests together and waits for the complete reply to all of them. Without a decoder,
    /// the first bytes received count as the reply. Refuses to send data that the server requests
    /// meanwhile (COPY, LOCAL INFILE).
    ///
    /// # Errors
    /// [`SessionError::TimedOut`], [`SessionError::Closed`], [`SessionError::Broken`],
    /// [`SessionError::Unexpected`], [`SessionError::Stopped`]. Errors of statements are in the
    /// reply.
    pub fn exchange(&mut self, request: &[u8], timeout: Duration) -> Result<Reply, SessionError> {
        self.converse(request, timeout, Listening::default())
            .map(|(reply, _)| reply)
    }

    /// Runs the statements of `sql` in one simple query and keeps the rows of the last result.
    ///
    /// # Errors
    /// As [`Session::exchange`]; [`SessionError::TooLong`] if the reply has more than
    /// [`Rows::LIMIT`] bytes, [`SessionError::NoSql`] if the protocol has no SQL.
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

    pub fn server_version(&self) -> Option<&str> {
        self.version.as_deref()
    }

    /// PostgreSQL's process number, or MySQL's and MariaDB's connection number. `None` if not
    /// reported.
    pub const fn server_process(&self) -> Option<u32> {
        self.process
    }

    /// Whether the server accepts `COM_STMT_BULK_EXECUTE`: MariaDB with
    /// [`SessionOptions::loading`].
    pub const fn takes_bulk(&self) -> bool {
        self.takes_bulk
    }

    /// `None` for a Unix-domain socket.
    pub fn server(&self) -> Option<SocketAddr> {
        self.line.transport().socket().peer().ok()
    }

    pub fn is_encrypted(&self) -> bool {
        matches!(self.line.transport(), Transport::Tls(_))
    }

    /// Current figures of the kernel for the connection; `None` for a Unix-domain socket.
    pub fn kernel(&self) -> Option<KernelFigures> {
        self.line.transport().socket().info()
    }

    /// The connection, for code that sends requests directly. It holds uninspected bytes that came
    /// with the login.
    pub fn into_connection(self) -> ClientConnection<'a> {
        self.line
    }

    pub fn take_apart(self) -> Parts {
        let (transport, tap) = self.line.into_parts();
        Parts {
            transport,
            decoder: self.decoder,
            tap,
        }
    }

    /// Sends a goodbye, since servers log clients that only hang up. Best effort.
    pub fn close(mut self) {
        let Some(protocol) = self.dialect.sql() else {
            return;
        };
        // The work is done, so errors do not matter.
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
                listening.said(message);
            })?;
        }
        Ok(at)
    }
}

pub struct Parts {
    pub transport: Transport,
    /// It has seen the login; `None` without a decoder for the protocol.
    pub decoder: Option<Box<dyn Decoder + Send>>,
    pub tap: Option<SessionTap>,
}

impl Dialect {
    const fn from_scheme(scheme: Scheme) -> Self {
        match (scheme.protocol(), SqlProtocol::from_scheme(scheme)) {
            (_, Some(protocol)) => Self::Sql(protocol),
            (Protocol::Redis, None) => Self::Redis,
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

/// Second attempt after `error`, as in libpq: `prefer` without TLS if TLS failed or the server
/// rejects logins over it; `allow` with TLS if the server rejects logins without it.
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

/// The SQLSTATE of a server without a matching line in pg_hba.conf.
const NOT_LET_IN: &str = "28000";

fn decoder(scheme: Scheme) -> Option<Box<dyn Decoder + Send>> {
    let protocol = scheme.protocol();
    let row = wire::PROTOCOLS.iter().find(|row| row.protocol == protocol)?;
    Some((row.decoder)(PerDirection::default()))
}

const LEAVE_WITHIN: Duration = Duration::from_millis(200);
