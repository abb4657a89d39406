use client::session::SessionError;
use sys::error::Blame;

/// Errors of measuring a database link. Texts contain no secret and no value.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ViaError {
    #[error(transparent)]
    Session(#[from] SessionError),
    #[error("longwire cannot measure database links of {scheme}:// sources")]
    Scheme { scheme: &'static str },
    #[error("longwire measures Oracle's database links by a script")]
    Oracle,
    #[error("--link: a database link's name has letters, digits and _ $ # . @ only")]
    LinkName,
    #[error("{calls} calls: write a number from 1 to 100000")]
    Calls { calls: u64 },
    #[error("--rows {rows}: write a number from 2 to {}", super::MAX_ROWS)]
    RowCount { rows: u64 },
    #[error("rows over a link are measured from PostgreSQL and Oracle")]
    RowsScheme,
    #[error("--rows {rows}: the far database's pg_proc, which the foreign table reads, has {there}")]
    FewRows { rows: u64, there: u64 },
    #[error("the source database has no foreign server '{link}'{}", listed(there))]
    NoSuchLink {
        link: String,
        /// The source's foreign servers.
        there: Vec<String>,
    },
    /// The link has an unsupported wrapper, and `dblink` is not installed.
    #[error("the foreign server '{link}' uses {wrapper}, and the source database has no extension dblink")]
    NoDblink { link: String, wrapper: String },
    /// MySQL or an old MariaDB.
    #[error(
        "the source database cannot time its own calls: that takes MariaDB 10.1 or later, and it is {version}"
    )]
    CannotTime { version: String },
    #[error("the source database has neither of the engines FEDERATED and CONNECT")]
    NoEngine,
    #[error("the table of the link has about {rows} rows, and each call would fetch all of them")]
    LargeTable {
        /// As estimated by the far server.
        rows: u64,
    },
    /// MariaDB with a `SYSDATE` that stands still within a statement.
    #[error("the source database runs with sysdate-is-now: its clock stands still while it makes a call")]
    ClockStands,
    #[error("the source's URL names no database, and the link needs a table of its own for a while")]
    NoDatabase,
    #[error("the source database answered: {code} {text}")]
    Statement {
        code: String,
        /// The text without quoted parts.
        text: String,
    },
    #[error("the source database did not give back the times it measured")]
    NoSpans,
}

impl ViaError {
    pub const fn blame(&self) -> Blame {
        match self {
            Self::Session(error) => error.blame(),
            Self::Scheme { .. }
            | Self::Oracle
            | Self::LinkName
            | Self::Calls { .. }
            | Self::RowCount { .. }
            | Self::RowsScheme
            | Self::FewRows { .. } => Blame::Longwire,
            Self::NoSuchLink { .. }
            | Self::NoDblink { .. }
            | Self::CannotTime { .. }
            | Self::NoEngine
            | Self::LargeTable { .. }
            | Self::ClockStands
            | Self::NoDatabase
            | Self::Statement { .. }
            | Self::NoSpans => Blame::Server,
        }
    }

    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Session(error) => return error.hint(),
            Self::Scheme { .. } => "links of PostgreSQL, MariaDB and Oracle can be measured",
            Self::Oracle => {
                "longwire ping --print-script oracle --database-link NAME prints it; longwire read FILE reads what it printed"
            }
            Self::NoSuchLink { .. } => {
                "CREATE SERVER and CREATE USER MAPPING make one; \\des in psql lists those that are there"
            }
            Self::NoDblink { .. } => "CREATE EXTENSION dblink",
            Self::CannotTime { .. } => "measure from the other side, or from a MariaDB next to it",
            Self::NoEngine => "INSTALL SONAME 'ha_federatedx', or 'ha_connect'",
            Self::LargeTable { .. } => "name a small table of the far database: --link SERVER/TABLE",
            Self::ClockStands => "start it without --sysdate-is-now",
            Self::NoDatabase => "name one in the URL: mariadb://user@host/DATABASE",
            Self::Statement { code, .. } => statement_hint(code)?,
            Self::FewRows { .. } => "name fewer, or a link of dblink, where rows are made",
            Self::NoSpans
            | Self::LinkName
            | Self::Calls { .. }
            | Self::RowCount { .. }
            | Self::RowsScheme => return None,
        };
        Some(hint.to_owned())
    }

    pub(super) const fn is_stop(&self) -> bool {
        matches!(self, Self::Session(SessionError::Stopped))
    }
}

/// Takes SQLSTATE (PostgreSQL manual, appendix A) or MariaDB's error number.
fn statement_hint(code: &str) -> Option<&'static str> {
    // MariaDB's number is followed by an SQLSTATE.
    Some(match code.split('/').next().unwrap_or(code) {
        "08001" | "08006" | "1158" | "1159" | "1160" | "1161" | "1429" | "1296" | "2003" | "10000" => {
            "the source could not reach the far database: check the link's host, port and user mapping from there"
        }
        "42704" => "the user has no user mapping for that foreign server: CREATE USER MAPPING",
        "42501" | "1142" | "1044" | "1227" => {
            "the user lacks a right. PostgreSQL: USAGE on the foreign server and TEMPORARY on the database. MariaDB: CREATE TEMPORARY \
             TABLES (for CONNECT: CREATE and DROP)"
        }
        "2F003" => "dblink lets users without superuser's rights use only links with a password",
        "1" | "1105" | "1477" => {
            "CREATE SERVER makes a link; the table mysql.servers lists those that are there"
        }
        "1431" | "1434" | "1939" => "the far database must have the table: --link SERVER/TABLE",
        _ => return None,
    })
}

fn listed(there: &[String]) -> String {
    match there {
        [] => " (it has none)".to_owned(),
        names => format!(" (it has {})", names.join(", ")),
    }
}
