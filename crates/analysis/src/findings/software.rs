//! Which software a client is, by how it introduced itself: remedies use its own terms.

use model::{ConnectionOutcome, Protocol};

/// Clients whose own settings longwire knows, and the families of the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Software {
    /// PostgreSQL's JDBC driver.
    Pgjdbc,
    /// KingbaseES's JDBC driver.
    Kingbase,
    /// MySQL Connector/J.
    ConnectorJ,
    /// MariaDB Connector/J.
    MariadbJdbc,
    /// PHP's own MySQL library.
    Mysqlnd,
    /// PyMySQL, mysql-connector-python, MySQLdb.
    PythonMysql,
    /// A program that asks the same on purpose: a load generator.
    LoadGenerator,
    /// Another client of PostgreSQL's protocol: mostly libpq.
    Postgres,
    /// Another client of MySQL's protocol.
    Mysql,
    /// A client of Redis.
    Redis,
    /// A client of Oracle Net.
    Oracle,
    /// A client of Informix SQLI.
    Informix,
    /// A client of DRDA.
    Drda,
    /// A client of TDS.
    Tds,
    /// A client of a web server, which is what findings of HTTP are about.
    Web,
    /// Nothing is known.
    Unknown,
}

/// What a client's own name contains.
const NAMES: [(&str, Software); 12] = [
    ("PostgreSQL JDBC Driver", Software::Pgjdbc),
    ("Kingbase8 JDBC", Software::Kingbase),
    ("MySQL Connector/J", Software::ConnectorJ),
    ("MariaDB Connector/J", Software::MariadbJdbc),
    ("mysqlnd", Software::Mysqlnd),
    ("pymysql", Software::PythonMysql),
    ("mysql-connector-python", Software::PythonMysql),
    ("mysqlclient", Software::PythonMysql),
    ("pgbench", Software::LoadGenerator),
    ("sysbench", Software::LoadGenerator),
    ("mysqlslap", Software::LoadGenerator),
    ("longwire", Software::LoadGenerator),
];

impl Software {
    /// That of a connection.
    pub(super) fn from_connection(outcome: &ConnectionOutcome) -> Self {
        let protocol = outcome.decoding.protocol;
        if let Some(driver) = &outcome.driver
            && let Some((_, software)) = NAMES.iter().find(|(name, _)| driver.contains(name))
        {
            return *software;
        }
        // pgjdbc under an application's name: of the common clients only it asks for this at start-up.
        let is_jdbc = outcome
            .settings
            .iter()
            .any(|(name, _)| &**name == "extra_float_digits");
        match protocol {
            Protocol::Postgres if is_jdbc => Self::Pgjdbc,
            protocol => Self::of_protocol(protocol),
        }
    }

    /// Whether what sets a session up after the login may be the program's, which does it at each use of a
    /// connection, kept or not. PHP's scripts begin anew with each request, and it does nothing after the
    /// login by itself. Drivers of others do, or their frameworks, once a connection; so where the driver did
    /// not introduce itself that is not known.
    pub(super) const fn may_leave_settings_to_programs(self, is_driver_known: bool) -> bool {
        match self {
            Self::Mysqlnd => true,
            Self::Postgres | Self::Mysql | Self::Web | Self::Unknown => !is_driver_known,
            Self::Pgjdbc
            | Self::Kingbase
            | Self::ConnectorJ
            | Self::MariadbJdbc
            | Self::PythonMysql
            | Self::LoadGenerator
            | Self::Redis
            | Self::Oracle
            | Self::Informix
            | Self::Drda
            | Self::Tds => false,
        }
    }

    /// The family of clients of which nothing is known but the protocol.
    pub(super) fn of_protocol(protocol: Protocol) -> Self {
        match protocol {
            Protocol::Postgres => Self::Postgres,
            Protocol::Mysql => Self::Mysql,
            Protocol::Redis => Self::Redis,
            Protocol::Oracle => Self::Oracle,
            Protocol::Informix => Self::Informix,
            Protocol::Drda => Self::Drda,
            Protocol::Tds => Self::Tds,
            Protocol::Http | Protocol::Fastcgi => Self::Web,
            Protocol::Tls | Protocol::Unknown => Self::Unknown,
        }
    }
}
