//! Opening a connection, with its legs, up to the end of its first query.

use super::{Kind, Probe};
use crate::ping::plain::{Answer, ProbeContext};
use crate::ping::{Opened, PingError};
use client::session::{Session, SessionError};
use model::{Direction, Leg, PerDirection, Phase, Timestamp};

/// From name resolution to the last byte of the first reply. Closes each connection as the protocol
/// requires.
pub(super) struct Connection<'a> {
    context: ProbeContext<'a>,
    legs: Option<(Timestamp, Vec<Leg>)>,
}

impl<'a> Connection<'a> {
    pub(super) fn new(context: ProbeContext<'a>) -> Self {
        Self { context, legs: None }
    }

    fn session(&self) -> Result<Session<'a>, PingError> {
        Ok(Session::open(
            self.context.target,
            self.context.session_options(),
        )?)
    }
}

impl Probe for Connection<'_> {
    fn open(&mut self) -> Result<Opened, PingError> {
        let session = self.session()?;
        let opening = Opened {
            server: session.server(),
            version: session.server_version().map(str::to_owned),
            question: "a new connection each time, up to the reply to its first query".to_owned(),
            ..Opened::default()
        };
        session.close();
        Ok(opening)
    }

    fn send_request(&mut self) -> Result<Answer, PingError> {
        let mut session = self.session()?;
        let (began, opened) = session.opened();
        let mut legs = session.legs().to_vec();
        let mut ended = opened;
        let mut error = None;
        match session.query("select 1", self.context.timeout) {
            Ok(rows) => {
                let reply = rows.reply;
                ended = reply.last_byte_at.max(opened);
                error = reply.error.map(|error| format!("server: {error}"));
                legs.push(Leg {
                    name: "first query".into(),
                    phase: Phase::Work,
                    duration: ended.since(opened),
                    turns: reply.turns,
                    payload_bytes: PerDirection::new(reply.request_bytes, reply.reply_bytes),
                    remedy: None,
                    saves_turns: 0,
                });
            }
            // Without SQL, the connection alone is measured.
            Err(SessionError::NoSql) => {}
            Err(error) => return Err(error.into()),
        }
        let kernel = session.kernel();
        session.close();
        let bytes = |direction| legs.iter().map(|leg| leg.payload(direction)).sum();
        let answer = Answer {
            at: began,
            duration: ended.since(began),
            server: None,
            turns: Some(legs.iter().map(|leg| leg.turns).sum()),
            kernel_rtt: kernel.and_then(|figures| figures.rtt),
            request_bytes: bytes(Direction::ClientToServer),
            reply_bytes: bytes(Direction::ServerToClient),
            error,
        };
        self.legs = Some((began, legs));
        Ok(answer)
    }

    fn legs(&mut self) -> Option<(Timestamp, Vec<Leg>)> {
        self.legs.take()
    }

    fn kind(&self) -> Option<Kind> {
        None
    }
}
