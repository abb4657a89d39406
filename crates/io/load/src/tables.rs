//! The tables of the built-in scripts: those of `pgbench -i`, in PostgreSQL, MySQL and MariaDB.
//!
//! The server generates the rows from numbers, 100,000 accounts per statement, so distance costs
//! one round trip per statement. pgbench sends rows instead, unless `-I dtGvp` is used. The rows
//! are equal but for `filler`, which pgbench leaves null in branches and tellers.

use super::Error;
use super::sql::protocol_of;
use client::session::{Session, SessionOptions};
use client::{ErrorReply, SqlProtocol};
use std::time::Duration;
use sys::StopToken;
use sys::target::Target;

/// Steps in the order of the letters of pgbench's `-I`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InitStep {
    Drop,
    Create,
    /// Letter `g` or `G`.
    Generate,
    /// Collects statistics for plans.
    Vacuum,
    PrimaryKeys,
    ForeignKeys,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is no step of -I: use d (drop), t (create tables), g or G (rows), v (vacuum), p (primary keys), f (foreign keys)"
)]
pub struct StepError(char);

/// Progress of initialising, reported before each statement that takes time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Making {
    pub step: InitStep,
    /// Completed parts of the step.
    pub done: u32,
    pub of: u32,
}

impl InitStep {
    pub const USUAL: &str = "dtgvp";

    pub fn parse_steps(letters: &str) -> Result<Vec<Self>, StepError> {
        letters
            .chars()
            .filter(|letter| *letter != ' ')
            .map(|letter| match letter {
                'd' => Ok(Self::Drop),
                't' => Ok(Self::Create),
                'g' | 'G' => Ok(Self::Generate),
                'v' => Ok(Self::Vacuum),
                'p' => Ok(Self::PrimaryKeys),
                'f' => Ok(Self::ForeignKeys),
                other => Err(StepError(other)),
            })
            .collect()
    }

    pub const fn title(self) -> &'static str {
        match self {
            Self::Drop => "dropping old tables",
            Self::Create => "creating tables",
            Self::Generate => "generating data",
            Self::Vacuum => "vacuuming",
            Self::PrimaryKeys => "creating primary keys",
            Self::ForeignKeys => "creating foreign keys",
        }
    }

    fn statements(self, scale: u32, mysql: bool) -> Vec<String> {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        match self {
            Self::Drop => vec![format!("drop table if exists {}", TABLES.join(", "))],
            Self::Create => create(scale, mysql),
            Self::Generate => generate(scale, mysql),
            Self::Vacuum if mysql => vec![format!("analyze table {}", TABLES.join(", "))],
            Self::Vacuum => TABLES
                .iter()
                .map(|table| format!("vacuum analyze {table}"))
                .collect(),
            Self::PrimaryKeys => texts(&[
                "alter table pgbench_branches add primary key (bid)",
                "alter table pgbench_tellers add primary key (tid)",
                "alter table pgbench_accounts add primary key (aid)",
            ]),
            Self::ForeignKeys => FOREIGN_KEYS
                .iter()
                .map(|(table, column, other)| {
                    format!(
                        "alter table pgbench_{table} add constraint pgbench_{table}_{column}_fkey \
                         foreign key ({column}) references pgbench_{other} ({column})"
                    )
                })
                .collect(),
        }
    }
}

/// Creates the tables for `scale`, the number of branches, in the database of `target`. Reports
/// progress to `tell`.
///
/// # Errors
/// Fails with [`Error::Stopped`] if `stop` is set, else with errors of the target or session.
pub fn initialise(
    target: &Target,
    steps: &[InitStep],
    scale: u32,
    stop: &StopToken,
    tell: &mut dyn FnMut(Making),
) -> Result<(), Error> {
    let mysql = protocol_of(target)? == SqlProtocol::Mysql;
    let mut session = Session::open(target, SessionOptions::new(stop))?;
    let mut number = 0;
    for step in steps {
        let statements = step.statements(scale, mysql);
        let of = statements.len() as u32;
        for (done, statement) in (0..).zip(&statements) {
            tell(Making {
                step: *step,
                done,
                of,
            });
            number += 1;
            let said = session.query(statement, A_STATEMENT)?;
            if let Some(ErrorReply { code, text }) = said.reply.error {
                return Err(Error::Statement { number, code, text });
            }
        }
    }
    session.close();
    Ok(())
}

/// The scale of existing tables: their number of branches. `None` if there are none.
///
/// # Errors
/// Those of a session.
pub fn scale(session: &mut Session<'_>) -> Result<Option<u64>, Error> {
    let said = session.query("select count(*) from pgbench_branches", A_STATEMENT)?;
    let count = said.first().and_then(|count| count.parse().ok());
    Ok(count.filter(|count| *count > 0 && said.reply.error.is_none()))
}

fn create(scale: u32, mysql: bool) -> Vec<String> {
    let aid = if scale >= BIG { "bigint" } else { "int" };
    // Filled pages, as pgbench has them; tellers and branches are small and change often.
    let filled = if mysql { "" } else { " with (fillfactor = 100)" };
    vec![
        format!(
            "create table pgbench_history (tid int, bid int, aid {aid}, delta int, mtime timestamp null, filler char(22))"
        ),
        format!(
            "create table pgbench_tellers (tid int not null, bid int, tbalance int, filler char(84)){filled}"
        ),
        format!(
            "create table pgbench_accounts (aid {aid} not null, bid int, abalance int, filler char(84)){filled}"
        ),
        format!("create table pgbench_branches (bid int not null, bbalance int, filler char(88)){filled}"),
    ]
}

fn generate(scale: u32, mysql: bool) -> Vec<String> {
    let empty = if mysql {
        TABLES.map(|table| format!("delete from {table}")).to_vec()
    } else {
        vec![format!("truncate table {}", TABLES.join(", "))]
    };
    let mut statements = vec!["begin".to_owned()];
    statements.extend(empty);
    for branch in 1..=u64::from(scale) {
        statements.push(format!(
            "insert into pgbench_branches (bid, bbalance) values ({branch}, 0)"
        ));
        let tellers: Vec<String> = (1..=TELLERS)
            .map(|teller| format!("({}, {branch}, 0)", (branch - 1) * TELLERS + teller))
            .collect();
        statements.push(format!(
            "insert into pgbench_tellers (tid, bid, tbalance) values {}",
            tellers.join(", ")
        ));
        let before = (branch - 1) * ACCOUNTS;
        let numbers = if mysql {
            format!(
                "select {before} + {MYSQL_NUMBER} + 1, {branch}, 0, '' from {DIGITS} a, {DIGITS} b, {DIGITS} c, {DIGITS} d, {DIGITS} e"
            )
        } else {
            format!(
                "select number, {branch}, 0, '' from generate_series({}, {}) as number",
                before + 1,
                before + ACCOUNTS
            )
        };
        statements.push(format!(
            "insert into pgbench_accounts (aid, bid, abalance, filler) {numbers}"
        ));
    }
    statements.push("commit".to_owned());
    statements
}

/// In an order in which foreign keys permit emptying and dropping.
const TABLES: [&str; 4] = [
    "pgbench_history",
    "pgbench_tellers",
    "pgbench_accounts",
    "pgbench_branches",
];

/// Table, column, referenced table.
const FOREIGN_KEYS: [(&str, &str, &str); 5] = [
    ("tellers", "bid", "branches"),
    ("accounts", "bid", "branches"),
    ("history", "bid", "branches"),
    ("history", "tid", "tellers"),
    ("history", "aid", "accounts"),
];

const TELLERS: u64 = 10;
const ACCOUNTS: u64 = 100_000;
/// From this scale on, account numbers exceed 32 bits.
const BIG: u32 = 20_000;

/// 0 to 99,999, from five tables of ten digits: works in every version.
const MYSQL_NUMBER: &str = "a.n + 10 * b.n + 100 * c.n + 1000 * d.n + 10000 * e.n";
const DIGITS: &str = "(select 0 n union all select 1 union all select 2 union all select 3 union all select 4 union all \
                      select 5 union all select 6 union all select 7 union all select 8 union all select 9)";

/// An index over many rows takes long.
const A_STATEMENT: Duration = Duration::from_secs(3600);
