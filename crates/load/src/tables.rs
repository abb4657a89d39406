//! The tables that the built-in scripts work on: those of `pgbench -i`, in PostgreSQL, MySQL and MariaDB.
//!
//! Rows are made by the server from numbers, 100,000 accounts a statement, so that distance costs a round
//! trip for each of these and no rate. PostgreSQL's own tool sends them instead, unless it is given
//! `-I dtGvp`; the rows are the same but for `filler`, which it leaves null in branches and tellers.

use super::LoadError;
use super::sql::protocol_of;
use client::session::{Session, SessionOptions};
use client::{ErrorReply, SqlProtocol};
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use sys::target::Target;

/// What is done, in the order of the letters, as pgbench's `-I` has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InitStep {
    /// `d`: tables of these names are dropped.
    Drop,
    /// `t`: tables are created.
    Create,
    /// `g`, `G`: rows are made.
    Generate,
    /// `v`: the server looks at the rows, for its plans.
    Vacuum,
    /// `p`: primary keys.
    PrimaryKeys,
    /// `f`: foreign keys.
    ForeignKeys,
}

/// A letter that is no step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is no step of -I: use d (drop), t (create tables), g or G (rows), v (vacuum), p (primary keys), f (foreign keys)"
)]
pub struct StepError(char);

/// How far initialising is: reported before each statement that takes time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Making {
    /// The step.
    pub step: InitStep,
    /// Of its parts, how many are done.
    pub done: u32,
    /// Of how many.
    pub of: u32,
}

impl InitStep {
    /// What is done unless something else is given: `dtgvp`.
    pub const USUAL: &str = "dtgvp";

    /// The steps of `letters`.
    ///
    /// # Errors
    /// At a letter that is none.
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

    /// What it does, for people.
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

/// Makes the tables for `scale`, which is the number of branches, in the database of `target`. Reports to
/// `tell` how far it is.
///
/// # Errors
/// [`LoadError::Scheme`], those of a session, [`LoadError::Statement`]; [`LoadError::Stopped`] when `stop` is
/// set.
pub fn initialise(
    target: &Target,
    steps: &[InitStep],
    scale: u32,
    stop: &AtomicBool,
    tell: &mut dyn FnMut(Making),
) -> Result<(), LoadError> {
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
                return Err(LoadError::Statement { number, code, text });
            }
        }
    }
    session.close();
    Ok(())
}

/// The scale for which the tables were made: how many branches there are; `None` if there are none or no such
/// table.
///
/// # Errors
/// Those of a session.
pub fn scale(session: &mut Session<'_>) -> Result<Option<u64>, LoadError> {
    let said = session.query("select count(*) from pgbench_branches", A_STATEMENT)?;
    let count = said.first().and_then(|count| count.parse().ok());
    Ok(count.filter(|count| *count > 0 && said.reply.error.is_none()))
}

fn create(scale: u32, mysql: bool) -> Vec<String> {
    let aid = if scale >= BIG { "bigint" } else { "int" };
    // Pages are filled whole, as PostgreSQL's tool asks for: tellers and branches are few and often changed.
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

/// Before each those that foreign keys make refer to it: so they can be emptied and dropped in this order.
const TABLES: [&str; 4] = [
    "pgbench_history",
    "pgbench_tellers",
    "pgbench_accounts",
    "pgbench_branches",
];

/// Table, column, and the table whose key the column holds.
const FOREIGN_KEYS: [(&str, &str, &str); 5] = [
    ("tellers", "bid", "branches"),
    ("accounts", "bid", "branches"),
    ("history", "bid", "branches"),
    ("history", "tid", "tellers"),
    ("history", "aid", "accounts"),
];

/// Of each branch.
const TELLERS: u64 = 10;
const ACCOUNTS: u64 = 100_000;
/// From this scale on, account numbers are beyond 32 bits.
const BIG: u32 = 20_000;

/// 0 to 99,999, of five tables of ten digits: what every version has.
const MYSQL_NUMBER: &str = "a.n + 10 * b.n + 100 * c.n + 1000 * d.n + 10000 * e.n";
const DIGITS: &str = "(select 0 n union all select 1 union all select 2 union all select 3 union all select 4 union all \
                      select 5 union all select 6 union all select 7 union all select 8 union all select 9)";

/// How long a statement may take: an index over many rows does take long.
const A_STATEMENT: Duration = Duration::from_secs(3600);
