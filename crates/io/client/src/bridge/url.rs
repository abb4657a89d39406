//! JDBC URLs of the drivers: position of host and port, and secret parts.

use super::BridgeError;
use model::Protocol;
use std::fmt;
use std::net::SocketAddr;
use std::ops::Range;
use sys::target::Target;

/// A JDBC URL in the driver's form. `Debug` and `Display` show neither user, password nor any
/// parameter.
#[derive(Clone, PartialEq, Eq)]
pub struct JdbcUrl {
    text: String,
    dialect: JdbcDialect,
    place: Option<AddressSpan>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct AddressSpan {
    range: Range<usize>,
    host: String,
    port: u16,
    /// Whether the replaced text is `(HOST=..)(PORT=..)` instead of `host:port`.
    descriptor: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JdbcDialect {
    /// `jdbc:postgresql:`, and relatives of its driver.
    Postgres,
    Kingbase,
    Mysql,
    Mariadb,
    Derby,
    Oracle,
    Informix,
    Db2,
    SqlServer,
    Other,
}

impl JdbcUrl {
    /// Reads `jdbc:...`. The rest is left to the driver, except for host and port.
    ///
    /// # Errors
    /// [`BridgeError::NotJdbc`] if it does not begin with `jdbc:`.
    pub fn parse(text: &str) -> Result<Self, BridgeError> {
        let text = text.trim();
        let subprotocol = text
            .strip_prefix("jdbc:")
            .and_then(|rest| rest.split_once(':'))
            .map(|(name, _)| name)
            .filter(|name| !name.is_empty())
            .ok_or(BridgeError::NotJdbc)?;
        let dialect = JdbcDialect::named(subprotocol);
        Ok(Self {
            place: address_span(text, dialect),
            text: text.to_owned(),
            dialect,
        })
    }

    pub const fn dialect(&self) -> JdbcDialect {
        self.dialect
    }

    /// Host and port, by default the driver's port; `None` if the URL has no host.
    pub fn server(&self) -> Option<(&str, u16)> {
        self.place.as_ref().map(|place| (place.host.as_str(), place.port))
    }

    /// `host:port` for messages, with brackets around an IPv6 address; the whole shown URL without
    /// a host.
    pub fn server_text(&self) -> String {
        match self.server() {
            Some((host, port)) if host.contains(':') => format!("[{host}]:{port}"),
            Some((host, port)) => format!("{host}:{port}"),
            None => self.to_string(),
        }
    }

    /// Replaces host and port by `address`.
    ///
    /// # Errors
    /// [`BridgeError::NoPlace`] if the URL has no host and port.
    pub fn through(&self, address: SocketAddr) -> Result<Self, BridgeError> {
        let place = self.place.as_ref().ok_or_else(|| BridgeError::NoPlace {
            url: self.to_string(),
        })?;
        let written = match place.descriptor {
            true => format!("(HOST={})(PORT={})", address.ip(), address.port()),
            false => address.to_string(),
        };
        let mut text = self.text.clone();
        text.replace_range(place.range.clone(), &written);
        Self::parse(&text)
    }

    /// Replaces a parameter in the URL; `None` if it is missing there, and should become a
    /// property.
    pub fn with(&self, name: &str, value: &str) -> Option<Self> {
        let range = self
            .parameters()
            .find(|(found, _)| found.eq_ignore_ascii_case(name))?
            .1;
        let mut text = self.text.clone();
        text.replace_range(range, value);
        Self::parse(&text).ok()
    }

    pub fn parameter(&self, name: &str) -> Option<&str> {
        let range = self
            .parameters()
            .find(|(found, _)| found.eq_ignore_ascii_case(name))?
            .1;
        self.text.get(range)
    }

    pub fn has_user(&self) -> bool {
        self.parameter("user").is_some() || self.userinfo().is_some_and(|info| !info.is_empty())
    }

    pub fn has_password(&self) -> bool {
        self.parameter("password").is_some() || self.userinfo().is_some_and(|info| info.contains([':', '/']))
    }

    /// The server as a target of longwire, with any protocol.
    ///
    /// # Errors
    /// [`BridgeError::NoPlace`] if the URL has no host and port.
    pub fn target(&self) -> Result<Target, BridgeError> {
        let server = self
            .server()
            .and_then(|(_, port)| Target::tcp_at(&self.server_text(), port).ok());
        server.ok_or_else(|| BridgeError::NoPlace {
            url: self.to_string(),
        })
    }

    pub(super) fn reveal(&self) -> &str {
        &self.text
    }

    /// Texts that error messages must not repeat: the URL, its user information, and values of
    /// parameters except plain words.
    pub(super) fn secrets(&self) -> Vec<String> {
        let mut secrets = vec![self.text.clone()];
        secrets.extend(
            self.userinfo()
                .and_then(|info| info.split_once([':', '/']))
                .map(|(_, password)| password.to_owned()),
        );
        let parameters = self.parameters().filter(|(name, _)| is_secret(name));
        secrets.extend(
            parameters
                .filter_map(|(_, range)| self.text.get(range))
                .map(str::to_owned),
        );
        secrets
    }

    /// `user:password` or Oracle's `user/password`, in front of an `@`.
    fn userinfo(&self) -> Option<&str> {
        let before = match &self.place {
            Some(place) => self.text.get(..place.range.start)?,
            None => &self.text,
        };
        let before = before.rsplit_once('@')?.0;
        let begins = before
            .rfind("//")
            .map(|at| at + 2)
            .or_else(|| before.rfind(':').map(|at| at + 1));
        match self.dialect {
            JdbcDialect::Oracle => before
                .strip_prefix("jdbc:oracle:thin:")
                .or_else(|| before.strip_prefix("jdbc:oracle:oci:")),
            _ => before.get(begins?..),
        }
    }

    /// Parameters `name=value`, with the range of the value.
    fn parameters(&self) -> impl Iterator<Item = (&str, Range<usize>)> {
        let from = self.place.as_ref().map_or("jdbc:".len(), |place| place.range.end);
        let rest = self.text.get(from..).unwrap_or_default();
        let mut at = from;
        let parts = rest.split_inclusive(['?', '&', ';', ':']);
        parts.filter_map(move |part| {
            let begin = at;
            at += part.len();
            let part = part.trim_end_matches(['?', '&', ';', ':']);
            let (name, value) = part.split_once('=')?;
            let value_at = begin + name.len() + 1;
            Some((name, value_at..value_at + value.len()))
        })
    }
}

impl JdbcDialect {
    fn named(subprotocol: &str) -> Self {
        match subprotocol {
            "postgresql" => Self::Postgres,
            "kingbase8" | "kingbase" => Self::Kingbase,
            "mysql" => Self::Mysql,
            "mariadb" => Self::Mariadb,
            "derby" => Self::Derby,
            "oracle" => Self::Oracle,
            "informix-sqli" => Self::Informix,
            "db2" => Self::Db2,
            "sqlserver" => Self::SqlServer,
            _ => Self::Other,
        }
    }

    fn port(self) -> Option<u16> {
        Protocol::default_port(match self {
            Self::Postgres => "postgres",
            Self::Kingbase => "kingbase",
            Self::Mysql | Self::Mariadb => "mysql",
            Self::Derby => "derby",
            Self::Oracle => "oracle",
            Self::Informix => "informix",
            Self::Db2 => "db2",
            Self::SqlServer => "sqlserver",
            Self::Other => return None,
        })
    }

    pub(super) fn code(self, code: &str) -> String {
        let number = code
            .rsplit('/')
            .next()
            .and_then(|number| number.parse::<u32>().ok());
        match (self, number) {
            (Self::Oracle, Some(number)) if code.contains('/') => format!("ORA-{number:05}"),
            (Self::Oracle, Some(number)) if number > 0 => format!("ORA-{number:05}"),
            _ => code.to_owned(),
        }
    }

    pub const fn least_statement(self) -> &'static str {
        match self {
            Self::Postgres | Self::Kingbase | Self::Mysql | Self::Mariadb | Self::SqlServer | Self::Other => {
                "select 1"
            }
            Self::Derby => "values 1",
            Self::Oracle => "select 1 from dual",
            Self::Informix => "select first 1 1 from systables",
            Self::Db2 => "select 1 from sysibm.sysdummy1",
        }
    }
}

impl fmt::Display for JdbcUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let subprotocol = self.text.split(':').nth(1).unwrap_or_default();
        let Some(place) = &self.place else {
            // The rest may be anything, including a file's name or a password.
            return write!(formatter, "jdbc:{subprotocol}:...");
        };
        let host = match place.host.contains(':') {
            true => format!("[{}]", place.host),
            false => place.host.clone(),
        };
        let after = self.text.get(place.range.end..).unwrap_or_default();
        let end = match self.dialect {
            // The service or SID; nothing of a descriptor.
            JdbcDialect::Oracle => after.find(['?', ')']),
            _ => after.find(['?', ';', ':']),
        };
        let database = after.get(..end.unwrap_or(after.len())).unwrap_or_default();
        let scheme = match self.dialect {
            JdbcDialect::Oracle => "jdbc:oracle:thin:@".to_owned(),
            _ => format!("jdbc:{subprotocol}://"),
        };
        write!(formatter, "{scheme}{host}:{}{database}", place.port)
    }
}

impl fmt::Debug for JdbcUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

pub(super) fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["pass", "pwd", "secret", "key", "token"]
        .iter()
        .any(|word| name.contains(word))
}

fn address_span(text: &str, dialect: JdbcDialect) -> Option<AddressSpan> {
    if dialect == JdbcDialect::Oracle {
        return oracle_place(text);
    }
    let begin = text.find("//")? + 2;
    let rest = text.get(begin..)?;
    let end = rest.find(['/', '?', ';']).unwrap_or(rest.len());
    let authority = rest.get(..end)?;
    // One relay cannot replace several hosts.
    if authority.contains(',') || authority.contains('(') {
        return None;
    }
    let skipped = authority.rfind('@').map_or(0, |at| at + 1);
    let authority = authority.get(skipped..)?;
    let from = begin + skipped;
    host_and_port(authority, from, dialect)
}

/// Oracle's `@host:port:sid`, `@//host:port/service`, `@host:port/service` and
/// `@(DESCRIPTION=...)`.
fn oracle_place(text: &str) -> Option<AddressSpan> {
    let at = text.find('@')? + 1;
    // A password may hold an `@` too: the last one before the descriptor or the end counts.
    let at = text.rfind('@').map_or(at, |last| last + 1);
    let rest = text.get(at..)?;
    if rest.starts_with('(') {
        return descriptor_place(text, at);
    }
    let skipped = rest.len()
        - rest
            .trim_start_matches("tcp:")
            .trim_start_matches("tcps:")
            .trim_start_matches('/')
            .len();
    let from = at + skipped;
    let rest = text.get(from..)?;
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let authority = rest.get(..end)?;
    // In host:port:sid, the second colon ends host and port.
    let colons: Vec<usize> = authority.match_indices(':').map(|(at, _)| at).collect();
    let end = match (authority.starts_with('['), &colons[..]) {
        (false, [_, second, ..]) => *second,
        _ => authority.len(),
    };
    host_and_port(authority.get(..end)?, from, JdbcDialect::Oracle)
}

fn descriptor_place(text: &str, from: usize) -> Option<AddressSpan> {
    let upper = text.to_ascii_uppercase();
    let begin = upper.get(from..)?.find("(HOST=")? + from;
    let host_end = upper.get(begin..)?.find(')')? + begin;
    let host = text.get(begin + "(HOST=".len()..host_end)?;
    let port_begin = host_end + 1;
    let port_end = upper.get(port_begin..)?.find(')')? + port_begin;
    let port = upper.get(port_begin..port_end)?.strip_prefix("(PORT=")?;
    Some(AddressSpan {
        range: begin..port_end + 1,
        host: host.trim().to_owned(),
        port: port.trim().parse().ok()?,
        descriptor: true,
    })
}

fn host_and_port(authority: &str, from: usize, dialect: JdbcDialect) -> Option<AddressSpan> {
    let (host, port) = match authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, port)) => (host, port.strip_prefix(':')),
        None => match authority.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        },
    };
    let port = match port.filter(|port| !port.is_empty()) {
        Some(digits) => digits.parse().ok()?,
        None => dialect.port()?,
    };
    // The default host is this machine. Drivers look up the port of SQL Server's named instances.
    if host.contains('\\') {
        return None;
    }
    Some(AddressSpan {
        range: from..from + authority.len(),
        host: if host.is_empty() { "localhost" } else { host }.to_owned(),
        port,
        descriptor: false,
    })
}

#[cfg(test)]
mod tests;
