//! PostgreSQL answers the eight bytes of SSLRequest with one before login.

use super::{Probe, reachable};
use crate::ping::plain::{Answer, Complete, Plain, ProbeContext};
use crate::ping::{AnswerTime, Opened, PingError};
use std::net::SocketAddr;
use std::time::Duration;
use wire::postgres::messages::backend::ERROR_RESPONSE;
use wire::postgres::messages::encryption;
use wire::tls_request::SSL_REQUEST;

/// Uses a new connection each time: the server reads only the first SSLRequest. Neither the
/// handshake nor the server's fork is included (the probe waits for both), so one round trip is
/// timed. See PostgreSQL manual, "SSL Session Encryption".
pub(super) struct PostgresRequest<'a> {
    context: ProbeContext<'a>,
    address: Option<SocketAddr>,
}

impl<'a> PostgresRequest<'a> {
    pub(super) fn new(context: ProbeContext<'a>) -> Self {
        Self {
            context,
            address: None,
        }
    }
}

impl Probe for PostgresRequest<'_> {
    fn open(&mut self) -> Result<Opened, PingError> {
        let address = reachable(self.context)?;
        self.address = Some(address);
        Ok(Opened {
            server: Some(address),
            question: "SSLRequest on a new connection each time, connecting apart from it".to_owned(),
            answer_time: AnswerTime::Negligible,
            ..Opened::default()
        })
    }

    fn send_request(&mut self) -> Result<Answer, PingError> {
        let mut connection = Plain::connect(self.context, self.address.ok_or(PingError::Closed)?)?;
        if self.context.stop.wait_timeout(FORK) {
            return Err(PingError::Stopped);
        }
        let at = connection.send(&SSL_REQUEST)?;
        let arrived = connection.receive(|bytes| match bytes {
            [] => Complete::NotYet,
            // An old or full server answers with an error message.
            [encryption::TLS | encryption::NONE | ERROR_RESPONSE, ..] => Complete::Yes,
            _ => Complete::Never("PostgreSQL's answer to SSLRequest"),
        })?;
        let refused = arrived.bytes.first() == Some(&ERROR_RESPONSE);
        Ok(Answer {
            error: refused.then(|| "server: an error instead of an answer to SSLRequest".to_owned()),
            ..connection.answer(at, SSL_REQUEST.len(), &arrived)
        })
    }
}

/// Time allowed for PostgreSQL to fork a process for a connection; it does not report this.
const FORK: Duration = Duration::from_millis(20);
