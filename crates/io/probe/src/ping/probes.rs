//! The kinds of exchange, one file each.

mod connecting;
mod connection;
mod driver;
mod http;
mod http2_settings;
mod icmp;
mod mongodb_ping;
mod mysql_greeting;
mod oracle_listener;
#[cfg(feature = "oracle")]
mod oracle_statement;
mod postgres_request;
mod redis_ping;
mod sqlserver_prelogin;
mod statement;

use super::plain::{Answer, ProbeContext};
use super::{Opened, PingError, PingPlan, Question};
use client::SqlProtocol;
use client::session::SessionError;
use model::{Leg, PerDirection, Phase, Protocol, Timestamp};
use std::net::SocketAddr;
use std::time::Duration;
use sys::resolve;

pub(super) trait Probe {
    fn open(&mut self) -> Result<Opened, PingError>;

    /// After an error the probe is closed and opened again.
    fn send_request(&mut self) -> Result<Answer, PingError>;

    /// Returned once per exchange.
    fn caution(&mut self) -> Option<&'static str> {
        None
    }

    /// Returned once, if the last exchange opened a connection.
    fn legs(&mut self) -> Option<(Timestamp, Vec<Leg>)> {
        None
    }

    fn close(&mut self) {}

    /// The comparable kind of echo, if any, for the instrument's floor.
    fn kind(&self) -> Option<Kind> {
        Some(Kind::Exchange)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Exchange,
    Connecting,
}

pub(super) fn create_probe<'a>(
    plan: &'a PingPlan,
    context: ProbeContext<'a>,
) -> Result<Box<dyn Probe + 'a>, PingError> {
    let scheme = plan.target.scheme;
    let logs_in = match &plan.question {
        Question::Icmp => return Ok(Box::new(icmp::Icmp::new(context))),
        Question::Connect => return Ok(Box::new(connection::Connection::new(context))),
        Question::Driver(question) => return Ok(Box::new(driver::Driver::new(context, question))),
        Question::NoLogin => false,
        Question::Statement { sql, prepared } => {
            if SqlProtocol::from_scheme(scheme).is_some() {
                return Ok(Box::new(statement::Statement::new(
                    context,
                    sql.as_deref(),
                    *prepared,
                )));
            } else if scheme.protocol() == Protocol::Oracle && plan.target.password.is_some() {
                return oracle(context, sql.as_deref(), *prepared);
            } else if sql.is_some() || *prepared {
                return Err(SessionError::NoSql.into());
            }
            true
        }
    };
    Ok(match scheme.protocol() {
        Protocol::Postgres => Box::new(postgres_request::PostgresRequest::new(context)),
        Protocol::Mysql => Box::new(mysql_greeting::MysqlGreeting::new(context)),
        Protocol::Http2 => Box::new(http2_settings::Http2Settings::new(context)),
        protocol if protocol.is_over_http() => Box::new(http::Http::new(context)),
        Protocol::Mongodb => Box::new(mongodb_ping::MongodbPing::new(context)),
        Protocol::Redis => Box::new(redis_ping::RedisPing::new(context, logs_in)),
        Protocol::Oracle => Box::new(oracle_listener::OracleListener::new(context, false)),
        Protocol::Tds => Box::new(sqlserver_prelogin::SqlServerPrelogin::new(context, logs_in)),
        _ => Box::new(connecting::Connecting::new(context)),
    })
}

#[cfg(feature = "oracle")]
fn oracle<'a>(
    context: ProbeContext<'a>,
    sql: Option<&str>,
    prepared: bool,
) -> Result<Box<dyn Probe + 'a>, PingError> {
    // The driver prepares every statement.
    let _ = prepared;
    Ok(Box::new(oracle_statement::OracleStatement::new(context, sql)))
}

/// Without the feature `oracle`: measures without a login, and says so.
#[cfg(not(feature = "oracle"))]
fn oracle<'a>(
    context: ProbeContext<'a>,
    sql: Option<&str>,
    prepared: bool,
) -> Result<Box<dyn Probe + 'a>, PingError> {
    if sql.is_some() || prepared {
        return Err(SessionError::NotBuiltIn { feature: "oracle" }.into());
    }
    Ok(Box::new(oracle_listener::OracleListener::new(context, true)))
}

fn tcp_leg(duration: Duration) -> Leg {
    Leg {
        name: "tcp".into(),
        phase: Phase::Connect,
        duration,
        turns: 1,
        payload_bytes: PerDirection::default(),
        remedy: None,
        saves_turns: 0,
    }
}

/// The connection is closed again.
fn reachable(context: ProbeContext<'_>) -> Result<SocketAddr, PingError> {
    let addresses = resolve::addresses(context.target)?;
    let mut last = PingError::TimedOut {
        after: context.timeout,
    };
    for address in addresses {
        match super::plain::Plain::connect(context, address) {
            Ok(_) => return Ok(address),
            Err(PingError::Stopped) => return Err(PingError::Stopped),
            Err(error) => last = error,
        }
    }
    Err(last)
}
