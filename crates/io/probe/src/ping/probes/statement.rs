//! A minimal statement in a logged-in session of PostgreSQL or MySQL.

use super::Probe;
use crate::ping::plain::{Answer, ProbeContext};
use crate::ping::{AnswerTime, Opened, PingError};
use client::session::{Reply, Session, SessionOptions};
use client::{mysql, postgres};
use model::Protocol;
use std::time::Duration;
use sys::target::Scheme;

/// The minimal statement reads how long it has taken on the server so far.
pub(super) struct Statement<'a> {
    context: ProbeContext<'a>,
    session: Option<Session<'a>>,
    /// Whether opening was tried: the server is asked only once which other protocol it speaks.
    was_tried: bool,
    asked: Asked,
    /// Whether the prepared statement exists on this connection.
    is_prepared: Option<bool>,
    caution: Option<&'static str>,
}

#[derive(PartialEq, Eq)]
enum Asked {
    /// The minimal statement, for the server's own time.
    Time,
    /// The user's statement, with its result ignored.
    Text(String),
}

impl<'a> Statement<'a> {
    pub(super) fn new(context: ProbeContext<'a>, sql: Option<&str>, prepared: bool) -> Self {
        let asked = match sql {
            Some(sql) => Asked::Text(sql.to_owned()),
            // The result of a prepared statement is not read.
            None if prepared => Asked::Text(NOTHING.to_owned()),
            None => Asked::Time,
        };
        Self {
            context,
            session: None,
            was_tried: false,
            asked,
            is_prepared: prepared.then_some(false),
            caution: None,
        }
    }

    fn text(&self) -> &str {
        match &self.asked {
            Asked::Time if is_mysql(self.context.target.scheme) => MYSQL_TIME,
            Asked::Time => POSTGRES_TIME,
            Asked::Text(sql) => sql,
        }
    }

    /// Returns the server time in the result, too.
    fn query(&mut self) -> Result<(Reply, Option<Duration>), PingError> {
        let sql = self.text().to_owned();
        let session = self.session.as_mut().ok_or(PingError::Closed)?;
        let mut rows = session.query(&sql, self.context.timeout)?;
        if self.asked == Asked::Time && rows.reply.error.is_some() {
            // Servers that only share the protocol may not support this statement.
            self.asked = Asked::Text(NOTHING.to_owned());
            self.caution = Some(
                "the server does not report its own time: it is part of the round-trip time; the statement is `select 1`",
            );
            rows = session.query(NOTHING, self.context.timeout)?;
        }
        let told = match &self.asked {
            Asked::Time => rows
                .first()
                .and_then(|text| told(self.context.target.scheme, text)),
            Asked::Text(_) => None,
        };
        Ok((rows.reply, told))
    }

    /// The time to prepare the statement first, if needed, counts too.
    fn execute(&mut self) -> Result<Reply, PingError> {
        let scheme = self.context.target.scheme;
        let [prepare, execute] = match is_mysql(scheme) {
            true => mysql_requests(self.text()),
            false => postgres_requests(self.text()),
        };
        let session = self.session.as_mut().ok_or(PingError::Closed)?;
        let mut prepared = None;
        if self.is_prepared == Some(false) {
            let reply = session.exchange(&prepare, self.context.timeout)?;
            if reply.error.is_some() {
                return Ok(reply);
            }
            self.is_prepared = Some(true);
            prepared = Some(reply);
        }
        let executed = session.exchange(&execute, self.context.timeout)?;
        Ok(match prepared {
            None => executed,
            Some(before) => Reply {
                sent_at: before.sent_at,
                turns: before.turns + executed.turns,
                request_bytes: before.request_bytes + executed.request_bytes,
                reply_bytes: before.reply_bytes + executed.reply_bytes,
                ..executed
            },
        })
    }
}

impl Probe for Statement<'_> {
    fn open(&mut self) -> Result<Opened, PingError> {
        let options = SessionOptions {
            asks_otherwise: !std::mem::replace(&mut self.was_tried, true),
            ..self.context.session_options()
        };
        let session = Session::open(self.context.target, options)?;
        self.is_prepared = self.is_prepared.map(|_| false);
        let how = match self.is_prepared {
            Some(_) => "prepared: ",
            None => "",
        };
        let opening = Opened {
            server: session.server(),
            version: session.server_version().map(str::to_owned),
            question: format!("{how}{}", shown(self.text())),
            legs: session.legs().to_vec(),
            answer_time: match self.asked {
                Asked::Time => AnswerTime::Reported,
                Asked::Text(_) => AnswerTime::Unknown,
            },
            ..Opened::default()
        };
        self.session = Some(session);
        Ok(opening)
    }

    fn send_request(&mut self) -> Result<Answer, PingError> {
        let (reply, server) = match self.is_prepared {
            None => self.query()?,
            Some(_) => (self.execute()?, None),
        };
        let kernel = self.session.as_ref().and_then(Session::kernel);
        Ok(Answer {
            server,
            ..Answer::from_reply(reply, kernel)
        })
    }

    fn caution(&mut self) -> Option<&'static str> {
        self.caution.take()
    }

    fn close(&mut self) {
        // After an error, the server expects no goodbye.
        self.session = None;
    }
}

impl Drop for Statement<'_> {
    fn drop(&mut self) {
        if let Some(session) = self.session.take() {
            session.close();
        }
    }
}

const fn is_mysql(scheme: Scheme) -> bool {
    matches!(scheme.protocol(), Protocol::Mysql)
}

/// PostgreSQL reports server time in seconds, MySQL in microseconds. Zero means unknown, since
/// MySQL with `--sysdate-is-now` always reports it.
fn told(scheme: Scheme, text: &str) -> Option<Duration> {
    let span = match is_mysql(scheme) {
        true => Duration::from_micros(text.parse().ok()?),
        false => Duration::try_from_secs_f64(text.parse().ok()?).ok()?,
    };
    Some(span).filter(|span| !span.is_zero())
}

/// Shortens a statement for one line. Literals stay, since the user typed them.
pub(super) fn shown(sql: &str) -> String {
    match sql.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", sql.get(..end).unwrap_or_default()),
        None => sql.to_owned(),
    }
}

/// Parse and Sync, then Bind, Execute and Sync, as libpq's PQprepare and PQexecPrepared.
fn postgres_requests(sql: &str) -> [Vec<u8>; 2] {
    let (mut prepare, mut execute) = (Vec::new(), Vec::new());
    postgres::parse(&mut prepare, NAME, sql);
    prepare.extend_from_slice(postgres::SYNC);
    postgres::bind(&mut execute, ["", NAME], 0, |_, _| false, &[]);
    postgres::execute(&mut execute, "", 0);
    execute.extend_from_slice(postgres::SYNC);
    [prepare, execute]
}

/// COM_STMT_PREPARE, then COM_STMT_EXECUTE of statement 1, the first number of a connection.
fn mysql_requests(sql: &str) -> [Vec<u8>; 2] {
    let (mut prepare, mut execute) = (Vec::new(), Vec::new());
    mysql::prepare(&mut prepare, sql);
    mysql::execute(&mut execute, 1, 0, |_, _| mysql::ParameterType::Null);
    [prepare, execute]
}

/// From the arrival of the statement to the evaluation of this expression, in seconds.
const POSTGRES_TIME: &str = "select extract(epoch from clock_timestamp() - statement_timestamp())";
/// In microseconds, from now(), the start of the statement, to sysdate(), the time of evaluation.
const MYSQL_TIME: &str = "select timestampdiff(microsecond, now(6), sysdate(6))";
const NOTHING: &str = "select 1";
const NAME: &str = "longwire_ping";
const SHOWN: usize = 120;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_tell_their_time_each_in_its_own_way() {
        let (postgres, mysql) = (
            Scheme::from_protocol(Protocol::Postgres),
            Scheme::from_protocol(Protocol::Mysql),
        );
        let told = |scheme, text| told(scheme, text).map(|span| span.as_micros());
        assert_eq!(told(postgres, "0.000123"), Some(123));
        assert_eq!(told(postgres, "1.2e-05"), Some(12));
        assert_eq!(told(postgres, "-0.000123"), None);
        assert_eq!(told(mysql, "87"), Some(87));
        assert_eq!(told(mysql, "0"), None);
        assert_eq!(told(mysql, "soon"), None);
    }
}
