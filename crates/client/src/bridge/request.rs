//! What the bridge is requested, and what it answers.

use super::JdbcUrl;
use super::url::is_secret;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use sys::target::{Credentials, Secret, Target};

/// How long is waited for an answer, and what ends waiting early.
#[derive(Debug, Clone, Copy)]
pub struct Wait<'a> {
    /// What takes longer has failed.
    pub timeout: Duration,
    /// Ends waiting within a moment when set.
    pub stop: &'a AtomicBool,
}

/// Whom to connect to, and as whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Login {
    /// The URL as the driver gets it.
    pub url: JdbcUrl,
    /// Properties of the connection, `user` and `password` among them. A value may be secret, and none is
    /// shown.
    pub properties: Vec<(String, Secret)>,
    /// The driver's class; `None` if the drivers themselves say which takes the URL.
    pub class: Option<String>,
}

impl Login {
    /// To `url` with these properties. Who logs in, and with what, where neither says, is as this process's
    /// environment has it: `LONGWIRE_JDBC_USER` and `LONGWIRE_JDBC_PASSWORD`, else what the usual clients of
    /// the database would look at.
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

    /// What an error's text must not repeat.
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

/// A statement, run once or several times.
#[derive(Debug, Clone)]
pub struct Execute<'a> {
    /// Its text.
    pub sql: &'a str,
    /// How it goes to the server.
    pub how: HowRun,
    /// For its placeholders, in their order.
    pub parameters: &'a [Parameter],
    /// `Statement.setFetchSize`; 0 leaves the driver's own.
    pub fetch_size: i32,
    /// How many times.
    pub times: u32,
    /// Whether the last row of a result is wanted; otherwise rows are read and forgotten.
    pub keep: bool,
    /// Whether the heap is weighed when the first row is there; that run's time is of no use.
    pub weigh: bool,
}

impl<'a> Execute<'a> {
    /// `sql` as text, once, with the driver's own fetch size.
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

/// How a statement goes to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HowRun {
    /// `Statement.execute`.
    Text,
    /// `PreparedStatement`, made and closed each time.
    PreparedEachTime,
    /// `PreparedStatement`, made when the connection first runs it.
    PreparedOnce,
}

/// A value of a parameter.
#[derive(Debug, Clone, PartialEq)]
pub enum Parameter {
    /// `setObject(null)`.
    Null,
    /// `setInt` where it fits, else `setLong`.
    Whole(i64),
    /// `setDouble`.
    Fraction(f64),
    /// `setString`.
    Text(String),
    /// `setBoolean`.
    Truth(bool),
}

/// What a request came to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Executed {
    /// Of each execution, by `System.nanoTime` around the driver's calls up to the end of its last result; of
    /// requests that do one thing only, empty.
    pub durations: Vec<Duration>,
    /// All of them together.
    pub duration: Duration,
    /// Rows that came.
    pub rows: u64,
    /// Rows that were changed, as the driver counts them.
    pub changed: u64,
    /// Bytes alive on the heap at the fullest moment beyond those before; `None` if it was not measured.
    pub heap: Option<u64>,
    /// Columns of the last row that was kept: name and value.
    pub kept: Vec<(String, Option<String>)>,
}

/// A column of a table, as JDBC describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its type, a number of `java.sql.Types`.
    pub kind: i32,
    /// Of text, how many letters.
    pub width: i32,
}

impl Column {
    /// `java.sql.Types.INTEGER`.
    pub const INTEGER: i32 = 4;
    /// `java.sql.Types.VARCHAR`.
    pub const VARCHAR: i32 = 12;
}

/// Rows that the bridge makes and inserts, and the commit behind them where autocommit is off.
#[derive(Debug, Clone)]
pub struct Insert<'a> {
    /// How they go to the server.
    pub how: HowInserted,
    /// What comes before `values`: `insert into t (a, b)`.
    pub insert: &'a str,
    /// The columns that it names.
    pub columns: &'a [Column],
    /// How many rows.
    pub rows: u64,
    /// Rows of one batch or statement.
    pub size: u64,
    /// Whether the heap is weighed before the first batch goes; that run's time is of no use.
    pub weigh: bool,
}

/// How rows go to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HowInserted {
    /// `Statement.executeUpdate` with the values in its text.
    Text,
    /// `PreparedStatement.executeUpdate`.
    Prepared,
    /// `addBatch` and `executeBatch`.
    Batch,
    /// A statement with as many rows of placeholders.
    ManyRows,
}

/// Each row of a result read and then changed, and the commit behind it where autocommit is off.
#[derive(Debug, Clone)]
pub struct Update<'a> {
    /// How.
    pub how: HowUpdated,
    /// The query, `for update`, whose first column is the key.
    pub select: &'a str,
    /// The change: its placeholders are the value and the key.
    pub update: &'a str,
    /// The column that is changed in the result itself.
    pub column: &'a str,
    /// What it is changed to.
    pub value: &'a str,
    /// `setFetchSize` of the query; 0 leaves the driver's own.
    pub fetch_size: i32,
    /// Updates of one batch.
    pub batch: u64,
}

/// How a row that was read is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HowUpdated {
    /// By a prepared update of its key.
    ByKey,
    /// By `ResultSet.updateRow`.
    InResult,
    /// By its key, many in a batch.
    Batch,
}
