//! SQL load: clients of PostgreSQL, MySQL or MariaDB that run scripts, each run an operation.

mod client;
mod machine;
mod prepared;

use super::engine::machine::{Kind, Opened, Site, session_options};
use super::engine::{RunContext, multiplexed, threaded};
use super::shell;
use super::{Birth, LoadError, LoadOutcome, QueryMode, Workload};
use ::client::Watch;
use ::client::session::{Session, SessionOptions};
use ::client::{mysql, postgres};
use machine::SqlMachine;
use model::ConnectionId;
use prepared::Compiled;
use script::{Quoting, Scripts};
use std::net::SocketAddr;
use sys::target::{Scheme, Target};

/// Scripts run by clients of a database: each client chooses one by its weight, runs it, and that is an operation.
/// Statements are sent one by one, each when the reply to the last is complete (but in pipelines). Results are counted to
/// their end and forgotten, except those a script keeps.
#[derive(Debug)]
pub struct SqlLoad {
    target: Target,
    address: Option<SocketAddr>,
    scripts: Scripts,
    mode: QueryMode,
    reconnect: bool,
    dialect: Dialect,
    /// By [`script::Statement::number`].
    statements: Vec<Compiled>,
}

/// What is said to a database of some protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    Postgres,
    Mysql,
}

impl SqlLoad {
    /// `scripts` run by clients of the database `target`, their statements sent as `mode` says.
    ///
    /// # Errors
    /// [`LoadError::Scheme`] when there is no SQL load for such a target; [`LoadError::Script`] when the scripts do not go
    /// with the mode, [`LoadError::NoScript`] when there is none.
    pub fn new(target: &Target, mut scripts: Scripts, mode: QueryMode) -> Result<Self, LoadError> {
        let dialect = Dialect::of(target)?;
        if scripts.list().is_empty() {
            return Err(LoadError::NoScript);
        }
        scripts.check(mode)?;
        scripts.on_shell(shell::run);
        let statements = || scripts.list().iter().flat_map(|script| script.statements());
        let reads_replies =
            mode != QueryMode::Simple || statements().any(|statement| statement.keep().is_some());
        if is_compressed(target, dialect) && reads_replies {
            return Err(LoadError::Compressed);
        }
        let statements = prepared::compile(&scripts, dialect, mode);
        Ok(Self {
            target: target.clone(),
            address: None,
            scripts,
            mode,
            reconnect: false,
            dialect,
            statements,
        })
    }

    /// The same at a known address of the target's host: nobody is asked for it.
    #[must_use]
    pub fn at(self, address: SocketAddr) -> Self {
        Self {
            address: Some(address),
            ..self
        }
    }

    /// Whether the server compresses its replies.
    fn is_compressed(&self) -> bool {
        is_compressed(&self.target, self.dialect)
    }

    /// The same with a connection of its own for each operation: connecting and logging in are part of it. Otherwise a
    /// client connects once, and a duration is that of the script.
    #[must_use]
    pub fn reconnecting(self, reconnect: bool) -> Self {
        Self { reconnect, ..self }
    }
}

/// PostgreSQL has no such thing: a parameter of that name is somebody else's.
fn is_compressed(target: &Target, dialect: Dialect) -> bool {
    target.compression && dialect == Dialect::Mysql
}

impl Dialect {
    pub(crate) fn of(target: &Target) -> Result<Self, LoadError> {
        match target.scheme {
            Scheme::Postgres | Scheme::Kingbase => Ok(Self::Postgres),
            Scheme::Mysql | Scheme::Mariadb => Ok(Self::Mysql),
            Scheme::Http
            | Scheme::Tcp
            | Scheme::Oracle
            | Scheme::SqlServer
            | Scheme::Redis
            | Scheme::Informix
            | Scheme::Drda => Err(LoadError::Scheme {
                scheme: target.scheme.name(),
            }),
        }
    }
}

impl Workload for SqlLoad {}

impl super::Runs for SqlLoad {
    fn run(&self, context: &RunContext<'_>) -> Result<LoadOutcome, LoadError> {
        if self.reconnect {
            threaded::run(context, self.scripts(), |birth| {
                client::Reconnecting::new(self, birth, context)
            })
        } else {
            multiplexed::run(self, context)
        }
    }
}

impl Kind for SqlLoad {
    type Machine<'k> = SqlMachine<'k>;

    fn machine<'k>(&'k self, birth: &Birth<'_>) -> SqlMachine<'k> {
        SqlMachine::new(self, birth)
    }

    fn open(
        &self,
        birth: &Birth<'_>,
        watch: Option<&Watch<'_>>,
        id: &dyn Fn() -> ConnectionId,
    ) -> Result<Option<Opened>, LoadError> {
        let options = SessionOptions {
            address: self.address,
            compression: self.is_compressed(),
            ..session_options(birth, watch, id)
        };
        let session = Session::open(&self.target, options)?;
        Ok(Some(Opened::of(session, watch)))
    }

    fn site(&self) -> Option<Site<'_>> {
        None
    }

    fn scripts(&self) -> usize {
        self.scripts.list().len()
    }

    fn farewell(&self) -> &'static [u8] {
        match self.dialect {
            Dialect::Postgres => postgres::GOODBYE,
            Dialect::Mysql if self.is_compressed() => mysql::GOODBYE_IN_BLOCK,
            Dialect::Mysql => mysql::GOODBYE,
        }
    }
}

/// How the databases that a scheme stands for write string constants.
pub const fn quoting(scheme: Scheme) -> Quoting {
    match scheme {
        Scheme::Mysql | Scheme::Mariadb => Quoting::Backslash,
        Scheme::Postgres
        | Scheme::Kingbase
        | Scheme::Http
        | Scheme::Tcp
        | Scheme::Oracle
        | Scheme::SqlServer
        | Scheme::Redis
        | Scheme::Informix
        | Scheme::Drda => Quoting::Standard,
    }
}
