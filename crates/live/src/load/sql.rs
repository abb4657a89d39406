//! SQL load: the statements of a script, one after another, as one operation.

mod mysql;
mod postgres;

use super::conversation::{Conversation, Reply};
use super::script::{Action, Scripts, Values};
use super::{Birth, Client, Deadline, LoadError, Workload};
use crate::target::{Scheme, Target, TlsMode};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// Statements run in order, each sent when the reply to the last is complete; all of them together are an operation.
/// Results are counted to their end and forgotten.
#[derive(Debug, Clone)]
pub struct SqlLoad {
    target: Target,
    address: SocketAddr,
    scripts: Scripts,
    reconnect: bool,
    dialect: Dialect,
}

/// What is said to a database of some protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dialect {
    Postgres,
    Mysql,
}

impl SqlLoad {
    /// `scripts` run by clients, as text, of the database `target`, whose host is at `address`. With `reconnect` each operation
    /// has its own connection, and connecting and logging in are part of it; without it a client connects once, and a
    /// duration is that of the statements.
    ///
    /// # Errors
    /// [`LoadError::Scheme`] when there is no SQL load for such a target, [`LoadError::Tls`] when it asks for TLS.
    pub fn new(
        target: &Target,
        address: SocketAddr,
        scripts: Scripts,
        reconnect: bool,
    ) -> Result<Self, LoadError> {
        let dialect = match target.scheme {
            Scheme::Postgres | Scheme::Kingbase => Dialect::Postgres,
            Scheme::Mysql | Scheme::Mariadb => Dialect::Mysql,
            Scheme::Http
            | Scheme::Tcp
            | Scheme::Oracle
            | Scheme::SqlServer
            | Scheme::Redis
            | Scheme::Informix => {
                return Err(LoadError::Scheme {
                    scheme: target.scheme.name(),
                });
            }
        };
        if target.tls != TlsMode::Disable {
            return Err(LoadError::Tls);
        }
        Ok(Self {
            target: target.clone(),
            address,
            scripts,
            reconnect,
            dialect,
        })
    }
}

impl Workload for SqlLoad {
    fn client<'a>(&'a self, birth: &Birth<'a>) -> Result<Box<dyn Client + 'a>, LoadError> {
        let mut client = SqlClient {
            load: self,
            birth: *birth,
            connection: None,
            values: self.scripts.values(birth.number, birth.number + 1, birth.seed),
            text: Vec::new(),
        };
        if !self.reconnect {
            let deadline = Deadline::after(birth.timeout);
            client.connection = Some(client.connect(&deadline)?);
        }
        Ok(Box::new(client))
    }
}

struct SqlClient<'a> {
    load: &'a SqlLoad,
    birth: Birth<'a>,
    connection: Option<Conversation<'a>>,
    values: Values,
    /// The request that is being sent.
    text: Vec<u8>,
}

impl<'a> SqlClient<'a> {
    fn connect(&self, deadline: &Deadline) -> Result<Conversation<'a>, LoadError> {
        let (target, address) = (&self.load.target, self.load.address);
        match self.load.dialect {
            Dialect::Postgres => postgres::connect(target, address, &self.birth, deadline),
            Dialect::Mysql => mysql::connect(target, address, &self.birth, deadline),
        }
    }

    /// Runs a script once.
    fn run(&mut self, connection: &mut Conversation<'_>, deadline: &Deadline) -> Result<(), LoadError> {
        let load = self.load;
        let Some(script) = self.values.choose(&load.scripts) else {
            return Ok(());
        };
        let mut at = 0;
        loop {
            match self.values.next(script, &mut at)? {
                Action::Statement(statement) => {
                    self.text.clear();
                    load.dialect
                        .write(&mut self.text, |text| self.values.write(statement, text));
                    connection.send(&self.text, deadline)?;
                    let reply = load.dialect.reply(connection, deadline)?;
                    if let Some((code, text)) = reply.error {
                        let number = statement.number() + 1;
                        return Err(LoadError::Statement { number, code, text });
                    }
                }
                Action::Sleep(pause) => std::thread::sleep(pause),
                Action::StartPipeline | Action::SyncPipeline | Action::EndPipeline => {}
                Action::End => return Ok(()),
            }
        }
    }
}

impl Client for SqlClient<'_> {
    fn operate(&mut self) -> Result<Duration, LoadError> {
        let deadline = Deadline::after(self.birth.timeout);
        let started = Instant::now();
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => self.connect(&deadline)?,
        };
        self.run(&mut connection, &deadline)?;
        let took = connection.last_read().saturating_duration_since(started);
        if self.load.reconnect {
            self.load.dialect.leave(&mut connection, &deadline);
        } else {
            self.connection = Some(connection);
        }
        Ok(took)
    }
}

impl Drop for SqlClient<'_> {
    fn drop(&mut self) {
        if let Some(mut connection) = self.connection.take() {
            self.load
                .dialect
                .leave(&mut connection, &Deadline::after(LEAVE_WITHIN));
        }
    }
}

impl Dialect {
    /// Puts the statement that `text` writes into one request.
    fn write(self, request: &mut Vec<u8>, text: impl FnOnce(&mut Vec<u8>)) {
        match self {
            Self::Postgres => postgres::query(request, text),
            Self::Mysql => mysql::query(request, text),
        }
    }

    /// Waits for the complete reply; refuses data that the server asks for in the middle of it.
    fn reply(self, connection: &mut Conversation<'_>, deadline: &Deadline) -> Result<Reply, LoadError> {
        let reply = connection.reply(deadline)?;
        if !reply.paused {
            return Ok(reply);
        }
        let refusal = match self {
            Self::Postgres => postgres::REFUSAL,
            Self::Mysql => mysql::REFUSAL,
        };
        connection.send(refusal, deadline)?;
        connection.reply(deadline)
    }

    /// Says goodbye, so that the server does not log a client that only hung up. Best effort.
    fn leave(self, connection: &mut Conversation<'_>, deadline: &Deadline) {
        let goodbye = match self {
            Self::Postgres => postgres::GOODBYE,
            Self::Mysql => mysql::GOODBYE,
        };
        // The work is done: whether the server hears it changes nothing.
        connection.send(goodbye, deadline).ok();
    }
}

const LEAVE_WITHIN: Duration = Duration::from_millis(200);
