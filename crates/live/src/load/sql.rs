//! SQL load: the statements of a script, one after another, as one operation.

use super::script::{Action, Scripts, Values};
use super::{Birth, Client, LoadError, Workload};
use crate::clock::Clock;
use crate::session::{Session, SessionOptions, mysql, postgres};
use crate::target::{Scheme, Target};
use model::Timestamp;
use std::net::SocketAddr;
use std::time::Duration;

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
    /// [`LoadError::Scheme`] when there is no SQL load for such a target.
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
            session: None,
            clock: Clock::anchored_now(),
            values: self.scripts.values(birth.number, birth.number + 1, birth.seed),
            text: Vec::new(),
        };
        if !self.reconnect {
            client.session = Some(client.connect()?);
        }
        Ok(Box::new(client))
    }
}

struct SqlClient<'a> {
    load: &'a SqlLoad,
    birth: Birth<'a>,
    session: Option<Session<'a>>,
    clock: Clock,
    values: Values,
    /// The request that is being sent.
    text: Vec<u8>,
}

impl<'a> SqlClient<'a> {
    fn connect(&self) -> Result<Session<'a>, LoadError> {
        let options = SessionOptions {
            timeout: self.birth.timeout,
            clock: self.clock,
            address: Some(self.load.address),
            ..SessionOptions::new(&self.birth.control.stop)
        };
        Ok(Session::open(&self.load.target, options)?)
    }

    /// Runs a script once; gives when the last reply was complete.
    fn run(&mut self, session: &mut Session<'_>) -> Result<Timestamp, LoadError> {
        let load = self.load;
        let mut ended = self.clock.now();
        let Some(script) = self.values.choose(&load.scripts) else {
            return Ok(ended);
        };
        let mut at = 0;
        loop {
            match self.values.next(script, &mut at)? {
                Action::Statement(statement) => {
                    self.text.clear();
                    load.dialect
                        .write(&mut self.text, |text| self.values.write(statement, text));
                    let reply = session.exchange(&self.text, self.birth.timeout)?;
                    if let Some((code, text)) = reply.error {
                        let number = statement.number() + 1;
                        return Err(LoadError::Statement { number, code, text });
                    }
                    ended = reply.last_byte_at;
                }
                Action::Sleep(pause) => std::thread::sleep(pause),
                Action::StartPipeline | Action::SyncPipeline | Action::EndPipeline => {}
                Action::End => return Ok(ended),
            }
        }
    }
}

impl Client for SqlClient<'_> {
    fn operate(&mut self) -> Result<Duration, LoadError> {
        let started = self.clock.now();
        let mut session = match self.session.take() {
            Some(session) => session,
            None => self.connect()?,
        };
        let ended = self.run(&mut session)?;
        if self.load.reconnect {
            session.close();
        } else {
            self.session = Some(session);
        }
        Ok(ended.since(started))
    }
}

impl Drop for SqlClient<'_> {
    fn drop(&mut self) {
        if let Some(session) = self.session.take() {
            session.close();
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
}
