//! The schemes a target may have.

use super::TargetError;
use model::Protocol;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// `postgres://`, `postgresql://`, `jdbc:postgresql:`, libpq's `key=value` strings, and
    /// frameworks' `postgresql+asyncpg://`, `postgis://`, `cockroachdb://`, `r2dbc:postgresql://`,
    /// ...
    Postgres,
    /// PostgreSQL's protocol on port 54321, as `kingbase://` or `jdbc:kingbase8:`.
    Kingbase,
    /// `mysql://`, `jdbc:mysql:`, and frameworks' `mysql2://`, `mysql+pymysql://`, ...
    Mysql,
    /// MySQL's protocol, as `mariadb://` or `jdbc:mariadb:`.
    Mariadb,
    Http,
    /// FastCGI of an application server.
    Fastcgi,
    /// Any protocol, counted but not decoded unless its content is recognised.
    Tcp,
    Oracle,
    /// Speaks the TDS protocol.
    SqlServer,
    Redis,
    /// Speaks SQLI (onsoctcp).
    Informix,
    /// On Db2's port, while Derby's is 1527.
    Drda,
}

impl Scheme {
    pub const ALL: [Self; 12] = [
        Self::Postgres,
        Self::Kingbase,
        Self::Mysql,
        Self::Mariadb,
        Self::Http,
        Self::Fastcgi,
        Self::Tcp,
        Self::Oracle,
        Self::SqlServer,
        Self::Redis,
        Self::Informix,
        Self::Drda,
    ];

    pub(super) fn named(name: &str, jdbc: bool) -> Result<Self, TargetError> {
        let word = database_of(name);
        let scheme = match (word.as_str(), jdbc) {
            ("postgres", false) | ("postgresql", _) => Self::Postgres,
            (word, false) if POSTGRES_WORDS.contains(&word) => Self::Postgres,
            ("kingbase", false) | ("kingbase8", _) => Self::Kingbase,
            ("mysql", _) => Self::Mysql,
            (word, false) if MYSQL_WORDS.contains(&word) => Self::Mysql,
            ("mariadb", _) => Self::Mariadb,
            ("tcp", false) => Self::Tcp,
            (_, true) => {
                return Err(TargetError::UnknownJdbcScheme {
                    scheme: name.to_owned(),
                });
            }
            (word, false) => {
                let protocol = Protocol::from_word(word);
                let scheme = protocol.and_then(Self::of_protocol);
                return scheme.ok_or_else(|| TargetError::UnknownScheme {
                    scheme: name.to_owned(),
                });
            }
        };
        Ok(scheme)
    }

    fn of_protocol(protocol: Protocol) -> Option<Self> {
        Self::ALL.into_iter().find(|scheme| scheme.protocol() == protocol)
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::Postgres => "postgres",
            Self::Kingbase => "kingbase",
            Self::Mysql => "mysql",
            Self::Mariadb => "mariadb",
            Self::Http => "http",
            Self::Fastcgi => "fastcgi",
            Self::Tcp => "tcp",
            Self::Oracle => "oracle",
            Self::SqlServer => "sqlserver",
            Self::Redis => "redis",
            Self::Informix => "informix",
            Self::Drda => "drda",
        }
    }

    /// [`Protocol::Unknown`] if the content decides.
    pub const fn protocol(self) -> Protocol {
        match self {
            Self::Postgres | Self::Kingbase => Protocol::Postgres,
            Self::Mysql | Self::Mariadb => Protocol::Mysql,
            Self::Redis => Protocol::Redis,
            Self::Http => Protocol::Http,
            Self::Fastcgi => Protocol::Fastcgi,
            Self::Informix => Protocol::Informix,
            Self::Drda => Protocol::Drda,
            Self::Oracle => Protocol::Oracle,
            Self::SqlServer => Protocol::Tds,
            Self::Tcp => Protocol::Unknown,
        }
    }

    pub const fn has_login(self) -> bool {
        !matches!(self, Self::Http | Self::Fastcgi | Self::Tcp)
    }

    pub(super) const fn default_port(self) -> Option<u16> {
        match self {
            Self::Postgres => Some(5432),
            Self::Kingbase => Some(54321),
            Self::Mysql | Self::Mariadb => Some(3306),
            Self::Http => Some(80),
            Self::Fastcgi => Some(9000),
            Self::Tcp => None,
            Self::Oracle => Some(1521),
            Self::SqlServer => Some(1433),
            Self::Redis => Some(6379),
            Self::Informix => Some(9088),
            Self::Drda => Some(50_000),
        }
    }

    /// Without a host, databases are on this machine, as for their own clients.
    pub(super) const fn default_host(self) -> Result<&'static str, TargetError> {
        match self {
            Self::Http | Self::Fastcgi | Self::Tcp => Err(TargetError::NoHost { scheme: self.name() }),
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

    pub(super) fn port_of(self, name: &str) -> Option<u16> {
        match database_of(name).as_str() {
            "cockroach" | "cockroachdb" | "crdb" => Some(26_257),
            "redshift" => Some(5439),
            "derby" => Some(1527),
            _ => self.default_port(),
        }
    }

    /// The parameter that disables TLS, if URLs are the only way and every client of this scheme
    /// understands it.
    pub(super) const fn no_tls_parameter(self, jdbc: bool) -> Option<&'static str> {
        match self {
            Self::Postgres if jdbc => Some("sslmode=disable"),
            Self::Mysql if jdbc => Some("sslMode=DISABLED"),
            Self::Mariadb if jdbc => Some("sslMode=disable"),
            _ => None,
        }
    }

    pub(super) const fn no_tls_word(self, jdbc: bool) -> &'static str {
        match self {
            Self::Mysql => "DISABLED",
            Self::Mariadb if !jdbc => "DISABLED",
            _ => "disable",
        }
    }
}

/// The database in a URL's scheme: `postgresql` of SQLAlchemy's `postgresql+asyncpg`.
fn database_of(name: &str) -> String {
    let name = name.to_ascii_lowercase();
    name.split('+').next().unwrap_or_default().to_owned()
}

/// Names for servers with PostgreSQL's protocol in Django and its packages, Rails, SQLAlchemy,
/// Laravel, Doctrine.
const POSTGRES_WORDS: &[&str] = &[
    "postgis",
    "pgsql",
    "psql",
    "pg",
    "pdo-pgsql",
    "pdo_pgsql",
    "postgresql-psycopg2",
    "postgresql_psycopg2",
    "timescale",
    "timescaledb",
    "timescalegis",
    "cockroach",
    "cockroachdb",
    "crdb",
    "redshift",
];

const MYSQL_WORDS: &[&str] = &[
    "mysql2",
    "trilogy",
    "mysqlgis",
    "mysqli",
    "mysql-connector",
    "mysqlconnector",
    "pdo-mysql",
    "pdo_mysql",
    "tidb",
];
