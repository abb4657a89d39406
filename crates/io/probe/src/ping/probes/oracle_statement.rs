//! A statement on Oracle Database, in a session opened by its own driver.

use super::Probe;
use crate::ping::plain::{Answer, ProbeContext};
use crate::ping::{Opened, PingError};
use client::session::oracle::OracleSession;

/// `select 1 from dual`, or the user's statement. The driver prepares it once, then executes it.
pub(super) struct OracleStatement<'a> {
    context: ProbeContext<'a>,
    sql: String,
    session: Option<OracleSession<'a>>,
}

impl<'a> OracleStatement<'a> {
    pub(super) fn new(context: ProbeContext<'a>, sql: Option<&str>) -> Self {
        Self {
            context,
            sql: sql.unwrap_or("select 1 from dual").to_owned(),
            session: None,
        }
    }
}

impl Probe for OracleStatement<'_> {
    fn open(&mut self) -> Result<Opened, PingError> {
        let session = OracleSession::open(self.context.target, self.context.session_options())?;
        let opening = Opened {
            server: session.server(),
            version: Some(session.server_version().to_owned()),
            question: "a query, by Oracle's own driver".to_owned(),
            caution: Some(
                "longwire's login to Oracle was tried against a scripted listener only, never a database",
            ),
            legs: session.legs().to_vec(),
            ..Opened::default()
        };
        self.session = Some(session);
        Ok(opening)
    }

    fn send_request(&mut self) -> Result<Answer, PingError> {
        let session = self.session.as_mut().ok_or(PingError::Closed)?;
        let reply = session.query(&self.sql, self.context.timeout)?;
        Ok(Answer::from_reply(reply, session.kernel()))
    }

    fn close(&mut self) {
        self.session = None;
    }
}
