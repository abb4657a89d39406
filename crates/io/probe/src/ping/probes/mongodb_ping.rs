//! MongoDB's `ping` on a persistent connection. It needs no login.

use super::Probe;
use crate::ping::plain::{Answer, ProbeContext};
use crate::ping::{AnswerTime, Opened, PingError};
use client::session::{Session, SessionError};
use wire::mongodb::{PING, write_command};

pub(super) struct MongodbPing<'a> {
    context: ProbeContext<'a>,
    session: Option<Session<'a>>,
    next: i32,
}

impl<'a> MongodbPing<'a> {
    pub(super) fn new(context: ProbeContext<'a>) -> Self {
        Self {
            context,
            session: None,
            next: 0,
        }
    }
}

impl Probe for MongodbPing<'_> {
    fn open(&mut self) -> Result<Opened, PingError> {
        let session = Session::connect(self.context.target, self.context.session_options())?;
        let opening = Opened {
            server: session.server(),
            question: PING.to_owned(),
            legs: session.legs().to_vec(),
            answer_time: AnswerTime::Negligible,
            ..Opened::default()
        };
        self.session = Some(session);
        Ok(opening)
    }

    fn send_request(&mut self) -> Result<Answer, PingError> {
        let session = self.session.as_mut().ok_or(PingError::Closed)?;
        self.next = self.next.wrapping_add(1);
        let mut request = Vec::new();
        write_command(self.next, PING, &mut request);
        match session.exchange(&request, self.context.timeout) {
            Err(SessionError::Unexpected(_)) => Err(PingError::Unexpected {
                expected: "MongoDB's answer to ping",
            }),
            reply => Ok(Answer::from_reply(reply?, session.kernel())),
        }
    }

    fn close(&mut self) {
        self.session = None;
    }
}
