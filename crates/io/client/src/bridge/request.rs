//! Requests to the bridge, and their answers.

use super::JdbcUrl;
use super::url::is_secret;
use std::time::Duration;
use sys::StopToken;
use sys::target::{Credentials, Secret, Target};

#[derive(Debug, Clone, Copy)]
pub struct Wait<'a> {
    pub timeout: Duration,
    /// Ends waiting.
    pub stop: &'a StopToken,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Login {
    pub url: JdbcUrl,
    /// Properties of the connection, with `user` and `password`. Values may be secret, and none is
    /// displayed.
    pub properties: Vec<(String, Secret)>,
    /// The driver's class, or `None` to let the drivers choose by the URL.
    pub class: Option<String>,
}

impl Login {
    /// Login to `url` with these properties. A missing user or password comes from
    /// `LONGWIRE_JDBC_USER` and `LONGWIRE_JDBC_PASSWORD`, or else from the sources of the
    /// database's usual clients.
    pub fn new(url: JdbcUrl, properties: Vec<(String, Secret)>, class: Option<String>) -> Self {
        let variable = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
        let usual = Target::parse(url.reveal())
            .map(|target| Credentials::from_target(&target))
            .ok();
        let mut login = Self {
            url,
            properties,
            class,
        };
        let user = variable("LONGWIRE_JDBC_USER").or_else(|| usual.as_ref().map(|usual| usual.user.clone()));
        if let Some(user) = user.filter(|_| !login.url.has_user()) {
            login.add_missing("user", Secret::new(user));
        }
        let password = variable("LONGWIRE_JDBC_PASSWORD").map(Secret::new);
        let password = password.or_else(|| usual.and_then(|usual| usual.password));
        if let Some(password) = password.filter(|_| !login.url.has_password()) {
            login.add_missing("password", password);
        }
        login
    }

    pub(super) fn secrets(&self) -> Vec<String> {
        let mut secrets = self.url.secrets();
        let properties = self.properties.iter().filter(|(name, _)| is_secret(name));
        secrets.extend(properties.map(|(_, value)| value.reveal().to_owned()));
        secrets
    }

    fn add_missing(&mut self, name: &str, value: Secret) {
        if self.properties.iter().all(|(given, _)| given != name) {
            self.properties.push((name.to_owned(), value));
        }
    }
}

#[derive(Debug, Clone)]
pub struct Execute<'a> {
    pub sql: &'a str,
    pub how: HowRun,
    pub parameters: &'a [Parameter],
    /// `Statement.setFetchSize`; 0 is the driver's default.
    pub fetch_size: i32,
    pub times: u32,
    /// Whether to return the last row of a result; otherwise rows are read and dropped.
    pub keep: bool,
    /// Whether to measure the heap at the first row, which makes the duration useless.
    pub weigh: bool,
}

impl<'a> Execute<'a> {
    pub const fn text(sql: &'a str) -> Self {
        Self {
            sql,
            how: HowRun::Text,
            parameters: &[],
            fetch_size: 0,
            times: 1,
            keep: false,
            weigh: false,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HowRun {
    Text,
    /// `PreparedStatement`, created and closed each time.
    PreparedEachTime,
    /// `PreparedStatement`, created on the connection's first use.
    PreparedOnce,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Parameter {
    Null,
    /// `setInt` if it fits, else `setLong`.
    Whole(i64),
    Fraction(f64),
    Text(String),
    Truth(bool),
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Executed {
    /// Per execution, by `System.nanoTime` around the driver's calls up to the end of the last
    /// result. Empty for requests with a single step.
    pub durations: Vec<Duration>,
    /// Total of all executions.
    pub duration: Duration,
    pub rows: u64,
    /// Changed rows, as counted by the driver.
    pub changed: u64,
    /// Peak of live heap bytes above the start; `None` if not measured.
    pub heap: Option<u64>,
    /// Names and values of the last row, if it was to be kept.
    pub kept: Vec<(String, Option<String>)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    pub name: String,
    /// A number of `java.sql.Types`.
    pub kind: i32,
    /// Letters, for text columns.
    pub width: i32,
}

impl Column {
    pub const INTEGER: i32 = 4;
    pub const VARCHAR: i32 = 12;
}

/// Generates and inserts rows, and commits if autocommit is off.
#[derive(Debug, Clone)]
pub struct Insert<'a> {
    pub how: HowInserted,
    /// The text before `values`: `insert into t (a, b)`.
    pub insert: &'a str,
    pub columns: &'a [Column],
    pub rows: u64,
    /// Rows per batch or statement.
    pub size: u64,
    /// Whether to measure the heap before the first batch, which makes the duration useless.
    pub weigh: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HowInserted {
    /// `Statement.executeUpdate` with the values in the text.
    Text,
    Prepared,
    /// `PreparedStatement.addBatch` and then `executeBatch`.
    Batch,
    /// One statement with placeholders for many rows.
    ManyRows,
}

/// Reads each row of a result and changes it, and commits if autocommit is off.
#[derive(Debug, Clone)]
pub struct Update<'a> {
    pub how: HowUpdated,
    /// The query, `for update`, with the key as first column.
    pub select: &'a str,
    /// The change, with placeholders for the value and the key.
    pub update: &'a str,
    /// The column changed in the result itself.
    pub column: &'a str,
    pub value: &'a str,
    /// `setFetchSize` of the query; 0 is the driver's default.
    pub fetch_size: i32,
    pub batch: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HowUpdated {
    /// By a prepared update of its key.
    ByKey,
    InResult,
    /// By its key, many in a batch.
    Batch,
}
