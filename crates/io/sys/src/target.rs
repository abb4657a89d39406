//! TARGET of the command line: a server, in a form that can be given to another program.
//!
//! Accepts a URL (`postgres://user:password@host:port/database?sslmode=require`), a `jdbc:` URL,
//! and libpq's `key=value` string. The text is kept in parts, so that [`Target::url_through`]
//! changes only host, port and TLS.

mod conninfo;
pub mod credentials;
mod fault;
mod scheme;
mod security;
mod url;

pub use credentials::Credentials;
pub use fault::TargetError;
pub use scheme::Scheme;
pub use security::{ChannelBinding, SecurityAsked, TlsMode};

use model::{Endpoint, Protocol};
use security::Words;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    pub scheme: Scheme,
    /// An IPv6 address has no brackets.
    pub host: String,
    pub port: u16,
    pub socket: Option<PathBuf>,
    pub user: Option<String>,
    pub password: Option<Secret>,
    /// For `http://`, the path without its first slash.
    pub database: Option<String>,
    /// If it is not the host (`host` next to `hostaddr`).
    pub certificate_name: Option<String>,
    /// [`crate::TlsSettings::from_target`] interprets it.
    pub security: SecurityAsked,
    /// Whether to accept a MySQL server's password encryption key over a plain connection
    /// (`allowPublicKeyRetrieval`, `get-server-public-key`): an attacker in the path could send
    /// another.
    pub public_key_retrieval: bool,
    /// Whether `load` requests compression from MySQL or MariaDB (`compress`, `useCompression`):
    /// zlib, at the server's level.
    pub compression: bool,
    spelling: Spelling,
}

/// The displayed text is `***`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("***")
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientTls {
    Own,
    /// Disabled, since longwire encrypts in its stead. Only an existing parameter is changed,
    /// because a program might not know a new one; except in `jdbc:` URLs.
    LeftOut,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Spelling {
    Url(url::UrlParts),
    Conninfo(conninfo::Pairs),
}

impl Target {
    /// Parses a URL, a `jdbc:` URL or a libpq `key=value` string.
    ///
    /// # Errors
    /// If the text is none of these, names an unknown scheme, or lacks a usable host and port. The
    /// error never repeats text that may hold a password.
    pub fn parse(text: &str) -> Result<Self, TargetError> {
        let text = text.trim();
        if text.contains("://") || text.starts_with("jdbc:") {
            Self::from_url(text)
        } else if text.contains('=') {
            Self::from_conninfo(text)
        } else {
            Err(TargetError::NotATarget)
        }
    }

    /// `host` is a name or an address without brackets.
    pub fn tcp(host: &str, port: u16) -> Self {
        let spelling = Spelling::Url(url::UrlParts::tcp(host, port));
        Self::without_login(Scheme::TCP, host.to_owned(), port, spelling)
    }

    /// An IPv6 address may have brackets or none. The default port is `usual`.
    ///
    /// # Errors
    /// If there is no usable host and port.
    pub fn tcp_at(address: &str, usual: u16) -> Result<Self, TargetError> {
        Self::from_url(&format!("tcp://{}", with_port(address, usual)))
    }

    /// The name in messages: `host:port`, with brackets around an IPv6 address, or the path of the
    /// socket.
    pub fn server(&self) -> String {
        match &self.socket {
            Some(path) => path.display().to_string(),
            None => url::host_and_port(&self.host, self.port),
        }
    }

    /// The text has the same spelling, and contains the password.
    pub fn url_through(&self, endpoint: Endpoint, tls: ClientTls) -> String {
        match &self.spelling {
            Spelling::Url(parts) => parts.through(self.scheme, &endpoint.to_string(), tls),
            Spelling::Conninfo(pairs) => pairs.through(endpoint, tls),
        }
    }

    /// Sets or removes a parameter of the application's driver. The name is case-sensitive, as in
    /// drivers.
    ///
    /// # Errors
    /// If the parameter is about the route to the server, which is longwire's.
    pub fn with_parameter(&self, name: &str, value: Option<&str>) -> Result<Self, TargetError> {
        if url::is_about_route(name) || security::is_about_security(name) {
            return Err(TargetError::ParameterOfRoute {
                name: name.to_owned(),
            });
        }
        let spelling = match &self.spelling {
            Spelling::Url(parts) => Spelling::Url(parts.with_parameter(name, value)),
            Spelling::Conninfo(pairs) => Spelling::Conninfo(pairs.with_pair(name, value)),
        };
        Ok(Self {
            spelling,
            ..self.clone()
        })
    }

    fn without_login(scheme: Scheme, host: String, port: u16, spelling: Spelling) -> Self {
        Self {
            scheme,
            host,
            port,
            socket: None,
            user: None,
            password: None,
            database: None,
            certificate_name: None,
            security: SecurityAsked::default(),
            public_key_retrieval: false,
            compression: false,
            spelling,
        }
    }

    fn from_url(text: &str) -> Result<Self, TargetError> {
        let parts = url::UrlParts::split(text)?;
        let (scheme, usual_port) = Scheme::named(&parts.scheme, parts.jdbc)?;
        let (host, port) = parts.host_and_port()?;
        let (user, password) = parts.credentials()?;
        let host = match host.is_empty() {
            true => scheme.default_host()?.to_owned(),
            false => host,
        };
        let no_port = TargetError::NoPort {
            scheme: scheme.name(),
        };
        let port = port.or(usual_port).ok_or(no_port)?;
        let mut target = Self {
            user,
            password: password.map(Secret),
            database: parts.database()?,
            ..Self::without_login(scheme, host, port, Spelling::Url(parts.clone()))
        };
        for (name, value) in parts.parameters()? {
            target.set(&name, value, parts.jdbc)?;
        }
        target.find_socket()?;
        Ok(target)
    }

    fn from_conninfo(text: &str) -> Result<Self, TargetError> {
        let pairs = conninfo::Pairs::split(text)?;
        let spelling = Spelling::Conninfo(pairs.clone());
        let scheme = Scheme::from_protocol(Protocol::Postgres);
        let port = Protocol::default_port(scheme.name()).unwrap_or_default();
        let mut target = Self::without_login(scheme, "localhost".to_owned(), port, spelling);
        for (name, value) in pairs.iter() {
            target.set(name, value.to_owned(), false)?;
        }
        if let Some(address) = pairs.get("hostaddr") {
            target.certificate_name = pairs.get("host").map(str::to_owned);
            target.set("host", address.to_owned(), false)?;
        }
        target.find_socket()?;
        Ok(target)
    }

    /// Unknown parameters are ignored.
    fn set(&mut self, name: &str, value: String, jdbc: bool) -> Result<(), TargetError> {
        if self.security.set(name, &value, self.words(jdbc))? {
            return Ok(());
        }
        match name.to_ascii_lowercase().replace(['-', '_'], "").as_str() {
            "host" if !value.is_empty() => self.host = url::single_host(&value)?.to_owned(),
            "socket" | "unixsocket" | "localsocket" if self.has_named_socket() && !value.is_empty() => {
                self.socket = Some(PathBuf::from(value));
            }
            "port" if !value.is_empty() => self.port = url::port(&value)?,
            "user" => self.user = Some(value),
            "password" => self.password = Some(Secret(value)),
            "dbname" => self.database = Some(value),
            "allowpublickeyretrieval" | "getserverpublickey" => {
                self.public_key_retrieval = security::is_true(&value)
            }
            "compress" | "usecompression" => self.compression = security::is_true(&value),
            _ => {}
        }
        Ok(())
    }

    const fn words(&self, jdbc: bool) -> Words {
        match self.scheme.protocol() {
            Protocol::Postgres if jdbc => Words::PostgresJdbc,
            Protocol::Postgres => Words::Postgres,
            Protocol::Mysql => Words::Mysql,
            _ => Words::Other,
        }
    }

    /// For PostgreSQL the host is its directory.
    const fn has_named_socket(&self) -> bool {
        matches!(self.scheme.protocol(), Protocol::Mysql | Protocol::Redis)
    }

    /// A host that is a directory holds a socket named after the port (PostgreSQL manual, section
    /// 34.1.2).
    fn find_socket(&mut self) -> Result<(), TargetError> {
        if !self.host.starts_with('/') {
            return Ok(());
        }
        if self.scheme.protocol() != Protocol::Postgres {
            return Err(TargetError::NoSocket {
                scheme: self.scheme.name(),
            });
        }
        let directory = std::mem::replace(&mut self.host, "localhost".to_owned());
        self.socket = Some(PathBuf::from(directory).join(format!(".s.PGSQL.{}", self.port)));
        Ok(())
    }
}

impl From<SocketAddr> for Target {
    fn from(address: SocketAddr) -> Self {
        Self::tcp(&address.ip().to_string(), address.port())
    }
}

/// The default port is `usual`. An IPv6 address may have brackets or none.
pub fn with_port(address: &str, usual: u16) -> String {
    match address.parse::<IpAddr>() {
        Ok(host) => SocketAddr::from((host, usual)).to_string(),
        Err(_) if address.contains(':') && !address.ends_with(']') => address.to_owned(),
        Err(_) => format!("{address}:{usual}"),
    }
}

/// In URL form, without the password.
impl fmt::Display for Target {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}://", self.scheme.name())?;
        if let Some(user) = &self.user {
            write!(formatter, "{user}@")?;
        }
        if self.socket.is_none() {
            formatter.write_str(&self.server())?;
        }
        if let Some(database) = &self.database {
            write!(formatter, "/{database}")?;
        }
        match &self.socket {
            None => Ok(()),
            Some(path) if self.has_named_socket() => write!(formatter, "?socket={}", path.display()),
            Some(path) => {
                let directory = path.parent().unwrap_or(path);
                write!(formatter, "?host={}", directory.display())
            }
        }
    }
}

#[cfg(test)]
mod tests;
