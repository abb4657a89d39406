//! TARGET of the command line: which server is meant, and how to pass that on to another program.
//!
//! Three spellings are read: a URL (`postgres://user:password@host:port/database?sslmode=require`), a `jdbc:`
//! URL, and libpq's `key=value` string. The text is kept in parts, so that [`Target::url_through`] can give
//! an application the same target with only host, port and TLS changed.

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

use model::Endpoint;
use security::Words;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

/// Which server is meant. Neither `Debug` nor `Display` shows the password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// What the server speaks.
    pub scheme: Scheme,
    /// Name or address, without the brackets of an IPv6 address.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// The Unix-domain socket to connect to instead of host and port.
    pub socket: Option<PathBuf>,
    /// Who logs in.
    pub user: Option<String>,
    /// With what.
    pub password: Option<Secret>,
    /// The database, or the path of an `http://` URL without its first slash.
    pub database: Option<String>,
    /// The name that the server's certificate is to be for, where it is not the host (`host` next to
    /// `hostaddr`).
    pub certificate_name: Option<String>,
    /// What the target says about TLS: [`crate::TlsSettings::from_target`] determines what is meant.
    pub security: SecurityAsked,
    /// Whether a MySQL server may be asked for the key that the password is encrypted with where the
    /// connection is not (`allowPublicKeyRetrieval`, `get-server-public-key`): an attacker in between could
    /// send its own.
    pub public_key_retrieval: bool,
    /// Whether a MySQL or MariaDB server is asked to compress (`compress`, `useCompression`): zlib, by the
    /// server's own choice of level. `load` does; other instruments ask plainly whatever it says.
    pub compression: bool,
    spelling: Spelling,
}

/// A password. Shown as `***`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Keeps `text` from being shown.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The password itself, for a login and nothing else.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("***")
    }
}

/// What an application learns about TLS from the target that it is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientTls {
    /// What the target says itself: nothing, where it says nothing.
    Own,
    /// That it is to do without, since longwire encrypts in its stead. Nothing is added that a program might
    /// not know: only a parameter that was there is changed, but in `jdbc:` URLs, whose drivers read nothing
    /// else.
    LeftOut,
}

/// How the target was written: what [`Target::url_through`] writes back.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Spelling {
    Url(url::UrlParts),
    Conninfo(conninfo::Pairs),
}

impl Target {
    /// Reads a URL, a `jdbc:` URL or a libpq `key=value` string.
    ///
    /// # Errors
    /// When the text is none of these, names an unknown scheme, or has no usable host and port. The error
    /// never repeats a part of the text that may hold a password.
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

    /// A server that is reached over TCP, whatever protocol it speaks: there is no login. `host` is a name or
    /// an address, without brackets.
    pub fn tcp(host: &str, port: u16) -> Self {
        let spelling = Spelling::Url(url::UrlParts::tcp(host, port));
        Self::without_login(Scheme::Tcp, host.to_owned(), port, spelling)
    }

    /// The same of `HOST` or `HOST:PORT`, an IPv6 address with brackets or without; without a port it is the
    /// `usual` one.
    ///
    /// # Errors
    /// When there is no usable host and port in it.
    pub fn tcp_at(address: &str, usual: u16) -> Result<Self, TargetError> {
        Self::from_url(&format!("tcp://{}", with_port(address, usual)))
    }

    /// `host:port`, with brackets around an IPv6 address, or the path of the socket: how messages name the
    /// server.
    pub fn server(&self) -> String {
        match &self.socket {
            Some(path) => path.display().to_string(),
            None => url::host_and_port(&self.host, self.port),
        }
    }

    /// The same target in the same spelling, pointing at `endpoint` instead: what an application is given.
    /// User, password, database and parameters are kept, so the text is as secret as the target.
    pub fn url_through(&self, endpoint: Endpoint, tls: ClientTls) -> String {
        match &self.spelling {
            Spelling::Url(parts) => parts.through(self.scheme, &endpoint.to_string(), tls),
            Spelling::Conninfo(pairs) => pairs.through(endpoint, tls),
        }
    }

    /// The same target with one parameter for the application's driver set; without a value it is left out.
    /// What longwire itself does with the target stays. The name is taken as it is: drivers distinguish upper
    /// and lower case.
    ///
    /// # Errors
    /// When the parameter is about the way to the server, which is longwire's.
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

    /// Nothing but where it is.
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
        let scheme = Scheme::named(&parts.scheme, parts.jdbc)?;
        let (host, port) = parts.host_and_port()?;
        let (user, password) = parts.credentials()?;
        let host = match host.is_empty() {
            true => scheme.default_host()?.to_owned(),
            false => host,
        };
        let no_port = TargetError::NoPort {
            scheme: scheme.name(),
        };
        let port = port.or_else(|| scheme.port_of(&parts.scheme)).ok_or(no_port)?;
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
        let mut target = Self::without_login(Scheme::Postgres, "localhost".to_owned(), 5432, spelling);
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

    /// One parameter of a URL's query or of a conninfo string. Those that do not concern longwire are left
    /// alone.
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

    /// Whose parameters about TLS it has.
    const fn words(&self, jdbc: bool) -> Words {
        match self.scheme {
            Scheme::Postgres | Scheme::Kingbase if jdbc => Words::PostgresJdbc,
            Scheme::Postgres | Scheme::Kingbase => Words::Postgres,
            Scheme::Mysql | Scheme::Mariadb => Words::Mysql,
            _ => Words::Other,
        }
    }

    /// Whether a parameter names the socket itself. In PostgreSQL's world the host is its directory.
    const fn has_named_socket(&self) -> bool {
        matches!(self.scheme, Scheme::Mysql | Scheme::Mariadb | Scheme::Redis)
    }

    /// A host that is a directory holds the server's socket, named for its port (PostgreSQL manual, section
    /// 34.1.2).
    fn find_socket(&mut self) -> Result<(), TargetError> {
        if !self.host.starts_with('/') {
            return Ok(());
        }
        if !matches!(self.scheme, Scheme::Postgres | Scheme::Kingbase) {
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

/// `HOST:PORT` of `HOST` or `HOST:PORT`, an IPv6 address with brackets or without; without a port it is the
/// `usual` one.
pub fn with_port(address: &str, usual: u16) -> String {
    match address.parse::<IpAddr>() {
        Ok(host) => SocketAddr::from((host, usual)).to_string(),
        Err(_) if address.contains(':') && !address.ends_with(']') => address.to_owned(),
        Err(_) => format!("{address}:{usual}"),
    }
}

/// The target without its password, in URL form whatever its spelling.
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
