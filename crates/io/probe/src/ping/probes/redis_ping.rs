//! Redis's PING on a persistent connection.

use super::Probe;
use crate::ping::plain::{Answer, ProbeContext};
use crate::ping::{AnswerTime, Opened, PingError};
use client::session::{Session, SessionError};

/// The reply is `+PONG`, or `-NOAUTH` without a password. Either is one round trip. A password in
/// the target is sent first.
pub(super) struct RedisPing<'a> {
    context: ProbeContext<'a>,
    session: Option<Session<'a>>,
    logs_in: bool,
}

impl<'a> RedisPing<'a> {
    pub(super) fn new(context: ProbeContext<'a>, logs_in: bool) -> Self {
        Self {
            context,
            session: None,
            logs_in,
        }
    }
}

impl Probe for RedisPing<'_> {
    fn open(&mut self) -> Result<Opened, PingError> {
        let session = match self.logs_in {
            true => Session::open(self.context.target, self.context.session_options())?,
            false => Session::connect(self.context.target, self.context.session_options())?,
        };
        let opening = Opened {
            server: session.server(),
            version: session.server_version().map(str::to_owned),
            question: "PING".to_owned(),
            legs: session.legs().to_vec(),
            answer_time: AnswerTime::Negligible,
            ..Opened::default()
        };
        self.session = Some(session);
        Ok(opening)
    }

    fn send_request(&mut self) -> Result<Answer, PingError> {
        let session = self.session.as_mut().ok_or(PingError::Closed)?;
        let mut reply = match session.exchange(wire::redis::PING, self.context.timeout) {
            Err(SessionError::Unexpected(_)) => {
                return Err(PingError::Unexpected {
                    expected: "Redis's answer to PING",
                });
            }
            reply => reply?,
        };
        reply.error = reply.error.filter(|error| self.logs_in || error.code != "NOAUTH");
        Ok(Answer::from_reply(reply, session.kernel()))
    }

    fn close(&mut self) {
        self.session = None;
    }
}
