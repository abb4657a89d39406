//! SQL Server's PRELOGIN, before the login.

use super::{Probe, reachable};
use crate::ping::plain::{Answer, Complete, Plain, ProbeContext};
use crate::ping::{Opened, PingError};
use std::net::SocketAddr;
use wire::tds;

/// Uses a new connection each time, since the server accepts it once. The handshake is not
/// included: one round trip is timed.
pub(super) struct SqlServerPrelogin<'a> {
    context: ProbeContext<'a>,
    address: Option<SocketAddr>,
    request: Vec<u8>,
    login_was_meant: bool,
}

impl<'a> SqlServerPrelogin<'a> {
    pub(super) fn new(context: ProbeContext<'a>, login_was_meant: bool) -> Self {
        Self {
            context,
            address: None,
            request: tds::prelogin(),
            login_was_meant,
        }
    }

    fn converse(&self) -> Result<(Answer, tds::TdsAnswer), PingError> {
        let mut connection = Plain::connect(self.context, self.address.ok_or(PingError::Closed)?)?;
        let at = connection.send(&self.request)?;
        let arrived = connection.receive(whole)?;
        let told = match tds::answer(&arrived.bytes) {
            Ok(Some(told)) => told,
            Ok(None) | Err(_) => return Err(PingError::Unexpected { expected: EXPECTED }),
        };
        Ok((connection.answer(at, self.request.len(), &arrived), told))
    }
}

impl Probe for SqlServerPrelogin<'_> {
    fn open(&mut self) -> Result<Opened, PingError> {
        let address = reachable(self.context)?;
        self.address = Some(address);
        let (_, told) = self.converse()?;
        Ok(Opened {
            server: Some(address),
            version: told.version.map(|version| format!("SQL Server {version}")),
            question: "PRELOGIN on a new connection each time, connecting apart from it".to_owned(),
            caution: self
                .login_was_meant
                .then_some("longwire has no login for SQL Server: its pre-login message needs none"),
            ..Opened::default()
        })
    }

    fn send_request(&mut self) -> Result<Answer, PingError> {
        self.converse().map(|(answer, _)| answer)
    }
}

fn whole(bytes: &[u8]) -> Complete {
    match tds::answer(bytes) {
        Ok(Some(_)) => Complete::Yes,
        Ok(None) => Complete::NotYet,
        Err(_) => Complete::Never(EXPECTED),
    }
}

const EXPECTED: &str = "SQL Server's answer to PRELOGIN";
