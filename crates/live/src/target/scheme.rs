//! The schemes a target may have.

use super::TargetError;
use model::Protocol;

/// What the server behind a target speaks, by the scheme of its URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// `postgres://`, `postgresql://`, `jdbc:postgresql:`, and libpq's `key=value` strings.
    Postgres,
    /// `kingbase://`, `jdbc:kingbase8:`: PostgreSQL's protocol on port 54321.
    Kingbase,
    /// `mysql://`, `jdbc:mysql:`.
    Mysql,
    /// `mariadb://`, `jdbc:mariadb:`: MySQL's protocol.
    Mariadb,
    /// `http://`.
    Http,
    /// `tcp://`: any protocol, counted but not decoded unless its content is recognised.
    Tcp,
    /// `oracle://`: Oracle Net and TTC.
    Oracle,
    /// `sqlserver://`: TDS.
    SqlServer,
    /// `redis://`: RESP2 and RESP3.
    Redis,
    /// `informix://`: SQLI (onsoctcp).
    Informix,
    /// `drda://`, `db2://`: DRDA, on Db2's port; Derby's is 1527.
    Drda,
}

impl Scheme {
    /// The scheme of a URL that begins with `name://` or `jdbc:name:`.
    pub(super) fn named(name: &str, jdbc: bool) -> Result<Self, TargetError> {
        let scheme = match (name.to_ascii_lowercase().as_str(), jdbc) {
            ("postgres", false) | ("postgresql", _) => Self::Postgres,
            ("kingbase", false) | ("kingbase8", _) => Self::Kingbase,
            ("mysql", _) => Self::Mysql,
            ("mariadb", _) => Self::Mariadb,
            ("http", false) => Self::Http,
            ("tcp", false) => Self::Tcp,
            ("oracle", false) => Self::Oracle,
            ("sqlserver", false) => Self::SqlServer,
            ("redis", false) => Self::Redis,
            ("informix", false) => Self::Informix,
            ("drda" | "db2", false) => Self::Drda,
            (_, true) => {
                return Err(TargetError::UnknownJdbcScheme {
                    scheme: name.to_owned(),
                });
            }
            (_, false) => {
                return Err(TargetError::UnknownScheme {
                    scheme: name.to_owned(),
                });
            }
        };
        Ok(scheme)
    }

    /// The word for it: the scheme as longwire writes it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Postgres => "postgres",
            Self::Kingbase => "kingbase",
            Self::Mysql => "mysql",
            Self::Mariadb => "mariadb",
            Self::Http => "http",
            Self::Tcp => "tcp",
            Self::Oracle => "oracle",
            Self::SqlServer => "sqlserver",
            Self::Redis => "redis",
            Self::Informix => "informix",
            Self::Drda => "drda",
        }
    }

    /// The protocol to expect; [`Protocol::Unknown`] where it is left to the content.
    pub const fn protocol(self) -> Protocol {
        match self {
            Self::Postgres | Self::Kingbase => Protocol::Postgres,
            Self::Mysql | Self::Mariadb => Protocol::Mysql,
            Self::Redis => Protocol::Redis,
            Self::Http => Protocol::Http,
            Self::Informix => Protocol::Informix,
            Self::Drda => Protocol::Drda,
            Self::Oracle => Protocol::Oracle,
            Self::SqlServer => Protocol::Tds,
            Self::Tcp => Protocol::Unknown,
        }
    }

    /// Whether its servers know who asks before they answer.
    pub const fn has_login(self) -> bool {
        !matches!(self, Self::Http | Self::Tcp)
    }

    pub(super) const fn default_port(self) -> Option<u16> {
        match self {
            Self::Postgres => Some(5432),
            Self::Kingbase => Some(54321),
            Self::Mysql | Self::Mariadb => Some(3306),
            Self::Http => Some(80),
            Self::Tcp => None,
            Self::Oracle => Some(1521),
            Self::SqlServer => Some(1433),
            Self::Redis => Some(6379),
            Self::Informix => Some(9088),
            Self::Drda => Some(50_000),
        }
    }

    /// Databases are on this machine when no host is given, as their own clients have it.
    pub(super) const fn default_host(self) -> Result<&'static str, TargetError> {
        match self {
            Self::Http | Self::Tcp => Err(TargetError::NoHost { scheme: self.name() }),
            Self::Postgres
            | Self::Kingbase
            | Self::Mysql
            | Self::Mariadb
            | Self::Oracle
            | Self::SqlServer
            | Self::Redis
            | Self::Informix
            | Self::Drda => Ok("localhost"),
        }
    }

    /// The parameter that tells a client of this scheme to leave TLS out, where every client of it understands
    /// one; absent otherwise, since some clients refuse parameters they do not know.
    pub(super) const fn no_tls_parameter(self, jdbc: bool) -> Option<&'static str> {
        match self {
            Self::Postgres => Some("sslmode=disable"),
            Self::Mysql if jdbc => Some("sslMode=DISABLED"),
            Self::Mariadb if jdbc => Some("sslMode=disable"),
            Self::Kingbase
            | Self::Mysql
            | Self::Mariadb
            | Self::Http
            | Self::Tcp
            | Self::Oracle
            | Self::SqlServer
            | Self::Redis
            | Self::Informix
            | Self::Drda => None,
        }
    }
}
