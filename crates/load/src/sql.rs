//! SQL load: clients of PostgreSQL, MySQL or MariaDB that run scripts, each run an operation.

mod client;
mod machine;
mod prepared;

use super::engine::machine::{Kind, Opened, Site, session_options};
use super::engine::{RunContext, multiplexed, threaded};
use super::shell;
use super::{ClientSpec, LoadError, LoadOutcome, QueryMode, Workload};
use ::client::Watch;
use ::client::session::{Session, SessionOptions};
use ::client::{SqlProtocol, mysql};
use machine::SqlMachine;
use model::ConnectionId;
use prepared::Compiled;
use script::{Quoting, Scripts};
use std::net::SocketAddr;
use std::time::Duration;
use sys::target::{Scheme, Target};

/// Scripts run by clients of a database: each client chooses one by its weight, runs it, and that is an
/// operation. Statements are sent one by one, each when the reply to the last is complete (but in pipelines).
/// Results are counted to their end and forgotten, except those a script keeps.
#[derive(Debug)]
pub struct SqlLoad {
    target: Target,
    address: Option<SocketAddr>,
    scripts: Scripts,
    mode: QueryMode,
    reconnect: bool,
    pause: Option<Duration>,
    protocol: SqlProtocol,
    /// By [`script::Statement::number`].
    statements: Vec<Compiled>,
}

impl SqlLoad {
    /// `scripts` run by clients of the database `target`, their statements sent as `mode` says.
    ///
    /// # Errors
    /// [`LoadError::Scheme`] when there is no SQL load for such a target; [`LoadError::Script`] when the
    /// scripts do not go with the mode, [`LoadError::NoScript`] when there is none.
    pub fn new(target: &Target, mut scripts: Scripts, mode: QueryMode) -> Result<Self, LoadError> {
        let protocol = protocol_of(target)?;
        if scripts.list().is_empty() {
            return Err(LoadError::NoScript);
        }
        scripts.check(mode)?;
        scripts.on_shell(shell::run);
        let statements = || scripts.list().iter().flat_map(|script| script.statements());
        let reads_replies =
            mode != QueryMode::Simple || statements().any(|statement| statement.keep().is_some());
        if is_compressed(target, protocol) && reads_replies {
            return Err(LoadError::Compressed);
        }
        let statements = prepared::compile(&scripts, protocol, mode);
        Ok(Self {
            target: target.clone(),
            address: None,
            scripts,
            mode,
            reconnect: false,
            pause: None,
            protocol,
            statements,
        })
    }

    /// The same at a known address of the target's host: no resolver is asked for it.
    #[must_use]
    pub fn at(self, address: SocketAddr) -> Self {
        Self {
            address: Some(address),
            ..self
        }
    }

    /// The same with a pause before each request that a client waits for: a further distance of that round
    /// trip, without packets that take longer.
    #[must_use]
    pub fn pausing(self, pause: Duration) -> Self {
        Self {
            pause: (!pause.is_zero()).then_some(pause),
            ..self
        }
    }

    /// Whether the server compresses its replies.
    fn is_compressed(&self) -> bool {
        is_compressed(&self.target, self.protocol)
    }

    /// The same with a connection of its own for each operation: connecting and logging in are part of it.
    /// Otherwise a client connects once, and a duration is that of the script.
    #[must_use]
    pub fn reconnecting(self, reconnect: bool) -> Self {
        Self { reconnect, ..self }
    }
}

/// PostgreSQL has no such thing: a parameter of that name has another meaning.
fn is_compressed(target: &Target, protocol: SqlProtocol) -> bool {
    target.compression && protocol == SqlProtocol::Mysql
}

/// The protocol of a target.
pub(crate) fn protocol_of(target: &Target) -> Result<SqlProtocol, LoadError> {
    let scheme = target.scheme;
    SqlProtocol::from_scheme(scheme).ok_or(LoadError::Scheme {
        scheme: scheme.name(),
    })
}

impl Workload for SqlLoad {}

impl super::Runs for SqlLoad {
    fn run(&self, context: &RunContext<'_>) -> Result<LoadOutcome, LoadError> {
        if self.reconnect {
            threaded::run(context, self.scripts(), |client_spec| {
                client::Reconnecting::new(self, client_spec, context)
            })
        } else {
            multiplexed::run(self, context)
        }
    }
}

impl Kind for SqlLoad {
    type Machine<'k> = SqlMachine<'k>;

    fn machine<'k>(&'k self, client_spec: &ClientSpec<'_>) -> SqlMachine<'k> {
        SqlMachine::new(self, client_spec)
    }

    fn open(
        &self,
        client_spec: &ClientSpec<'_>,
        watch: Option<&Watch<'_>>,
        id: &dyn Fn() -> ConnectionId,
    ) -> Result<Option<Opened>, LoadError> {
        let options = SessionOptions {
            address: self.address,
            compression: self.is_compressed(),
            ..session_options(client_spec, watch, id)
        };
        let session = Session::open(&self.target, options)?;
        Ok(Some(Opened::new(session, watch)))
    }

    fn site(&self) -> Option<Site<'_>> {
        None
    }

    fn scripts(&self) -> usize {
        self.scripts.list().len()
    }

    fn farewell(&self) -> &'static [u8] {
        if self.is_compressed() {
            return mysql::GOODBYE_IN_BLOCK;
        }
        self.protocol.goodbye()
    }
}

/// How the databases that a scheme stands for write string constants.
pub const fn quoting(scheme: Scheme) -> Quoting {
    match SqlProtocol::from_scheme(scheme) {
        Some(SqlProtocol::Mysql) => Quoting::Backslash,
        Some(SqlProtocol::Postgres) | None => Quoting::Standard,
    }
}
