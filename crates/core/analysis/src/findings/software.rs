//! Detects the client's software by its introduction, so that remedies use its terms.

use model::{ConnectionOutcome, Protocol};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Software {
    Pgjdbc,
    Kingbase,
    ConnectorJ,
    MariadbJdbc,
    Mysqlnd,
    PythonMysql,
    LoadGenerator,
    /// HTTP, or what carries its requests.
    Web,
    /// Of remedies: any store behind HTTP.
    HttpStore,
    /// Unknown software with this protocol.
    Speaks(Protocol),
}

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
    pub(super) fn from_connection(outcome: &ConnectionOutcome) -> Self {
        let protocol = outcome.decoding.protocol;
        if let Some(software) = outcome.driver.as_deref().and_then(Self::from_name) {
            return software;
        }
        // pgjdbc under an application's name: the only common client that requests this at
        // start-up.
        let is_jdbc = outcome
            .settings
            .iter()
            .any(|(name, _)| &**name == "extra_float_digits");
        if protocol == Protocol::Postgres && is_jdbc {
            return Self::Pgjdbc;
        }
        Self::of_protocol(protocol)
    }

    pub(super) fn from_name(driver: &str) -> Option<Self> {
        let mut names = NAMES.iter();
        let (_, software) = names.find(|(name, _)| driver.contains(name))?;
        Some(*software)
    }

    /// Whether the set-up after login may be the program's at each use of a connection. PHP scripts
    /// start afresh with each request, and mysqlnd does no set-up by itself. Other drivers or
    /// frameworks do it once per connection; unknown if the driver did not introduce itself.
    pub(super) const fn may_leave_settings_to_programs(self, is_driver_known: bool) -> bool {
        match self {
            Self::Mysqlnd => true,
            Self::Web
            | Self::Speaks(Protocol::Postgres | Protocol::Mysql | Protocol::Tls | Protocol::Unknown) => {
                !is_driver_known
            }
            Self::Pgjdbc
            | Self::Kingbase
            | Self::ConnectorJ
            | Self::MariadbJdbc
            | Self::PythonMysql
            | Self::LoadGenerator
            | Self::HttpStore
            | Self::Speaks(_) => false,
        }
    }

    /// Whether remedies for `self` are for this software too.
    pub(super) fn includes(self, software: Self) -> bool {
        let is_http_store = matches!(software, Self::Speaks(protocol) if protocol.is_over_http());
        self == software || (self == Self::HttpStore && is_http_store)
    }

    pub(super) const fn of_protocol(protocol: Protocol) -> Self {
        match protocol.carries_requests() {
            true => Self::Web,
            false => Self::Speaks(protocol),
        }
    }
}
