//! Clients of PostgreSQL, MySQL or MariaDB run scripts; each run is an operation.

mod client;
mod machine;
mod prepared;

use super::engine::machine::{Kind, Opened, Site, session_options};
use super::engine::{RunContext, multiplexed, threaded};
use super::shell;
use super::{ClientSpec, Error, Outcome, QueryMode, Workload};
use crate::script::{Quoting, Scripts};
use ::client::Watch;
use ::client::session::{Session, SessionOptions};
use ::client::{SqlProtocol, mysql};
use machine::SqlMachine;
use model::ConnectionId;
use prepared::Compiled;
use std::net::SocketAddr;
use std::time::Duration;
use sys::target::{Scheme, Target};

/// Each client picks a script by weight for each operation. Outside of pipelines, each statement
/// waits for the previous reply. Results are read and discarded unless a script keeps them.
#[derive(Debug)]
pub struct SqlLoad {
    target: Target,
    address: Option<SocketAddr>,
    scripts: Scripts,
    mode: QueryMode,
    reconnect: bool,
    pause: Option<Duration>,
    protocol: SqlProtocol,
    statements: Vec<Compiled>,
}

impl SqlLoad {
    /// Fails with [`Error::Scheme`] if the target does not support SQL load,
    /// [`Error::Script`] if the scripts do not support the mode, or [`Error::NoScript`]
    /// without a script.
    pub fn new(target: &Target, mut scripts: Scripts, mode: QueryMode) -> Result<Self, Error> {
        let protocol = protocol_of(target)?;
        if scripts.list().is_empty() {
            return Err(Error::NoScript);
        }
        scripts.check(mode)?;
        scripts.on_shell(shell::run);
        let statements = || scripts.list().iter().flat_map(|script| script.statements());
        let reads_replies =
            mode != QueryMode::Simple || statements().any(|statement| statement.keep().is_some());
        if is_compressed(target, protocol) && reads_replies {
            return Err(Error::Compressed);
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

    /// Connects without name resolution.
    #[must_use]
    pub fn at(self, address: SocketAddr) -> Self {
        Self {
            address: Some(address),
            ..self
        }
    }

    /// Pauses before each request that a client waits for: emulates distance without delaying
    /// packets.
    #[must_use]
    pub fn pausing(self, pause: Duration) -> Self {
        Self {
            pause: (!pause.is_zero()).then_some(pause),
            ..self
        }
    }

    fn is_compressed(&self) -> bool {
        is_compressed(&self.target, self.protocol)
    }

    /// Opens a new connection for each operation; connecting and login are then timed too.
    /// Otherwise a client connects once, and only the script is timed.
    #[must_use]
    pub fn reconnecting(self, reconnect: bool) -> Self {
        Self { reconnect, ..self }
    }
}

/// PostgreSQL has no compression: a parameter of that name has another meaning.
fn is_compressed(target: &Target, protocol: SqlProtocol) -> bool {
    target.compression && protocol == SqlProtocol::Mysql
}

pub(crate) fn protocol_of(target: &Target) -> Result<SqlProtocol, Error> {
    let scheme = target.scheme;
    SqlProtocol::from_scheme(scheme).ok_or(Error::Scheme {
        scheme: scheme.name(),
    })
}

impl Workload for SqlLoad {}

impl super::Runs for SqlLoad {
    fn run(&self, context: &RunContext<'_>) -> Result<Outcome, Error> {
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
    ) -> Result<Option<Opened>, Error> {
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

pub const fn quoting(scheme: Scheme) -> Quoting {
    match SqlProtocol::from_scheme(scheme) {
        Some(SqlProtocol::Mysql) => Quoting::Backslash,
        Some(SqlProtocol::Postgres) | None => Quoting::Standard,
    }
}
