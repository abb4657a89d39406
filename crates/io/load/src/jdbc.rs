//! SQL load through a JDBC driver. Each client has a thread here and one in the bridge.

use super::engine::threaded::{Client, Operated};
use super::engine::{RunContext, threaded};
use super::shell;
use super::{ClientSpec, Error, Outcome, QueryMode, Workload};
use crate::script::{Action, Keep, Scripts, Statement, Values};
use crate::script::{Placeholder, Scalar, Value};
use client::bridge::{
    Bridge, BridgeConnection, BridgeError, Execute, Executed, HowRun, Login, Parameter, Wait,
};
use client::session::Deadline;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A duration is the sum of the driver's calls, by Java's clock, and the script's pauses; with a
/// connection per operation, also of connecting. The bridge's own overhead is excluded.
#[derive(Debug)]
pub struct JdbcLoad {
    bridge: Arc<Bridge>,
    login: Login,
    scripts: Scripts,
    mode: QueryMode,
    reconnect: bool,
}

impl JdbcLoad {
    /// Fails with [`Error::Script`] if the scripts do not support the mode, or
    /// [`Error::NoScript`] without a script.
    pub fn new(
        bridge: Arc<Bridge>,
        login: Login,
        mut scripts: Scripts,
        mode: QueryMode,
    ) -> Result<Self, Error> {
        if scripts.list().is_empty() {
            return Err(Error::NoScript);
        }
        scripts.check(mode)?;
        scripts.on_shell(shell::run);
        Ok(Self {
            bridge,
            login,
            scripts,
            mode,
            reconnect: false,
        })
    }

    #[must_use]
    pub fn reconnecting(self, reconnect: bool) -> Self {
        Self { reconnect, ..self }
    }
}

impl Workload for JdbcLoad {}

impl super::Runs for JdbcLoad {
    fn run(&self, context: &RunContext<'_>) -> Result<Outcome, Error> {
        let stop = &context.control.stop;
        let began = Instant::now();
        let mut ready = VecDeque::new();
        let clients = if self.reconnect {
            1
        } else {
            context.plan.clients.max(1)
        };
        for _ in 0..clients {
            let wait = Wait {
                timeout: context.plan.timeout.max(MIN_CONNECT_TIMEOUT),
                stop,
            };
            ready.push_back(self.bridge.connect(&self.login, wait)?.0);
        }
        let connecting = began.elapsed();
        let ready = Mutex::new(ready);
        let outcome = threaded::run(context, self.scripts.list().len(), |client_spec| {
            let mut ready = ready.lock().unwrap_or_else(PoisonError::into_inner);
            JdbcClient {
                load: self,
                connection: ready.pop_front().filter(|_| !self.reconnect),
                values: self
                    .scripts
                    .values(client_spec.number, client_spec.clients, client_spec.seed),
                context,
                client_spec,
            }
        });
        outcome.map(|outcome| Outcome {
            connecting,
            ..outcome
        })
    }
}

struct JdbcClient<'g> {
    load: &'g JdbcLoad,
    connection: Option<BridgeConnection>,
    values: Values,
    context: &'g RunContext<'g>,
    client_spec: ClientSpec<'g>,
}

impl JdbcClient<'_> {
    fn wait(&self, deadline: &Deadline) -> Result<Wait<'_>, Error> {
        Ok(Wait {
            timeout: deadline.left()?,
            stop: self.client_spec.stop,
        })
    }

    /// The open connection, or a new one and the time it took.
    fn connection(&mut self, deadline: &Deadline) -> Result<(BridgeConnection, Duration), Error> {
        if let Some(connection) = self.connection.take() {
            return Ok((connection, Duration::ZERO));
        }
        let (connection, who) = self.load.bridge.connect(&self.load.login, self.wait(deadline)?)?;
        Ok((connection, who.duration))
    }

    fn converse(
        &mut self,
        connection: &mut BridgeConnection,
        deadline: &Deadline,
    ) -> Result<Operated, Error> {
        let scripts = &self.load.scripts;
        let mut operated = Operated::default();
        let Some(script) = self.values.choose(scripts) else {
            return Err(Error::NoScript);
        };
        operated.script = scripts
            .list()
            .iter()
            .position(|other| std::ptr::eq(other, script))
            .unwrap_or_default();
        let mut at = 0;
        loop {
            match self.values.next(script, &mut at)? {
                Action::End => return Ok(operated),
                Action::StartPipeline | Action::SyncPipeline | Action::EndPipeline => {
                    return Err(Error::Pipeline);
                }
                Action::Sleep(pause) => {
                    let slept = Instant::now();
                    self.context.sleep(pause)?;
                    operated.duration += slept.elapsed();
                }
                Action::Statement(statement) => {
                    let executed = self.execute(connection, statement, deadline)?;
                    operated.duration += executed.duration;
                    if let Some(keep) = statement.keep() {
                        self.keep(keep, statement, &executed)?;
                    }
                }
            }
        }
    }

    fn execute(
        &self,
        connection: &mut BridgeConnection,
        statement: &Statement,
        deadline: &Deadline,
    ) -> Result<Executed, Error> {
        let mut sql = Vec::new();
        let parameters: Vec<Parameter> = match self.load.mode {
            QueryMode::Simple => {
                self.values.write(statement, &mut sql);
                Vec::new()
            }
            QueryMode::Extended | QueryMode::Prepared => {
                sql.extend(statement.prepared_text(Placeholder::Question).bytes());
                statement
                    .parameters()
                    .map(|variable| self.parameter(variable))
                    .collect()
            }
        };
        let sql = String::from_utf8_lossy(&sql);
        let execute = Execute {
            how: match self.load.mode {
                QueryMode::Simple => HowRun::Text,
                QueryMode::Extended => HowRun::PreparedEachTime,
                QueryMode::Prepared => HowRun::PreparedOnce,
            },
            parameters: &parameters,
            keep: statement.keep().is_some(),
            ..Execute::text(sql.trim_end_matches(';'))
        };
        connection
            .execute(&execute, self.wait(deadline)?)
            .map_err(|error| match error {
                BridgeError::Sql { code, text } => Error::Statement {
                    number: statement.number() + 1,
                    code,
                    text,
                },
                other => other.into(),
            })
    }

    fn parameter(&self, variable: usize) -> Parameter {
        match self.values.value(variable) {
            None | Some(Value::Computed(Scalar::Null)) => Parameter::Null,
            Some(Value::Computed(Scalar::Boolean(truth))) => Parameter::Truth(*truth),
            Some(Value::Computed(Scalar::Integer(number))) => Parameter::Whole(*number),
            Some(Value::Computed(Scalar::Double(number))) => Parameter::Fraction(*number),
            Some(Value::Text(text)) => match text.parse() {
                // Values of `-D` and `\gset` are texts that mostly stand for numbers.
                Ok(number) => Parameter::Whole(number),
                Err(_) => Parameter::Text(text.to_string()),
            },
        }
    }

    fn keep(&mut self, keep: &Keep, statement: &Statement, executed: &Executed) -> Result<(), Error> {
        if matches!(keep, Keep::One { .. }) && executed.rows != 1 {
            return Err(Error::NotOneRow {
                number: statement.number() + 1,
            });
        }
        for (column, value) in &executed.kept {
            // Some databases fold names to capitals.
            let column = column.to_ascii_lowercase();
            self.values
                .keep(keep, column.as_bytes(), value.as_deref().map(str::as_bytes));
        }
        Ok(())
    }
}

impl Client for JdbcClient<'_> {
    /// After an error the connection is not reused.
    fn operate(&mut self) -> Result<Operated, Error> {
        let deadline = Deadline::after(self.client_spec.timeout);
        let (mut connection, connecting) = self.connection(&deadline)?;
        let mut operated = self.converse(&mut connection, &deadline)?;
        if self.load.reconnect {
            operated.duration += connecting;
            connection.close(self.wait(&deadline)?)?;
        } else {
            self.connection = Some(connection);
        }
        Ok(operated)
    }
}

const MIN_CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
