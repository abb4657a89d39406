//! The schemes a target may have: those of the protocols' rows.

use super::TargetError;
use model::{Protocol, UrlScheme};

/// A protocol, and the name that the product's URLs have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Scheme {
    protocol: Protocol,
    name: &'static str,
}

impl Scheme {
    /// Any protocol, counted but not decoded unless its content is recognised.
    pub const TCP: Self = Self::from_protocol(Protocol::Unknown);

    /// The usual scheme of the protocol.
    pub const fn from_protocol(protocol: Protocol) -> Self {
        let name = match protocol.facts().schemes {
            [usual, ..] => usual.name,
            [] => protocol.name(),
        };
        Self { protocol, name }
    }

    /// One for each name.
    pub fn all() -> impl Iterator<Item = Self> {
        let mut before = "";
        rows().filter_map(move |(protocol, row)| {
            let is_new = std::mem::replace(&mut before, row.name) != row.name;
            is_new.then_some(Self {
                protocol,
                name: row.name,
            })
        })
    }

    /// The scheme with this name, or another word of URLs for it.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::named(word, false).ok().map(|(scheme, _)| scheme)
    }

    /// The scheme of a URL, and the port if the URL has none.
    pub(super) fn named(name: &str, jdbc: bool) -> Result<(Self, Option<u16>), TargetError> {
        let word = database_of(name);
        let is_named = |row: &UrlScheme| match jdbc {
            true => row.jdbc == Some(word.as_str()),
            false => row.name == word || row.words.contains(&word.as_str()),
        };
        let mut rows = rows();
        if let Some((protocol, row)) = rows.find(|(_, row)| is_named(row)) {
            let scheme = Self {
                protocol,
                name: row.name,
            };
            return Ok((scheme, row.port));
        }
        let scheme = name.to_owned();
        if jdbc {
            return Err(TargetError::UnknownJdbcScheme { scheme });
        }
        match Protocol::from_word(&word).map(|protocol| (protocol, protocol.facts().schemes)) {
            Some((protocol, [usual, ..])) => Ok((Self::from_protocol(protocol), usual.port)),
            _ => Err(TargetError::UnknownScheme { scheme }),
        }
    }

    pub const fn name(self) -> &'static str {
        self.name
    }

    /// [`Protocol::Unknown`] if the content decides.
    pub const fn protocol(self) -> Protocol {
        self.protocol
    }

    /// Without a host, databases are on this machine, as for their own clients.
    pub(super) const fn default_host(self) -> Result<&'static str, TargetError> {
        match self.protocol.is_database() {
            true => Ok("localhost"),
            false => Err(TargetError::NoHost { scheme: self.name }),
        }
    }

    /// The parameter that disables TLS, if URLs are the only way and every client of this scheme
    /// understands it.
    pub(super) fn no_tls_parameter(self, jdbc: bool) -> Option<&'static str> {
        match self.name {
            "postgres" if jdbc => Some("sslmode=disable"),
            "mysql" if jdbc => Some("sslMode=DISABLED"),
            "mariadb" if jdbc => Some("sslMode=disable"),
            _ => None,
        }
    }

    pub(super) fn no_tls_word(self, jdbc: bool) -> &'static str {
        match self.name {
            "mysql" => "DISABLED",
            "mariadb" if !jdbc => "DISABLED",
            _ => "disable",
        }
    }
}

fn rows() -> impl Iterator<Item = (Protocol, &'static UrlScheme)> {
    let all = Protocol::ALL.iter();
    all.flat_map(|protocol| protocol.facts().schemes.iter().map(|row| (*protocol, row)))
}

/// The database in a URL's scheme: `postgresql` of SQLAlchemy's `postgresql+asyncpg`.
fn database_of(name: &str) -> String {
    let name = name.to_ascii_lowercase();
    name.split('+').next().unwrap_or_default().to_owned()
}
