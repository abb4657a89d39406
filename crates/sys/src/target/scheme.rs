//! The schemes a target may have.

use super::TargetError;
use model::Protocol;

/// What the server behind a target speaks, by the scheme of its URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// `postgres://`, `postgresql://`, `jdbc:postgresql:`, libpq's `key=value` strings, and what frameworks
    /// write: `postgresql+asyncpg://`, `postgis://`, `cockroachdb://`, `r2dbc:postgresql://`, ...
    Postgres,
    /// `kingbase://`, `jdbc:kingbase8:`: PostgreSQL's protocol on port 54321.
    Kingbase,
    /// `mysql://`, `jdbc:mysql:`, and what frameworks write: `mysql2://`, `mysql+pymysql://`, ...
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
    /// Every scheme.
    pub const ALL: [Self; 11] = [
        Self::Postgres,
        Self::Kingbase,
        Self::Mysql,
        Self::Mariadb,
        Self::Http,
        Self::Tcp,
        Self::Oracle,
        Self::SqlServer,
        Self::Redis,
        Self::Informix,
        Self::Drda,
    ];

    /// The scheme of a URL that begins with `name://` or `jdbc:name:`.
    pub(super) fn named(name: &str, jdbc: bool) -> Result<Self, TargetError> {
        let word = database_of(name);
        let scheme = match (word.as_str(), jdbc) {
            ("postgres", false) | ("postgresql", _) => Self::Postgres,
            (word, false) if POSTGRES_WORDS.contains(&word) => Self::Postgres,
            ("kingbase", false) | ("kingbase8", _) => Self::Kingbase,
            ("mysql", _) => Self::Mysql,
            (word, false) if MYSQL_WORDS.contains(&word) => Self::Mysql,
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

    /// The port where a URL with the scheme `name` has none.
    pub(super) fn port_of(self, name: &str) -> Option<u16> {
        match database_of(name).as_str() {
            "cockroach" | "cockroachdb" | "crdb" => Some(26_257),
            "redshift" => Some(5439),
            _ => self.default_port(),
        }
    }

    /// The parameter that makes a client of this scheme leave TLS out, where its URLs are the only way to say
    /// so and every client of it understands one.
    pub(super) const fn no_tls_parameter(self, jdbc: bool) -> Option<&'static str> {
        match self {
            Self::Postgres if jdbc => Some("sslmode=disable"),
            Self::Mysql if jdbc => Some("sslMode=DISABLED"),
            Self::Mariadb if jdbc => Some("sslMode=disable"),
            _ => None,
        }
    }

    /// The value of such a parameter where it was there before.
    pub(super) const fn no_tls_word(self, jdbc: bool) -> &'static str {
        match self {
            Self::Mysql => "DISABLED",
            Self::Mariadb if !jdbc => "DISABLED",
            _ => "disable",
        }
    }
}

/// The database that a URL's scheme names: `postgresql` of SQLAlchemy's `postgresql+asyncpg`.
fn database_of(name: &str) -> String {
    let name = name.to_ascii_lowercase();
    name.split('+').next().unwrap_or_default().to_owned()
}

/// What frameworks call a server that speaks PostgreSQL's protocol: Django and its packages, Rails,
/// SQLAlchemy, Laravel, Doctrine.
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

/// The same for MySQL's.
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
